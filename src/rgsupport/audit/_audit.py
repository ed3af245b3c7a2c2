"""Audit several tasks: make their problems, examine one after the other, judge each."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rgsupport import generation, registry
from rgsupport.audit._evidence import Evidence
from rgsupport.audit._judge import Judgement, judge
from rgsupport.audit._run import Subject, examine
from rgsupport.errors import EngineError, UsageError
from rgsupport.jail import Jail, Specification
from rgsupport.types import Problem
from rgsupport.watch import Watcher

TIME_LIMIT = 2.0
"""Seconds one answer may take: far more than a verifier needs that is to judge a million."""
_HASHED = 5  # problems that are made again under another hash seed


@dataclass(frozen=True, slots=True)
class Audited:
    """A task, what was found out about it, and the verdict."""

    evidence: Evidence
    judgement: Judgement


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be audited.

    Attributes:
        names: Tasks, each once.
        params: Parameters of tasks that are not to have their default.
        user_folder: Folder of the user's own task files.
        problems: Questions per task; a task that has fewer gives what it has.
        seed: Of the questions.
    """

    names: tuple[str, ...]
    params: Mapping[str, Mapping[str, object]]
    user_folder: Path
    problems: int
    seed: int


@dataclass(frozen=True, slots=True)
class _Made:
    problems: tuple[Problem, ...]
    seconds: float
    failure: str = ""


def audit(wanted: Wanted, watcher: Watcher, *, workers: int) -> Iterator[Audited]:
    """Yield the verdict on each task as it is reached, in the order of the names.

    Raises:
        UsageError: A name or a parameter is unknown.
        RgsupportError: The jail cannot load the tasks.
    """
    registry.load_tasks(wanted.names, params=wanted.params, user_folder=wanted.user_folder)
    made = _make(wanted, watcher)
    under_hash = _under_another_hash(wanted, [name for name in wanted.names if not made[name].failure])
    doubts = registry.with_doubts(wanted.names, user_folder=wanted.user_folder)
    checked = registry.with_checker(wanted.names, user_folder=wanted.user_folder)
    specification = Specification(wanted.names, params=wanted.params, user_folder=wanted.user_folder.absolute())
    with (
        watcher.stage("probing verifiers", total=len(wanted.names), unit="tasks") as bar,
        Jail(specification, workers=workers, time_limit=TIME_LIMIT) as jail,
    ):
        for name in wanted.names:
            subject = Subject(
                task=name,
                problems=made[name].problems,
                seconds=made[name].seconds,
                depends_on_hash=_differ(made[name].problems, under_hash.get(name, ())),
                has_doubts=name in doubts,
                has_checker=name in checked,
            )
            failure = made[name].failure
            evidence = _nothing(subject, failure) if failure else examine(subject, jail)
            bar.advance(1)
            yield Audited(evidence, judge(evidence))


def _make(wanted: Wanted, watcher: Watcher) -> dict[str, _Made]:
    """Make the problems of all tasks in one go; if one of them fails, of each alone."""
    total = len(wanted.names) * wanted.problems
    with watcher.stage("generating questions", total=total, unit="questions") as bar:
        try:
            return _together(wanted, wanted.names, lambda: bar.advance(1))
        except (UsageError, EngineError):
            return {name: made for name in wanted.names for made in [_alone(wanted, name, lambda: bar.advance(1))]}


def _together(wanted: Wanted, names: Sequence[str], advance: Callable[[], None]) -> dict[str, _Made]:
    """Make the problems of some tasks in one child process.

    Raises:
        UsageError: One of them cannot.
        EngineError: The process died.
    """
    seconds: dict[str, float] = {}
    problems = generation.generate(
        names,
        params={name: wanted.params[name] for name in names if name in wanted.params},
        user_folder=wanted.user_folder,
        count=wanted.problems,
        seed=wanted.seed,
        on_problem=lambda _: advance(),
        on_task=lambda name, spent: seconds.update({name: spent}),
    )
    by_task = {name: tuple(problem for problem in problems if problem.task == name) for name in names}
    return {name: _Made(made, seconds[name] / len(made)) for name, made in by_task.items()}


def _alone(wanted: Wanted, name: str, advance: Callable[[], None]) -> _Made:
    """Make the problems of one task, fewer if it has fewer; a failure is a finding."""
    try:
        return _together(wanted, (name,), advance)[name]
    except UsageError as error:
        fewer = re.search(r"has only ([1-9][0-9]*) distinct questions", str(error))
        if fewer:
            return _alone(replace(wanted, problems=int(fewer.group(1))), name, advance)
        return _Made((), 0.0, f"makes no problems: {error}")
    except EngineError as error:
        return _Made((), 0.0, f"makes no problems: {error}")


def _under_another_hash(wanted: Wanted, names: Sequence[str]) -> dict[str, tuple[Problem, ...]]:
    """Return the first problems of each task, made under another hash seed; nothing if some cannot be made so."""
    try:
        problems = generation.generate(
            names,
            params={name: wanted.params[name] for name in names if name in wanted.params},
            user_folder=wanted.user_folder,
            count=min(_HASHED, wanted.problems),
            seed=wanted.seed,
            on_problem=None,
            hash_seed=1,
        )
    except (UsageError, EngineError):
        return {}
    return {name: tuple(problem for problem in problems if problem.task == name) for name in names}


def _differ(problems: Sequence[Problem], again: Sequence[Problem]) -> bool:
    pairs = zip(problems, again, strict=False)  # fewer were made again
    return any((one.question, one.reference) != (other.question, other.reference) for one, other in pairs)


def _nothing(subject: Subject, failure: str) -> Evidence:
    return Evidence(
        task=subject.task,
        problems=(),
        seconds=0.0,
        repeated=0.0,
        depends_on_hash=False,
        references=0,
        has_checker=subject.has_checker,
        suspects=(),
        tallies={},
        benign={},
        unstable=0,
        failure=failure,
    )
