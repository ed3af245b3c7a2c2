"""The model: a Llama in sixty lines, with the parameter names of Hugging Face, so that saving it is a copy."""

from pathlib import Path

import torch
from tokenizer import MAX_POSITIONS
from torch import Tensor, nn
from torch.nn.functional import linear, scaled_dot_product_attention, silu
from transformers import GenerationConfig, LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WIDTH, LAYERS, HEADS, HEAD_WIDTH, INTERMEDIATE, EPSILON, ROPE_BASE = 128, 4, 4, 32, 384, 1e-6, 10_000.0


def rotary_tables(length: int) -> tuple[Tensor, Tensor]:
    """Return cosine and sine of the rotary angles, each (length, HEAD_WIDTH)."""
    frequencies = ROPE_BASE ** (-torch.arange(0, HEAD_WIDTH, 2) / HEAD_WIDTH)
    angles = torch.outer(torch.arange(length), frequencies).repeat(1, 2)
    return angles.cos(), angles.sin()


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotate the halves of the last axis against each other by the angles of the position."""
    first, second = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-second, first], dim=-1) * sin


class Attention(nn.Module):
    """Causal self-attention."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("q_proj", "k_proj", "v_proj", "o_proj"):
            setattr(self, name, nn.Linear(WIDTH, WIDTH, bias=False))

    def heads(self, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return query, key and value, each (batch, heads, length, head width); cos and sin broadcast against them."""
        q, k, v = (
            projection(x).unflatten(-1, (HEADS, HEAD_WIDTH)).transpose(1, 2)
            for projection in (self.q_proj, self.k_proj, self.v_proj)
        )
        return rotate(q, cos, sin), rotate(k, cos, sin), v


class Block(nn.Module):
    """One layer."""

    def __init__(self) -> None:
        super().__init__()
        self.self_attn = Attention()
        self.mlp = nn.ModuleDict(
            {
                "gate_proj": nn.Linear(WIDTH, INTERMEDIATE, bias=False),
                "up_proj": nn.Linear(WIDTH, INTERMEDIATE, bias=False),
                "down_proj": nn.Linear(INTERMEDIATE, WIDTH, bias=False),
            }
        )
        self.input_layernorm = nn.RMSNorm(WIDTH, eps=EPSILON)
        self.post_attention_layernorm = nn.RMSNorm(WIDTH, eps=EPSILON)

    def finish(self, x: Tensor, attended: Tensor) -> Tensor:
        """Return the layer's output from its input and the attended values (batch, heads, length, head width)."""
        x = x + self.self_attn.o_proj(attended.transpose(1, 2).flatten(2))
        h = self.post_attention_layernorm(x)
        return x + self.mlp["down_proj"](silu(self.mlp["gate_proj"](h)) * self.mlp["up_proj"](h))


class Model(nn.Module):
    """A causal language model with tied embeddings, about a million parameters."""

    def __init__(self, vocabulary: int) -> None:
        super().__init__()
        self.embed_tokens = nn.Embedding(vocabulary, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm = nn.RMSNorm(WIDTH, eps=EPSILON)
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                spread = 0.02 if name.startswith("embed") else weight.shape[1] ** -0.5
                nn.init.normal_(weight, std=spread * (0.5 if "o_proj" in name or "down_proj" in name else 1.0))

    def logits(self, x: Tensor) -> Tensor:
        """Return next-token logits from the last layer's output."""
        return linear(self.norm(x), self.embed_tokens.weight)

    def forward(self, ids: Tensor) -> Tensor:
        """Return the last layer's output (batch, length, WIDTH) of token ids (batch, length), padded on the right."""
        cos, sin = rotary_tables(ids.shape[1])
        x = self.embed_tokens(ids)
        for block in self.layers:
            q, k, v = block.self_attn.heads(block.input_layernorm(x), cos, sin)
            x = block.finish(x, scaled_dot_product_attention(q, k, v, is_causal=True))
        return x


def save(model: Model, tokenizer: PreTrainedTokenizerFast, folder: Path) -> None:
    """Write a folder that transformers and vLLM load."""
    config = LlamaConfig(
        vocab_size=model.embed_tokens.num_embeddings,
        hidden_size=WIDTH,
        intermediate_size=INTERMEDIATE,
        num_hidden_layers=LAYERS,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS,
        max_position_embeddings=MAX_POSITIONS,
        rms_norm_eps=EPSILON,
        tie_word_embeddings=True,
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    exported = LlamaForCausalLM(config)
    exported.model.load_state_dict(model.state_dict())
    exported.generation_config = GenerationConfig(
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id, pad_token_id=tokenizer.pad_token_id
    )
    exported.save_pretrained(folder)
    (folder / "model.safetensors").chmod(0o644)  # safetensors writes it for the owner alone
    tokenizer.save_pretrained(folder)
    # The class name that transformers 4 and 5 both know.
    settings = folder / "tokenizer_config.json"
    settings.write_text(
        settings.read_text(encoding="utf-8").replace("TokenizersBackend", "PreTrainedTokenizerFast"), encoding="utf-8"
    )


def load(folder: Path) -> Model:
    """Return the model that `save` wrote."""
    exported = LlamaForCausalLM.from_pretrained(folder)
    model = Model(exported.config.vocab_size)
    model.load_state_dict(exported.model.state_dict())
    return model
