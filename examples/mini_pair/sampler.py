"""Sampling many answers to each question: the prompt is computed once, and its keys and values serve every sample."""

from dataclasses import dataclass

import torch
from model import HEAD_WIDTH, Model, rotary_tables
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention


@dataclass(frozen=True, slots=True)
class Settings:
    """How tokens are drawn."""

    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 200


@dataclass(slots=True)
class LayerCache:
    """Keys and values of one layer.

    Attributes:
        prompt_keys: Of the prompts, (questions, heads, prompt length, HEAD_WIDTH).
        prompt_values: Likewise.
        keys: Of what was drawn, (questions, samples, heads, max_tokens, HEAD_WIDTH).
        values: Likewise.
    """

    prompt_keys: Tensor
    prompt_values: Tensor
    keys: Tensor
    values: Tensor

    def keep(self, chosen: Tensor) -> None:
        """Drop the questions that are not chosen."""
        for name in ("prompt_keys", "prompt_values", "keys", "values"):
            setattr(self, name, getattr(self, name)[chosen])

    def attend(self, query: Tensor, bias: Tensor, length: int) -> Tensor:
        """Return the attended values of queries (questions, samples, heads, HEAD_WIDTH) after `length` drawn tokens."""
        scale = HEAD_WIDTH**-0.5
        by_head = query.transpose(1, 2) * scale  # (questions, heads, samples, HEAD_WIDTH)
        on_prompt = by_head @ self.prompt_keys.mT + bias
        on_drawn = (self.keys[..., :length, :] @ (query * scale).unsqueeze(-1)).squeeze(-1).transpose(1, 2)
        weights = torch.cat([on_prompt, on_drawn], dim=-1).softmax(-1)
        split = self.prompt_keys.shape[2]
        from_drawn = weights[..., split:].transpose(1, 2).unsqueeze(-2) @ self.values[..., :length, :]
        return (weights[..., :split] @ self.prompt_values).transpose(1, 2) + from_drawn.squeeze(-2)


@torch.no_grad()
def sample(
    model: Model, prompts: list[list[int]], *, samples: int, settings: Settings, eos_id: int, generator: torch.Generator
) -> list[list[list[int]]]:
    """Return for every prompt its sampled completions as token ids, each with its end token unless it was cut."""
    lengths = torch.tensor([len(prompt) for prompt in prompts])
    longest = int(lengths.max())
    ids = torch.full((len(prompts), longest), eos_id)
    for i, prompt in enumerate(prompts):
        ids[i, : len(prompt)] = torch.tensor(prompt)
    cos, sin = rotary_tables(longest + settings.max_tokens)
    hidden, caches = prefill(model, ids, samples=samples, max_tokens=settings.max_tokens)
    # Prompts are padded on the right; the bias hides the padding from what is drawn.
    bias = torch.zeros(len(prompts), 1, 1, longest)
    bias.masked_fill_((torch.arange(longest) >= lengths[:, None])[:, None, None], -torch.inf)
    last = hidden[torch.arange(len(prompts)), lengths - 1]
    logits = model.logits(last)[:, None].expand(-1, samples, -1)
    drawn = torch.full((len(prompts), samples, settings.max_tokens), eos_id)
    alive = torch.arange(len(prompts))
    ended = torch.zeros(len(prompts), samples, dtype=torch.bool)
    for t in range(settings.max_tokens):
        tokens = draw(logits, settings=settings, generator=generator).masked_fill(ended, eos_id)
        drawn[alive, :, t] = tokens
        ended |= tokens == eos_id
        unfinished = ~ended.all(1)
        if not unfinished.any() or t + 1 == settings.max_tokens:
            break
        if unfinished.float().mean() < 0.8:
            alive, tokens, ended, bias, lengths = (x[unfinished] for x in (alive, tokens, ended, bias, lengths))
            for cache in caches:
                cache.keep(unfinished)
        place = lengths + t
        logits = decode(model, tokens, caches, bias, t + 1, (cos[place][:, None, None], sin[place][:, None, None]))
    return [[until_end(row, eos_id) for row in question] for question in drawn.tolist()]


def until_end(tokens: list[int], eos_id: int) -> list[int]:
    """Cut after the first end token."""
    return tokens[: tokens.index(eos_id) + 1] if eos_id in tokens else tokens


def prefill(model: Model, ids: Tensor, *, samples: int, max_tokens: int) -> tuple[Tensor, list[LayerCache]]:
    """Run the prompts and return the last layer's output with the caches."""
    cos, sin = rotary_tables(ids.shape[1])
    x = model.embed_tokens(ids)
    caches = []
    for block in model.layers:
        q, k, v = block.self_attn.heads(block.input_layernorm(x), cos, sin)
        x = block.finish(x, scaled_dot_product_attention(q, k, v, is_causal=True))
        empty = torch.zeros(ids.shape[0], samples, k.shape[1], max_tokens, HEAD_WIDTH)
        caches.append(LayerCache(k, v, empty, empty.clone()))
    return x, caches


def decode(
    model: Model, tokens: Tensor, caches: list[LayerCache], bias: Tensor, length: int, angles: tuple[Tensor, Tensor]
) -> Tensor:
    """Append tokens (questions, samples) to the caches and return the logits after them."""
    x = model.embed_tokens(tokens)
    for block, cache in zip(model.layers, caches, strict=True):
        h = block.input_layernorm(x)
        # One position per sample: the samples stand where a sequence's positions stand in training.
        q, k, v = (y.transpose(1, 2) for y in block.self_attn.heads(h, *angles))
        cache.keys[..., length - 1, :] = k
        cache.values[..., length - 1, :] = v
        x = block.finish(x, cache.attend(q, bias, length).transpose(1, 2))
    return model.logits(x)


def draw(logits: Tensor, *, settings: Settings, generator: torch.Generator) -> Tensor:
    """Draw one token per sample from the nucleus of the tempered distribution."""
    probabilities = (logits / settings.temperature).softmax(-1).flatten(0, 1)
    if settings.top_p < 1:
        ordered, order = probabilities.sort(-1, descending=True)
        # A token stays while the mass before it is short of top_p, as in transformers and vLLM.
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered >= settings.top_p, 0.0)
        probabilities = torch.zeros_like(probabilities).scatter_(-1, order, ordered)
    return torch.multinomial(probabilities, 1, generator=generator).view(logits.shape[:2])
