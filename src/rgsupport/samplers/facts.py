# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What can be known of a model without loading its weights: its tokenizer and the length of its context."""

from typing import cast

from transformers import AutoConfig

from rgsupport.errors import EngineError, one_line
from rgsupport.prompts import Tokenizer
from rgsupport.samplers._hf_load import context_length, load_tokenizer


def read_facts(source: str, *, revision: str | None) -> tuple[Tokenizer, int]:
    """Return a model's tokenizer, and how many tokens prompt and response may have together.

    Args:
        source: A folder saved by transformers, or a name of the Hugging Face hub.
        revision: Branch, tag or commit of the hub.

    Raises:
        EngineError: Either cannot be read.
    """
    tokenizer = load_tokenizer(source, revision=revision)
    try:
        config = AutoConfig.from_pretrained(source, revision=revision)
    except Exception as error:  # a foreign configuration makes transformers raise anything
        msg = f"the configuration of {source!r} could not be read: {one_line(error)}"
        raise EngineError(msg) from error
    return cast("Tokenizer", tokenizer), context_length(config, tokenizer)
