"""Every look in turn; one that fails is a finding itself."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rgsupport.doctor._check import Check, problem, refusal
from rgsupport.doctor._jail import check_jail
from rgsupport.doctor._machine import check_engine, check_gpus, check_memory, check_packages, check_torch, check_vllm
from rgsupport.doctor._models import check_models
from rgsupport.doctor._places import check_disk, check_folder
from rgsupport.doctor._servers import check_servers
from rgsupport.engines import COMPARED, Engine, items, known, resolve_engine
from rgsupport.errors import RgsupportError, one_line
from rgsupport.hardware import default_engine
from rgsupport.models import MINIATURE
from rgsupport.types import ROLES, ModelRole


@dataclass(frozen=True, slots=True)
class Asked:
    """What the run that is meant would be asked for.

    Attributes:
        models: Names of the models to look at, one or both.
        engine: How they would be held; it has a name.
        out: Where the run would lie.
        allow_unequal: Facts in which the two models may differ.
        offline: Whether the hub must not be asked.
    """

    models: Mapping[ModelRole, str]
    engine: Engine
    out: Path
    allow_unequal: tuple[str, ...] = ()
    offline: bool = False


def understand(given: Mapping[str, Any]) -> Asked:
    """Return what is meant by settings with keys of `settings.KEYS`; a value of None counts as not given.

    Raises:
        UsageError: A value is unknown or out of range, or two contradict each other.
    """
    told = {key: value for key, value in given.items() if value is not None}
    engine = resolve_engine(told)
    named: dict[ModelRole, str] = {role: str(told[role]) for role in ROLES if role in told}
    return Asked(
        models=named or MINIATURE,
        engine=replace(engine, name=engine.name or default_engine()),
        out=Path(told.get("out", "outputs")).expanduser(),
        allow_unequal=known(items(told.get("allow_unequal", ())), COMPARED, option="--allow-unequal"),
        offline=os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE"),
    )


def examine(asked: Asked) -> Iterator[Check]:
    """Yield what is found, each as soon as it is."""
    looks: dict[str, Callable[[], Iterable[Check]]] = {
        "packages": check_packages,
        "vllm": lambda: check_vllm(asked.engine),
        "GPUs": lambda: check_gpus(asked.engine),
        "torch": lambda: check_torch(asked.engine),
        "engine": lambda: check_engine(asked.engine),
        "server": lambda: check_servers(asked.models, asked.engine),
        "models": lambda: check_models(asked.models, asked.engine, asked.allow_unequal, offline=asked.offline),
        "memory": check_memory,
        "jail": check_jail,
        "disk": lambda: check_disk(asked.out),
        "run folder": lambda: check_folder(asked.out),
    }
    for topic, look in looks.items():
        yield from _guarded(topic, look)


def _guarded(topic: str, look: Callable[[], Iterable[Check]]) -> Iterator[Check]:
    try:
        yield from look()
    except RgsupportError as error:
        yield refusal(topic, error, otherwise="mend that, and run doctor again")
    except Exception as error:  # noqa: BLE001 - whatever is broken here, the other looks are worth having
        yield problem(
            topic,
            f"this could not be looked at: {type(error).__name__}: {one_line(error)[:300]}",
            remedy="if a run fails, too, report both as an issue of rgsupport",
        )
