"""Look at the questions of a run before GPU time is spent on them: which of them cannot be judged as they stand."""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import polars as pl

from rgsupport import registry
from rgsupport.atomic import read_parquet, write_parquet
from rgsupport.jail import Ask, Jail, Job, Result
from rgsupport.report import listed
from rgsupport.schemas import CHANCES, SUSPECTS
from rgsupport.stages.generate import USER_TASKS
from rgsupport.stages.verify import specification, verifiers
from rgsupport.store import Record, Run, planned_problems, to_problem
from rgsupport.types import Problem, Status
from rgsupport.watch import Watcher

Finder = Callable[[Result], tuple[str, str] | None]
"""Returns kind and detail of the fault that a result shows, None if it shows none."""

_NONSENSE = "banana"


class Looked(NamedTuple):
    """What a look at the planned questions showed."""

    suspects: pl.DataFrame
    """Those that cannot be judged as they stand, as in `schemas.SUSPECTS`, in the order of the plan."""
    chances: pl.DataFrame
    """How often a guess is right, as in `schemas.CHANCES`, of tasks that have a guesser."""


def look(run: Run, watcher: Watcher) -> Looked:
    """Look at the planned questions, and tell the watcher of those that cannot be judged when they are found.

    A question is suspect if its task doubts it, or its verifier rejects the reference, accepts a nonsense word, or
    accepts the question itself. What was found is kept, and found anew only when problems or verifiers changed.

    Raises:
        UsageError: A task of the user's is not found from here.
        RgsupportError: A worker cannot load the tasks.
    """
    record = run.record()
    rows = planned_problems(run.problems(), record.plan)
    problems = [to_problem(row) for row in rows.iter_rows(named=True)]
    digest = _digest(record, problems)
    paths = {name: run.path / "audit" / f"{name}-{digest}.parquet" for name in Looked._fields}
    if all(path.exists() for path in paths.values()):
        return Looked(read_parquet(paths["suspects"], SUSPECTS), read_parquet(paths["chances"], CHANCES))
    found = _look(record, problems, watcher)
    for name, frame in found._asdict().items():
        write_parquet(frame, paths[name], clobber=True)
    for line in _summary(found.suspects, problems):
        watcher.note(line)
    return found


def _digest(record: Record, problems: Sequence[Problem]) -> str:
    deciding = verifiers(record)
    source = Path(__file__).read_bytes()
    parts = [f"{problem.id}\0{deciding[problem.task]}" for problem in problems]
    return hashlib.sha256(source + "\n".join(parts).encode()).hexdigest()[:16]


def _look(record: Record, problems: Sequence[Problem], watcher: Watcher) -> Looked:
    tasks = {problem.task for problem in problems}
    doubted = registry.with_doubts(tasks, user_folder=USER_TASKS)
    asked = [
        (place, find, job)
        for place, problem in enumerate(problems)
        for find, job in _questions(problem, is_doubted=problem.task in doubted)
    ]
    guessers = registry.with_guesser(tasks, user_folder=USER_TASKS)
    asked += [
        (place, _nothing, Job(0, problem, "", Ask.CHANCE))
        for place, problem in enumerate(problems)
        if problem.task in guessers
    ]
    chances: dict[int, float] = {}
    jobs = (replace(job, key=key) for key, (_, _, job) in enumerate(asked))
    faults: dict[int, tuple[str, str]] = {}
    with (
        watcher.stage("looking at the questions", total=len(asked), unit="probes") as bar,
        Jail(specification(record, sorted(tasks)), workers=1) as jail,
    ):
        for result in jail.score(jobs):
            place, find, job = asked[result.key]
            if job.ask is Ask.CHANCE and result.score is not None:
                chances[place] = result.score
            if fault := find(result):
                faults[result.key] = fault
            bar.advance(1)
    # Results come in any order; of several faults of a problem the first that was asked about is told.
    first = {asked[key][0]: faults[key] for key in sorted(faults, reverse=True)}
    rows = [(problems[at].task, problems[at].id, problems[at].index, *first[at]) for at in sorted(first)]
    known = [(problems[at].id, chances[at]) for at in sorted(chances)]
    return Looked(
        pl.DataFrame(rows, schema=SUSPECTS.columns, orient="row"),
        pl.DataFrame(known, schema=CHANCES.columns, orient="row"),
    )


def _nothing(result: Result) -> None:
    """Find no fault."""


def _questions(problem: Problem, *, is_doubted: bool) -> list[tuple[Finder, Job]]:
    """Return what is asked about a problem, and how a result shows a fault."""
    asked: list[tuple[Finder, Job]] = []
    if is_doubted:
        asked.append((_doubted, Job(0, problem, "", Ask.DOUBT)))
    if problem.reference is not None:
        asked.append((_rejected, Job(0, problem, problem.reference)))
    asked.append((_accepted, Job(0, problem, _NONSENSE)))
    asked.append((_accepted, Job(0, problem, problem.question)))
    return asked


def _doubted(result: Result) -> tuple[str, str] | None:
    if result.status is Status.CORRECT:
        return None
    if result.status is not Status.WRONG:
        return "the checker fails", result.detail
    kind, _, detail = result.answer.partition(": ")
    return kind, detail


def _rejected(result: Result) -> tuple[str, str] | None:
    if result.status is Status.CORRECT:
        return None
    return "the verifier rejects its reference", result.detail or f"it gives {result.answer!r} {result.score:g}"


def _accepted(result: Result) -> tuple[str, str] | None:
    if result.status is not Status.CORRECT:
        return None
    shown = result.answer if result.answer == _NONSENSE else "the question itself"
    return "the verifier accepts nonsense", f"it accepts {shown}"


def _summary(found: pl.DataFrame, problems: Sequence[Problem]) -> list[str]:
    """Return a line per task with suspect questions."""
    lines: list[str] = []
    for (task,), rows in found.group_by("task", maintain_order=True):
        total = sum(problem.task == task for problem in problems)
        kinds = ", ".join(rows["kind"].unique(maintain_order=True))
        lines.append(
            f"{task}: {rows.height} of {total} questions are suspect ({kinds}): {listed(rows['index'].to_list())}; "
            "--exclude-suspect leaves them out of every table"
        )
    return lines
