"""Supervised training of the base model on demonstrations."""

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import torch
from demonstrations import demonstrate
from model import Model
from sources import SUPERVISED_SEED, messages, mixture
from torch import Tensor
from torch.nn.functional import cross_entropy
from transformers import PreTrainedTokenizerFast

Example = tuple[list[int], list[int]]
"""Token ids of a prompt and of its completion."""

EXAMPLES_PER_STEP = 32
EXAMPLES_PER_FORWARD = 8
IGNORED = -100


def encode_prompt(tokenizer: PreTrainedTokenizerFast, question: str) -> list[int]:
    """Return the prompt as rgsupport will build it."""
    text = tokenizer.apply_chat_template(messages(question), tokenize=False, add_generation_prompt=True)
    return tokenizer.encode(text, add_special_tokens=False)


def examples(tokenizer: PreTrainedTokenizerFast, rng: Random) -> Iterator[Example]:
    """Yield encoded demonstrations without end."""
    for entry in mixture(first_seed=SUPERVISED_SEED, rng=rng):
        completion = tokenizer.encode(demonstrate(entry, rng), add_special_tokens=False)
        yield encode_prompt(tokenizer, entry["question"]), [*completion, tokenizer.eos_token_id]


def pad(batch: list[Example], *, pad_id: int) -> tuple[Tensor, Tensor]:
    """Return inputs and targets (batch, length); only completion tokens are targets."""
    length = max(len(prompt) + len(completion) for prompt, completion in batch) - 1
    inputs = torch.full((len(batch), length), pad_id)
    targets = torch.full((len(batch), length), IGNORED)
    for i, (prompt, completion) in enumerate(batch):
        ids = torch.tensor([*prompt, *completion])
        inputs[i, : len(ids) - 1] = ids[:-1]
        targets[i, len(prompt) - 1 : len(ids) - 1] = ids[len(prompt) :]
    return inputs, targets


class Muon(torch.optim.Optimizer):
    """Momentum whose matrix updates are orthogonalised (https://kellerjordan.github.io/posts/muon/), in float32."""

    def __init__(self, params: list[Tensor], *, lr: float, momentum: float = 0.95) -> None:
        super().__init__(params, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self) -> None:
        """Update every matrix from its gradient."""
        for group in self.param_groups:
            shapes: dict[torch.Size, list[Tensor]] = {}
            for weight in group["params"]:
                shapes.setdefault(weight.shape, []).append(weight)
            for weights in shapes.values():
                moments = [self.state[w].setdefault("moment", torch.zeros_like(w)) for w in weights]
                for weight, moment in zip(weights, moments, strict=True):
                    moment.lerp_(weight.grad, 1 - group["momentum"])
                mixed = torch.stack([w.grad.lerp(m, group["momentum"]) for w, m in zip(weights, moments, strict=True)])
                scale = max(1.0, weights[0].shape[0] / weights[0].shape[1]) ** 0.5
                for weight, update in zip(weights, orthogonalise(mixed), strict=True):
                    weight.add_(update, alpha=-group["lr"] * scale)


def orthogonalise(x: Tensor) -> Tensor:
    """Return matrices (n, rows, columns) with their singular values brought near 1 (five Newton-Schulz steps)."""
    tall = x.shape[1] > x.shape[2]
    x = x.mT if tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(5):
        gram = x @ x.mT
        x = 3.4445 * x + (-4.7750 * gram + 2.0315 * gram @ gram) @ x
    return x.mT if tall else x


def gradients(model: Model, batch: list[Example], *, n_targets: int, pad_id: int) -> tuple[float, tuple[Tensor, ...]]:
    """Return the loss of part of a step, as its share of `n_targets` tokens, and its gradient for every parameter."""
    inputs, targets = pad(batch, pad_id=pad_id)
    chosen = targets != IGNORED
    loss = cross_entropy(model.logits(model(inputs)[chosen]), targets[chosen], reduction="sum") / n_targets
    return loss.item(), torch.autograd.grad(loss, list(model.parameters()))


def train(tokenizer: PreTrainedTokenizerFast, *, seconds: float, seed: int, threads: int) -> Model:
    """Return a model trained for about the given time; the learning rate falls with the time that is left."""
    torch.manual_seed(seed)
    model = Model(len(tokenizer))
    matrices = [
        weight for name, weight in model.named_parameters() if weight.ndim == 2 and not name.startswith("embed")
    ]
    others = [weight for name, weight in model.named_parameters() if weight.ndim != 2 or name.startswith("embed")]
    optimisers = [Muon(matrices, lr=0.02), torch.optim.AdamW(others, lr=3e-3, betas=(0.9, 0.95), weight_decay=0.0)]
    rates = [optimiser.param_groups[0]["lr"] for optimiser in optimisers]
    source = examples(tokenizer, Random(seed))
    start, step, tokens, losses = time.monotonic(), 0, 0, []
    # Whole forward and backward passes run side by side: one wait per step instead of one per operation.
    with ThreadPoolExecutor(threads) as pool:
        while (elapsed := time.monotonic() - start) < seconds:
            # Batches of like lengths waste little on padding; the gradient is that of the whole mixed step.
            batch = sorted((next(source) for _ in range(EXAMPLES_PER_STEP)), key=lambda e: -len(e[0]) - len(e[1]))
            n_targets = sum(len(completion) for _, completion in batch)
            tokens += sum(len(prompt) + len(completion) for prompt, completion in batch)
            parts = [
                pool.submit(gradients, model, part, n_targets=n_targets, pad_id=tokenizer.pad_token_id)
                for part in (batch[i : i + EXAMPLES_PER_FORWARD] for i in range(0, len(batch), EXAMPLES_PER_FORWARD))
            ]
            results = [part.result() for part in parts]
            losses.append(sum(loss for loss, _ in results))
            for weight, *grads in zip(model.parameters(), *(grads for _, grads in results), strict=True):
                weight.grad = torch.stack(grads).sum(0)
            left = 1 - elapsed / seconds
            for optimiser, rate in zip(optimisers, rates, strict=True):
                optimiser.param_groups[0]["lr"] = rate * min(1.0, (step + 1) / 20, left / 0.6)
                optimiser.step()
            step += 1
            if step % 50 == 0:
                speed = tokens / (time.monotonic() - start)
                loss = sum(losses[-50:]) / 50
                print(f"supervised step {step}, {elapsed:.0f} s, loss {loss:.3f}, {speed:.0f} tokens/s", flush=True)
    return model
