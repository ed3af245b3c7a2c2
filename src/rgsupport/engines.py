"""How models are held: which engine, on which devices, with which options; checked before anything costs time."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from urllib.parse import urlsplit

from rgsupport.errors import UsageError, nearest
from rgsupport.types import LARGEST, ROLES


@dataclass(frozen=True, slots=True)
class Engine:
    """How a model is held. Never changes which samples are owed.

    Attributes:
        name: One of `ENGINES`; None lets the machine decide.
        device: Device of the `hf` engine.
        dtype: One of `DTYPES`; None takes the model's own on a GPU and float32 on a CPU.
        batch_size: Responses sampled at the same time by one process; None lets the engine choose.
        gpus: Indices of the GPUs to use, each (or each `tensor_parallel` of them) by a process of its own; empty for
            what torch takes by itself.
        tensor_parallel: GPUs that share one model.
        workers: Processes per model where no GPUs are named.
        servers: URLs of the `openai` engine: one for both models, or the base model's and the trained one's.
        api: One of `APIS`.
        options: Options of `ENGINE_OPTIONS`.
    """

    name: str | None = None
    device: str | None = None
    dtype: str | None = None
    batch_size: int | None = None
    gpus: tuple[int, ...] = ()
    tensor_parallel: int = 1
    workers: int = 1
    servers: tuple[str, ...] = ()
    api: str = "completions"
    options: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class EngineOption:
    """An option that is handed to an engine.

    Attributes:
        engine: Whose it is.
        kind: Type of its value.
        help: What it does.
        most: Largest value of a number; the smallest is above 0, or 1 for a whole number.
    """

    engine: str
    kind: type[bool] | type[int] | type[float] | type[str]
    help: str
    most: float = LARGEST


DTYPES = ("float32", "bfloat16", "float16")
API_KEY = "OPENAI_API_KEY"
"""Environment variable that holds the key of a server; it is never stored."""
ENGINES = ("hf", "vllm", "openai")
APIS = ("completions", "chat")
ENGINE_OPTIONS = {
    "gpu_memory_utilization": EngineOption("vllm", float, "share of each GPU's memory that the engine takes [0.9]", 1),
    "max_num_batched_tokens": EngineOption("vllm", int, "tokens that one step of the engine computes"),
    "enforce_eager": EngineOption("vllm", bool, "run without CUDA graphs and compilation"),
    "enable_chunked_prefill": EngineOption("vllm", bool, "compute long prompts in pieces [true; on a CPU false]"),
    "enable_prefix_caching": EngineOption("vllm", bool, "compute a prompt once for all its samples [true]"),
    "kv_cache_dtype": EngineOption("vllm", str, "dtype of keys and values, such as fp8 [the model's]"),
    "quantization": EngineOption("vllm", str, "how the weights are quantised [as the model's files say]"),
    "cpu_cache_gib": EngineOption("vllm", int, "GiB for keys and values on a CPU [4]"),
    "timeout_seconds": EngineOption("openai", float, "longest wait for one response [3600]"),
    "patience_seconds": EngineOption("openai", float, "how long a server may be away or overloaded [1800]"),
}
"""Every option that `--engine-option NAME=VALUE` and `[engine_options]` take."""

COMPARED = (
    "engine",
    "dtype",
    "kv_cache_dtype",
    "quantization",
    "temperature",
    "top_p",
    "top_k",
    "penalties",
    "max_tokens",
    "logprobs",
    "template",
    "bos",
    "stop_ids",
    "not_honoured",
    "versions",
)
"""Facts of an engine in which the two models of a run must not differ, unless `--allow-unequal` names them."""

PLAIN_KEYS = ("device", "dtype", "batch_size", "tensor_parallel", "workers", "api")
"""Settings that are attributes of `Engine` as they are."""
_KIND_NAMES = {bool: "truth value (true or false)", int: "whole number", float: "number", str: "text"}


def resolve_engine(given: Mapping[str, Any]) -> Engine:
    """Return a checked engine.

    Args:
        given: Mapping that may have the keys `engine`, `engine_options`, `gpus`, `server` and those of `PLAIN_KEYS`.

    Raises:
        UsageError: A value is unknown or out of range, or two contradict each other.
    """
    engine = Engine(
        name=given.get("engine"),
        gpus=_gpus(items(given.get("gpus", ()))),
        servers=tuple(server.rstrip("/") for server in items(given.get("server", ()))),
        options=engine_options(given.get("engine_options", {})),
        **{key: given[key] for key in PLAIN_KEYS if key in given},
    )
    if engine.servers and engine.name is None:
        engine = replace(engine, name="openai")
    check_engine(engine)
    return engine


def _gpus(items: Sequence[str]) -> tuple[int, ...]:
    for item in items:
        if not (item.isascii() and item.isdigit() and len(item) < 4):
            msg = f"--gpus has {item[:40]!r}; GPUs are numbers from 0, separated by commas: --gpus 0,1,2,3"
            raise UsageError(msg)
    gpus = tuple(int(item) for item in items)
    if len(set(gpus)) < len(gpus):
        msg = f"--gpus {','.join(items)} names a GPU twice"
        raise UsageError(msg)
    return gpus


def engine_options(given: Mapping[str, object]) -> dict[str, Any]:
    """Return options of `ENGINE_OPTIONS`, each of its type.

    Raises:
        UsageError: There is no such option, or its value has another type.
    """
    for name, value in given.items():
        known((name,), ENGINE_OPTIONS, option="--engine-option")
        kind = ENGINE_OPTIONS[name].kind
        accepted = (int, float) if kind is float else kind
        if not isinstance(value, accepted) or (isinstance(value, bool) and kind is not bool):
            msg = f"--engine-option {name}={value} is not a {_KIND_NAMES[kind]}; it is the {ENGINE_OPTIONS[name].help}"
            raise UsageError(msg)
        if isinstance(value, int | float) and kind is not bool and not 0 < value <= ENGINE_OPTIONS[name].most:
            msg = f"--engine-option {name}={value} must be above 0 and at most {ENGINE_OPTIONS[name].most}"
            raise UsageError(msg)
    return dict(given)


def known(names: Sequence[str], among: Iterable[str], *, option: str) -> tuple[str, ...]:
    """Return the names, each of which must be among the known ones; `option` is what the message calls them."""
    for name in names:
        if name not in among:
            msg = f"{option} {name[:60]} is unknown{nearest(name, among)}; known: {', '.join(among)}"
            raise UsageError(msg)
    return tuple(names)


def check_engine(engine: Engine) -> None:
    """Refuse what is unknown, out of range or contradicts itself.

    Raises:
        UsageError: Names the option, its value and the way out.
    """
    known([engine.dtype] if engine.dtype else [], DTYPES, option="--dtype")
    known([engine.name] if engine.name else [], ENGINES, option="--engine")
    known([engine.api], APIS, option="--api")
    if engine.device is not None and not re.fullmatch(r"cpu|cuda(:\d+)?", engine.device):
        msg = f"--device {engine.device} is unknown; it is cpu, cuda or cuda:N"
        raise UsageError(msg)
    for name, value in (("tensor-parallel", engine.tensor_parallel), ("workers", engine.workers)):
        if not 1 <= value < LARGEST:
            msg = f"--{name} is {value}; it must be at least 1"
            raise UsageError(msg)
    for name in engine.options:
        if engine.name is not None and ENGINE_OPTIONS[name].engine != engine.name:
            msg = f"--engine-option {name} belongs to the {ENGINE_OPTIONS[name].engine} engine, not to {engine.name}"
            raise UsageError(msg)
    if engine.gpus and (engine.workers > 1 or engine.device):
        other = "--workers" if engine.workers > 1 else "--device"
        msg = f"--gpus already says where the models run; leave {other} out"
        raise UsageError(msg)
    if len(engine.gpus) % engine.tensor_parallel:
        msg = f"--gpus names {len(engine.gpus)} GPUs, which --tensor-parallel {engine.tensor_parallel} does not divide"
        raise UsageError(msg)
    if engine.tensor_parallel > 1 and engine.name not in ("vllm", None):
        msg = f"--tensor-parallel needs the vllm engine, not {engine.name}"
        raise UsageError(msg)
    if engine.device is not None and engine.name not in ("hf", None):
        msg = f"--device belongs to the hf engine, not to {engine.name}; --gpus chooses the GPUs of vllm"
        raise UsageError(msg)
    _check_servers(engine)


def _check_servers(engine: Engine) -> None:
    if engine.name == "openai" and not engine.servers:
        msg = "the openai engine needs --server URL, such as http://localhost:8000/v1 (two, comma-separated: base,rlvr)"
        raise UsageError(msg)
    if engine.servers and engine.name != "openai":
        msg = f"--server belongs to the openai engine, not to {engine.name}"
        raise UsageError(msg)
    if len(engine.servers) > len(ROLES):
        msg = f"--server names {len(engine.servers)} servers; it takes one for both models, or base's and RLVR's"
        raise UsageError(msg)
    for server in engine.servers:
        try:
            address = urlsplit(server)
            address.port  # noqa: B018 - raises for one that cannot be
        except ValueError:
            address = urlsplit("")
        if address.scheme not in ("http", "https") or not address.hostname:
            msg = f"--server {server[:100]} is no URL; it looks like http://localhost:8000/v1"
            raise UsageError(msg)
        if address.username or address.password or address.query:
            msg = f"--server must not hold a key; put it into the environment variable {API_KEY}"
            raise UsageError(msg)


def items(given: str | Sequence[object]) -> list[str]:
    """Return the names of a list or of comma-separated text, without blanks.

    >>> items("a, b,"), items(["a", 2])
    (['a', 'b'], ['a', '2'])
    """
    names = given.split(",") if isinstance(given, str) else [str(name) for name in given]
    return [name.strip() for name in names if name.strip()]
