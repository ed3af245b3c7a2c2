# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What can be known of a model without loading its weights."""

from dataclasses import dataclass
from typing import cast

import torch
from transformers import AutoConfig, GenerationConfig

from rgsupport.errors import EngineError, one_line
from rgsupport.prompts import Tokenizer
from rgsupport.samplers._hf_load import context_length, load_tokenizer, named_stop_ids


@dataclass(frozen=True, slots=True)
class Facts:
    """A model's tokenizer, and what its configuration says.

    Attributes:
        tokenizer: Its tokenizer.
        context_length: How many tokens prompt and response may have together.
        stop_ids: Tokens that end a text, ascending.
        dtype: Name of the dtype in which its weights are stored.
        vocabulary: Number of tokens for which it returns logits.
    """

    tokenizer: Tokenizer
    context_length: int
    stop_ids: tuple[int, ...]
    dtype: str
    vocabulary: int


def read_facts(source: str, *, revision: str | None) -> Facts:
    """Return the facts of a model.

    Args:
        source: A folder saved by transformers, or a name of the Hugging Face hub.
        revision: Branch, tag or commit of the hub.

    Raises:
        EngineError: They cannot be read, or the model names no context length or no token that ends a text.
    """
    tokenizer = load_tokenizer(source, revision=revision)
    try:
        config = AutoConfig.from_pretrained(source, revision=revision)
    except Exception as error:  # a foreign configuration makes transformers raise anything
        msg = f"the configuration of {source!r} could not be read: {one_line(error)}"
        raise EngineError(msg) from error
    try:
        generation = GenerationConfig.from_pretrained(source, revision=revision or "main")
    except (OSError, ValueError):  # many models have no generation_config.json; its stop tokens are optional
        generation = None
    text = config.get_text_config()
    return Facts(
        tokenizer=cast("Tokenizer", tokenizer),
        context_length=context_length(config, tokenizer),
        stop_ids=named_stop_ids(generation, text, tokenizer, vocabulary=text.vocab_size),
        dtype=str(getattr(config, "dtype", None) or torch.float32).removeprefix("torch."),
        vocabulary=text.vocab_size,
    )


def on_gpu() -> bool:
    """Tell whether torch sees a GPU."""
    return torch.cuda.is_available()
