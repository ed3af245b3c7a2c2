"""Freeze the problems of a run: those that are frozen stay as they are, those that are missing are added."""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version
from pathlib import Path

import polars as pl

from rgsupport import generation, registry
from rgsupport.errors import DriftError, UsageError
from rgsupport.protocols import Described, Task
from rgsupport.schemas import PROBLEMS
from rgsupport.settings import Params, Settings, differences, refuse
from rgsupport.store import Plan, Record, Run, TaskRecord
from rgsupport.types import Problem, SupportClass
from rgsupport.watch import Watcher

_RECORDED_VERSIONS = ("rgsupport", "reasoning-gym", "torch", "transformers", "polars", "numpy", "scipy")
USER_TASKS = Path("tasks")
"""Where a user's own tasks lie, seen from the working directory."""


def generate(run: Run, settings: Settings, watcher: Watcher) -> None:
    """Freeze the problems of the plan's tasks; those that are frozen already stay as they are.

    Raises:
        DriftError: The run was made with another seed or other parameters, or the installed Reasoning Gym makes other
            questions than the ones that are frozen.
    """
    record = run.record() if run.exists else None
    known = {} if record is None else record.tasks
    names = registry.expand(settings.tasks)
    _refuse_drift(record, settings, names)
    frozen = run.problems() if run.has_problems else pl.DataFrame(schema=PROBLEMS.columns)
    stored = frozen.filter(pl.col("task").is_in(list(known)))
    counts = dict(stored.group_by("task").len().iter_rows())
    short = [name for name in names if counts.get(name, 0) < settings.problems]
    records = dict(known)
    if any(name not in known for name in names):
        tasks = registry.load_tasks(names, params=_params_of(settings, names), user_folder=USER_TASKS)
        records |= {task.name: _task_record(task, settings.params) for task in tasks if task.name not in known}
    if short:
        with watcher.stage("generating questions", total=len(short) * settings.problems, unit="questions") as bar:
            made = generation.generate(
                short,
                params={name: records[name].overrides for name in short if records[name].overrides},
                user_folder=USER_TASKS,
                count=settings.problems,
                seed=settings.seed,
                on_problem=lambda _: bar.advance(1),
            )
        run.write_problems(_merge(stored, made))
    plan = Plan(names, settings.problems, settings.ks, settings.samples)
    if record is None:
        versions = {name: version(name) for name in _RECORDED_VERSIONS}
        record = Record(seed=settings.seed, tasks=records, plan=plan, versions=versions)
    run.write_record(replace(record, tasks=records, plan=plan))


def _params_of(settings: Settings, names: Sequence[str]) -> Params:
    unused = [task for task in settings.params if task not in names]
    if unused:
        msg = f"parameters are set for {unused[0]}, which is not among the tasks {', '.join(names)}"
        raise UsageError(msg)
    return settings.params


def _refuse_drift(record: Record | None, settings: Settings, names: Sequence[str]) -> None:
    if record is None:
        return
    asked: dict[str, object] = {"seed": settings.seed}
    stored: dict[str, object] = {"seed": record.seed}
    for name in names:
        if name in record.tasks:
            asked[f"parameters of {name}"] = dict(settings.params.get(name, {}))
            stored[f"parameters of {name}"] = record.tasks[name].overrides
    refuse(differences(asked, stored))


def _task_record(task: Task, params: Params) -> TaskRecord:
    described = task if isinstance(task, Described) else None
    classes = [name.value for name in SupportClass]
    if described is not None and described.paper_class not in (None, *classes):
        msg = (
            f"the paper_class of {task.name!r} is {described.paper_class!r}; it is None or one of {', '.join(classes)}"
        )
        raise UsageError(msg)
    return TaskRecord(
        overrides=dict(params.get(task.name, {})),
        params={} if described is None else json.loads(json.dumps(dict(described.params), default=str)),
        category="other" if described is None else described.category,
        paper_class=None if described is None else described.paper_class,
        source=registry.task_source(task.name, user_folder=USER_TASKS),
    )


def _merge(stored: pl.DataFrame, made: Sequence[Problem]) -> pl.DataFrame:
    """Return the stored problems with the new ones added; the ones made again must be the ones that are frozen."""
    frame = pl.DataFrame([asdict(problem) for problem in made], schema_overrides={"reference": pl.String}).rename(
        {"id": "problem_id"}
    )
    frame = frame.with_columns(position=pl.int_range(pl.len()).over("task")).cast(
        {"index": pl.UInt64, "position": pl.UInt32}
    )
    frame = frame.select(PROBLEMS.columns.keys())
    again = stored.join(frame, on=["task", "position"], how="left", suffix="_now", validate="1:1")
    changed = again.filter(pl.col("problem_id_now").is_not_null() & (pl.col("problem_id") != pl.col("problem_id_now")))
    if changed.height:
        msg = (
            f"reasoning-gym {version('reasoning-gym')} makes other questions for {changed['task'][0]} than the frozen "
            "ones of this run; install the version that run.json names, or choose another folder with --out"
        )
        raise DriftError(msg)
    added = frame.join(stored, on=["task", "position"], how="anti")
    return pl.concat([stored, added])
