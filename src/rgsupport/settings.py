"""What a run is asked for: defaults, under a TOML file, under the command line; checked before anything costs time."""

import json
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any

from rgsupport.engines import COMPARED, Engine, items, known, resolve_engine
from rgsupport.engines import PLAIN_KEYS as ENGINE_KEYS
from rgsupport.errors import DriftError, UsageError, nearest
from rgsupport.models import MINIATURE
from rgsupport.types import BASE, LARGEST, RLVR, SamplingParams

Params = Mapping[str, Mapping[str, object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """Everything a run is asked for.

    Attributes:
        tasks: Names as given; `paper` stands for the paper's fifteen.
        params: Parameters of tasks that are not to have their default.
        ks: Sampling budgets, strictly increasing.
        problems: Problems per task.
        samples: Samples per problem and model, at least the largest k.
        seed: Seed of the questions and of every sample.
        sampling: How completions are drawn.
        prompt: Name of a system prompt of Reasoning Gym, `none`, or a text file.
        base: Name of the base model.
        rlvr: Name of the trained model.
        engine: How the models are held.
        allow_unequal: Facts of `COMPARED` in which the two models may differ.
        exclude_suspect: Leave the questions that cannot be judged out of every table.
        out: Run directory; None for the one that belongs to the two models.
    """

    tasks: tuple[str, ...]
    params: Params = field(default_factory=dict[str, Mapping[str, object]])
    ks: tuple[int, ...] = (1, 2, 4, 8, 16)
    problems: int = 50
    samples: int = 16
    seed: int = 45
    sampling: SamplingParams = field(default_factory=SamplingParams)
    prompt: str = "default"
    base: str = MINIATURE[BASE]
    rlvr: str = MINIATURE[RLVR]
    engine: Engine = field(default_factory=Engine)
    allow_unequal: tuple[str, ...] = ()
    exclude_suspect: bool = False
    out: Path | None = None


_SAMPLING_KEYS = ("temperature", "top_p", "max_tokens", "logprobs")
_PLAIN_KEYS = ("problems", "samples", "seed", "prompt", "base", "rlvr", "exclude_suspect", "out")
_LIST_KEYS = ("tasks", "k", "gpus", "server", "allow_unequal")
KEYS = ("params", "engine", "engine_options", *_LIST_KEYS, *_PLAIN_KEYS, *_SAMPLING_KEYS, *ENGINE_KEYS)
_TYPES: dict[str, type | tuple[type, ...]] = {
    "problems": int, "samples": int, "seed": int, "prompt": str, "base": str, "rlvr": str, "out": str,
    "temperature": (int, float), "top_p": (int, float), "max_tokens": int, "logprobs": int,
    "exclude_suspect": bool,
    "engine": str, "device": str, "dtype": str, "batch_size": int, "tensor_parallel": int, "workers": int, "api": str,
    "params": dict, "engine_options": dict, **dict.fromkeys(_LIST_KEYS, (str, list)),
}  # fmt: skip


def read_file(path: Path) -> dict[str, Any]:
    """Return the settings of a TOML file; its keys are the long options, `[params.TASK]` holds parameters of a task.

    Raises:
        UsageError: The file cannot be read, is not TOML, or has an unknown key or a value of the wrong type.
    """
    try:
        given = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        msg = f"cannot read the configuration {path}: {str(error).splitlines()[0]}"
        raise UsageError(msg) from error
    # Dates and times, which TOML has and JSON has not, become texts.
    plain: dict[str, Any] = json.loads(json.dumps(given, default=str))
    settings = {key.replace("-", "_"): value for key, value in plain.items()}
    for key, value in settings.items():
        if key not in KEYS:
            msg = f"unknown key {key!r} in {path}{nearest(key, KEYS)}; known keys: {', '.join(KEYS)}"
            raise UsageError(msg)
        if key in _TYPES and (not isinstance(value, _TYPES[key]) or isinstance(value, bool) != (_TYPES[key] is bool)):
            msg = f"the value {value!r} of {key} in {path} has the wrong type"
            raise UsageError(msg)
    for task, values in settings.get("params", {}).items():
        if not isinstance(values, dict):
            msg = f"[params] in {path} has {task} = {values!r}; parameters of a task stand under [params.{task}]"
            raise UsageError(msg)
    return settings


def resolve(*layers: Mapping[str, Any]) -> Settings:
    """Return checked settings; a later layer wins, and a value of None counts as not given.

    Args:
        layers: Mappings with keys of `KEYS`; `tasks` and `k` may be lists or comma-separated text.

    Raises:
        UsageError: A value is out of range, or two contradict each other.
    """
    given = {key: value for layer in layers for key, value in layer.items() if value is not None}
    if (BASE in given) != (RLVR in given):
        other = RLVR if BASE in given else BASE
        msg = f"only one model is named: --{other} is missing (name both, or none for the miniature pair)"
        raise UsageError(msg)
    ks = _budgets(given.get("k", (1, 2, 4, 8, 16)))
    plain: dict[str, Any] = {"samples": ks[-1], **{key: given[key] for key in _PLAIN_KEYS if key in given}}
    if "out" in plain:
        plain["out"] = Path(plain["out"]).expanduser()
    settings = Settings(
        tasks=_names(given.get("tasks", ())),
        params=given.get("params", {}),
        ks=ks,
        sampling=SamplingParams(**{key: given[key] for key in _SAMPLING_KEYS if key in given}),
        engine=resolve_engine(given),
        allow_unequal=known(items(given.get("allow_unequal", ())), COMPARED, option="--allow-unequal"),
        **plain,
    )
    _check(settings)
    return settings


def _check(settings: Settings) -> None:
    sampling = settings.sampling
    for name, value, low in (
        ("problems", settings.problems, 1),
        ("samples", settings.samples, 1),
        ("max-tokens", sampling.max_tokens, 1),
        ("batch-size", 1 if settings.engine.batch_size is None else settings.engine.batch_size, 1),
        ("logprobs", sampling.logprobs, 0),
        ("seed", settings.seed, 0),
    ):
        if not low <= value < LARGEST:
            msg = f"--{name} is {value}; it must be at least {low} and below {LARGEST}"
            raise UsageError(msg)
    if not (math.isfinite(sampling.temperature) and sampling.temperature >= 0):
        msg = f"--temperature is {sampling.temperature}; it must be 0 or more"
        raise UsageError(msg)
    if not 0 < sampling.top_p <= 1:
        msg = f"--top-p is {sampling.top_p}; it must be above 0 and at most 1"
        raise UsageError(msg)
    if sampling.temperature == 0 and settings.samples > 1:
        msg = (
            f"--temperature 0 gives the same response {settings.samples} times; "
            "take --k 1 for greedy decoding, or a temperature above 0"
        )
        raise UsageError(msg)
    if settings.ks[-1] > settings.samples:
        msg = f"k = {settings.ks[-1]} needs at least that many samples per problem, --samples is {settings.samples}"
        raise UsageError(msg)


def _names(given: str | Sequence[object]) -> tuple[str, ...]:
    found = tuple(dict.fromkeys(items(given)))
    if not found:
        msg = (
            "no task named: --tasks graph_color,dice takes two, --tasks paper the paper's fifteen; "
            "`rgsupport tasks` lists them all"
        )
        raise UsageError(msg)
    return found


def _budgets(given: str | Sequence[object]) -> tuple[int, ...]:
    items = [item.strip() for item in given.split(",")] if isinstance(given, str) else list(given)
    ks: list[int] = []
    for item in items:
        text = str(item)
        if not (text.isascii() and text.isdigit() and len(text) < 10) or int(text) < 1:
            msg = f"--k has {text[:40]!r}; budgets are whole numbers from 1, separated by commas: --k 1,2,4,8,16"
            raise UsageError(msg)
        ks.append(int(text))
    if ks != sorted(set(ks)):
        msg = f"--k {','.join(map(str, ks))} is not strictly increasing; try --k {','.join(map(str, sorted(set(ks))))}"
        raise UsageError(msg)
    if not ks:
        msg = "--k is empty; budgets are whole numbers from 1, separated by commas: --k 1,2,4,8,16"
        raise UsageError(msg)
    return tuple(ks)


def parse_params(assignments: Sequence[str]) -> dict[str, dict[str, object]]:
    r"""Return the parameters of tasks given as `TASK.NAME=VALUE`; a value is read as JSON, else as text.

    Raises:
        UsageError: An assignment has another form.

    >>> parse_params(["dice.num_dice=6", "family_relationships.male_names=[\"Al\"]"])
    {'dice': {'num_dice': 6}, 'family_relationships': {'male_names': ['Al']}}
    """
    params: dict[str, dict[str, object]] = {}
    for assignment in assignments:
        target, equals, text = assignment.partition("=")
        task, dot, name = target.strip().partition(".")
        if not (equals and dot and task and name):
            msg = f"--set {assignment} is not of the form TASK.PARAMETER=VALUE, for example --set dice.num_dice=6"
            raise UsageError(msg)
        params.setdefault(task, {})[name] = _value(text)
    return params


def parse_engine_options(assignments: Sequence[str]) -> dict[str, object]:
    """Return the options of an engine given as `NAME=VALUE`; a value is read as JSON, else as text.

    Raises:
        UsageError: An assignment has another form.

    >>> parse_engine_options(["gpu_memory_utilization=0.8", "kv_cache_dtype=fp8"])
    {'gpu_memory_utilization': 0.8, 'kv_cache_dtype': 'fp8'}
    """
    options: dict[str, object] = {}
    for assignment in assignments:
        name, equals, text = assignment.partition("=")
        if not (equals and name.strip()):
            msg = f"--engine-option {assignment} is not NAME=VALUE, for example --engine-option enforce_eager=true"
            raise UsageError(msg)
        options[name.strip()] = _value(text)
    return options


def _value(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text.strip()


def differences(asked: Mapping[str, object], stored: Mapping[str, object]) -> str:
    """Return in words where two flat mappings differ, empty when they do not.

    >>> differences({"seed": 45, "top_p": 1.0}, {"seed": 45, "top_p": 0.95})
    'top_p is 0.95 in the run, 1.0 was asked'
    """
    parts: list[str] = []
    for key in asked.keys() | stored.keys():
        was, now = stored.get(key), asked.get(key)
        if was == now:
            continue
        if isinstance(was, str) and isinstance(now, str) and len(was) + len(now) > 120:
            same = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(was, now, strict=False)))
            was, now = f"…{was[same : same + 40]}…", f"…{now[same : same + 40]}…"
        parts.append(f"{key} is {was} in the run, {now} was asked")
    return "; ".join(sorted(parts))


def refuse(difference: str) -> None:
    """Refuse to go on with a run that was made otherwise.

    Args:
        difference: In words (`differences`); nothing happens when it is empty.

    Raises:
        DriftError: The difference and the way out.
    """
    if difference:
        msg = f"this run was made otherwise: {difference}; ask for the same, or choose another folder with --out"
        raise DriftError(msg)
