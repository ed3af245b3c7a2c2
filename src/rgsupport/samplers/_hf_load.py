# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""Load a model and its tokenizer from a folder or from the hub, and read what bounds and ends its texts."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import torch
from safetensors import SafetensorError
from transformers import AutoTokenizer, GenerationConfig, PretrainedConfig, PreTrainedTokenizerBase

from rgsupport.errors import EngineError, UsageError, one_line

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_HUB_NAME: Final = re.compile(r"[\w.-]+(/[\w.-]+)?")
_DTYPES: Final = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}

# Tokenizers without a limit say so with a huge number.
_NO_LIMIT: Final = 10**9

# What transformers raises for files that are missing, torn, of another format or of an unknown architecture.
_LOAD_ERRORS: Final = (
    OSError,
    ValueError,
    KeyError,
    ImportError,
    RuntimeError,
    TypeError,
    AttributeError,
    SafetensorError,
)


def find(model: str) -> str:
    """Return what transformers should load: the folder if there is one, otherwise the name on the hub.

    Raises:
        UsageError: It is neither a model folder nor a possible name.
    """
    folder = Path(model).expanduser()
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            msg = f"folder {model!r} holds no model: it has no config.json; name a folder saved by transformers"
            raise UsageError(msg)
        return str(folder)
    if not _HUB_NAME.fullmatch(model):
        msg = f"no model folder {model!r}; name an existing folder or a model of the hub, such as Qwen/Qwen2.5-1.5B"
        raise UsageError(msg)
    return model


def device_of(device: str | None) -> torch.device:
    """Return the device asked for, or CUDA if there is one, or the CPU.

    Raises:
        UsageError: The device is unknown or not there.
    """
    if device is None:
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    if not re.fullmatch(r"cpu|cuda(:\d+)?", device):
        msg = f"device {device!r} is unknown; choose cpu, cuda or cuda:N"
        raise UsageError(msg)
    chosen = torch.device(device)
    if chosen.type == "cuda" and (chosen.index or 0) >= torch.cuda.device_count():
        msg = f"device {device!r} is not there: torch sees {torch.cuda.device_count()} CUDA devices"
        raise UsageError(msg)
    return chosen


def dtype_of(dtype: str | None, device: torch.device) -> torch.dtype | str:
    """Return the dtype asked for; by default the model's own on CUDA and float32 on the CPU, where 16 bits are slow."""
    if dtype is None:
        return torch.float32 if device.type == "cpu" else "auto"
    if dtype not in _DTYPES:
        msg = f"dtype {dtype!r} is unknown; choose {', '.join(_DTYPES)}"
        raise UsageError(msg)
    return _DTYPES[dtype]


def load_tokenizer(source: str, *, revision: str | None) -> PreTrainedTokenizerBase:
    """Return the model's tokenizer, or raise an EngineError of one line."""
    try:
        tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
    except _LOAD_ERRORS as error:
        raise EngineError(_failure("tokenizer", source, revision, error)) from error
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        msg = f"model {source!r} has no tokenizer; save one into its folder with tokenizer.save_pretrained"
        raise EngineError(msg)
    return tokenizer


def load_model(
    source: str, *, revision: str | None, dtype: torch.dtype | str, device: torch.device
) -> "PreTrainedModel":
    """Return the model on its device in evaluation mode, or raise an EngineError of one line."""
    from transformers import AutoModelForCausalLM  # takes seconds, which those who need no weights should not wait

    try:
        # The cast: with `output_loading_info` a pair is returned, which the signature does not tell.
        loaded = AutoModelForCausalLM.from_pretrained(
            source, revision=revision, dtype=dtype, attn_implementation="sdpa", output_loading_info=True
        )
        model, info = cast("tuple[PreTrainedModel, dict[str, set[str]]]", loaded)
        model = model.to(device).eval()  # pyright: ignore[reportArgumentType]
    except _LOAD_ERRORS as error:
        raise EngineError(_failure("model", source, revision, error)) from error
    if missing := sorted(info["missing_keys"]):
        # transformers fills them with random numbers and goes on.
        msg = f"the weights of model {source!r} are incomplete: {len(missing)} are missing, such as {missing[0]}"
        raise EngineError(msg)
    return model


def context_length(config: PretrainedConfig, tokenizer: PreTrainedTokenizerBase) -> int:
    """Return how many tokens, prompt and new ones, a text may have.

    It is the smallest of: the positions of the configuration; a sliding window or attention chunk, within which
    attention is full in every layer; the original positions where rotary embeddings change with the longest text of a
    batch (dynamic and LongRoPE scaling), as texts must not depend on each other. Without any, the tokenizer's limit.

    Raises:
        EngineError: None is known.
    """
    config = config.get_text_config()
    layer_types = set(getattr(config, "layer_types", None) or ["sliding_attention", "chunked_attention"])
    bounds = [getattr(config, name, None) for name in ("max_position_embeddings", "n_positions", "max_seq_len")]
    if "sliding_attention" in layer_types and getattr(config, "use_sliding_window", True):
        bounds.append(getattr(config, "sliding_window", None))
    if "chunked_attention" in layer_types:
        bounds.append(getattr(config, "attention_chunk_size", None))
    bounds += _rotary_bounds(config)
    known = [bound for bound in bounds if isinstance(bound, int) and bound > 0]
    if not known and tokenizer.model_max_length < _NO_LIMIT:
        known = [int(tokenizer.model_max_length)]
    if not known:
        msg = "the model's config.json names no context length; add max_position_embeddings to it"
        raise EngineError(msg)
    return min(known)


def stop_ids(model: "PreTrainedModel", tokenizer: PreTrainedTokenizerBase, *, vocabulary: int) -> tuple[int, ...]:
    """Return the tokens that end a text of a loaded model, as `named_stop_ids` does."""
    return named_stop_ids(model.generation_config, model.config.get_text_config(), tokenizer, vocabulary=vocabulary)


def named_stop_ids(
    generation: GenerationConfig | None,
    config: PretrainedConfig,
    tokenizer: PreTrainedTokenizerBase,
    *,
    vocabulary: int,
) -> tuple[int, ...]:
    """Return the tokens that end a text: those that generation_config.json, config.json or the tokenizer names.

    Raises:
        EngineError: There is none, so that no text would ever end.
    """
    named: set[object] = set()
    for source in (generation, config, tokenizer):
        value: int | list[int] | None = getattr(source, "eos_token_id", None)
        named.update([value] if isinstance(value, int) else value or [])
    known = tuple(sorted(token for token in named if isinstance(token, int) and 0 <= token < vocabulary))
    if not known:
        msg = "the model names no end-of-sequence token; add eos_token_id to its config.json"
        raise EngineError(msg)
    return known


def _rotary_bounds(config: PretrainedConfig) -> list[int | None]:
    """Return the original number of positions if the rotary embeddings depend on the longest text of a batch."""
    # The name of transformers 5, then that of 4.
    rotary = getattr(config, "rope_parameters", None) or getattr(config, "rope_scaling", None) or {}
    if rotary.get("rope_type", rotary.get("type")) not in ("dynamic", "longrope"):
        return []
    return [
        rotary.get("original_max_position_embeddings"),
        getattr(config, "original_max_position_embeddings", None),
    ]


def _failure(what: str, source: str, revision: str | None, error: Exception) -> str:
    """Return in one line what could not be loaded and why."""
    at = f" at revision {revision!r}" if revision else ""
    here = "" if Path(source).is_dir() else " (there is no folder of this name)"
    return f"the {what} of {source!r}{at}{here} could not be loaded: {one_line(error)}"
