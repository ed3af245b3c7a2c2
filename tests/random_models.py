"""Tiny random models of several architectures, saved as folders the way a user's model is."""

import string
from pathlib import Path

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import (
    GPT2Config,
    GPT2LMHeadModel,
    GPTNeoXConfig,
    GPTNeoXForCausalLM,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    PretrainedConfig,
    PreTrainedModel,
    PreTrainedTokenizerFast,
    Qwen2Config,
    Qwen2ForCausalLM,
)

CONTEXT = 96
SPECIAL = ["<pad>", "<eos>", "<bos>", "<end>"]
CHARACTERS = string.ascii_letters + string.digits  # one token each, so that a text tells its tokens
VOCABULARY = len(SPECIAL) + len(CHARACTERS)
EOS, END = 1, 3
COMMON = {"vocab_size": VOCABULARY, "eos_token_id": EOS, "bos_token_id": 2, "pad_token_id": 0, "initializer_range": 0.2}
SHAPE = {
    "hidden_size": 32,
    "intermediate_size": 48,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": CONTEXT,
}


def save_tokenizer(folder: Path, *, vocabulary: list[str]) -> None:
    """Save a byte-level tokenizer whose tokens are single bytes after the special ones."""
    core = Tokenizer(models.BPE(vocab={token: i for i, token in enumerate([*SPECIAL, *vocabulary])}, merges=[]))
    core.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    core.decoder = decoders.ByteLevel()
    names = {"pad_token": "<pad>", "eos_token": "<eos>", "bos_token": "<bos>", "additional_special_tokens": ["<end>"]}
    PreTrainedTokenizerFast(tokenizer_object=core, **names).save_pretrained(folder)


def save_model(model_class: type[PreTrainedModel], config: PretrainedConfig, folder: Path) -> Path:
    """Save a random model, the same one every time, with its tokenizer."""
    torch.manual_seed(1)
    model = model_class(config)
    # One more stop token than the tokenizer and the configuration know, as instruction-tuned models have.
    model.generation_config.eos_token_id = [EOS, END]
    model.save_pretrained(folder)
    save_tokenizer(folder, vocabulary=list(CHARACTERS))
    return folder


def save_all(folder: Path) -> None:
    """Save one model folder per architecture."""
    grouped = {**SHAPE, "num_key_value_heads": 2}
    gpt2 = GPT2Config(n_embd=32, n_layer=2, n_head=4, n_positions=CONTEXT, **COMMON)
    save_model(LlamaForCausalLM, LlamaConfig(**grouped, **COMMON), folder / "llama")
    save_model(Qwen2ForCausalLM, Qwen2Config(**grouped, **COMMON), folder / "qwen2")
    save_model(MistralForCausalLM, MistralConfig(**grouped, **COMMON, sliding_window=64), folder / "mistral")
    save_model(GPT2LMHeadModel, gpt2, folder / "gpt2")
    save_model(GPTNeoXForCausalLM, GPTNeoXConfig(**SHAPE, **COMMON), folder / "gpt_neox")
