"""From verdicts to result tables (`analyze`), and from those to the tables a person reads (`report`)."""

import json
from dataclasses import asdict
from pathlib import Path

import polars as pl

from rgsupport import registry, schemas, support
from rgsupport.atomic import read_parquet, write_parquet, write_text
from rgsupport.engines import COMPARED
from rgsupport.errors import StoreError, UsageError, one_line
from rgsupport.outcomes import outcomes, refuse_identical
from rgsupport.report import Provenance, Suspects, write_reports
from rgsupport.schemas import VERDICTS, Table
from rgsupport.stages.generate import USER_TASKS
from rgsupport.stages.suspects import look
from rgsupport.stages.verify import owed_verdicts, task_of_problem, verdict_inputs
from rgsupport.store import Record, Run, planned_problems, task_table
from rgsupport.support import Analysis
from rgsupport.typed import build
from rgsupport.types import ROLES, ModelRole
from rgsupport.watch import Watcher

_TABLES: dict[str, Table] = {
    "tasks": schemas.TASKS,
    "outcomes": schemas.OUTCOMES,
    "pass_at_k": schemas.PASS_AT_K,
    "support": schemas.SUPPORT,
    "shares": schemas.SHARES,
    "classes": schemas.CLASSES,
    "attribution": schemas.ATTRIBUTION,
    "floor": schemas.FLOOR,
    "at_chance": schemas.AT_CHANCE,
}


def analyze(run: Run, watcher: Watcher, *, ks: tuple[int, ...], exclude_suspect: bool = False) -> Analysis:
    """Compute the result tables of the plan at these budgets and store them under `tables/`.

    Args:
        run: The run.
        watcher: Is told what is missing or suspect.
        ks: Budgets, strictly increasing.
        exclude_suspect: Leave the questions out that cannot be judged as they stand.

    Raises:
        UsageError: Nothing was sampled yet, a response has no verdict yet, or no question is left.
    """
    record = run.record()
    if not record.models or not any(run.has_samples(role) for role in ROLES):
        msg = f"nothing was sampled in {run} yet: `rgsupport sample {run}` does"
        raise UsageError(msg)
    unverified = sum(shard.high - shard.low for role in ROLES for shard in owed_verdicts(run, record, role))
    if unverified:
        msg = f"{unverified} responses have no verdict of the present verifiers: `rgsupport verify {run}` gives it"
        raise UsageError(msg)
    suspect, chances = look(run, watcher)
    problems = planned_problems(run.problems(), record.plan)
    if exclude_suspect:
        problems = _trusted(problems, suspect, run)
    checked = registry.with_checker(record.plan.tasks, user_folder=USER_TASKS)
    counts = [
        outcomes(_verdicts(run, record, role), problems, model=role, checked=checked, samples=record.plan.samples)
        for role in ROLES
    ]
    for counted in counts:
        refuse_identical(counted)
    counted = pl.concat(counts)
    lacking = problems.height * record.plan.samples * len(ROLES) - int(counted.filter(verdict="lenient")["n"].sum())
    if lacking:
        watcher.note(f"{lacking} samples of the plan are missing; `rgsupport run` with the same options goes on")
    analysis = support.analyze(
        counted, task_table(record), ks, suspects=suspect["problem_id"].to_list(), chances=chances
    )
    for name in _TABLES:
        write_parquet(getattr(analysis, name), run.path / "tables" / f"{name}.parquet", clobber=True)
    provenance = _provenance(record, missing=lacking, suspect=suspect, excluded=exclude_suspect)
    write_text(json.dumps(asdict(provenance), indent=2) + "\n", run.path / "tables" / "provenance.json")
    return analysis


def _trusted(problems: pl.DataFrame, suspect: pl.DataFrame, run: Run) -> pl.DataFrame:
    """Return the problems that are not suspect.

    Raises:
        UsageError: A task has none, so it cannot stand in a table.
    """
    kept = problems.join(suspect, on="problem_id", how="anti", maintain_order="left")
    if lost := [task for task in problems["task"].unique(maintain_order=True) if task not in set(kept["task"])]:
        msg = (
            f"every question of {lost[0]} is suspect and --exclude-suspect leaves none; "
            f"`rgsupport analyze {run}` lists them"
        )
        raise UsageError(msg)
    return kept


def read_analysis(run: Run) -> tuple[Analysis, Provenance]:
    """Return the result tables that `analyze` stored, and what they were made with.

    Raises:
        UsageError: The run was not analysed yet.
        StoreError: A table is torn, edited or foreign.
    """
    folder = run.path / "tables"
    path = folder / "provenance.json"
    if not path.is_file():
        msg = f"{run} was not analysed yet: `rgsupport analyze {run}` does"
        raise UsageError(msg)
    try:
        provenance = build(Provenance, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError, TypeError, RecursionError) as error:
        msg = f"cannot read {path}: {one_line(error)}; `rgsupport analyze {run}` writes it again"
        raise StoreError(msg) from error
    frames = {name: read_parquet(folder / f"{name}.parquet", table) for name, table in _TABLES.items()}
    return Analysis(**frames), provenance


def report(run: Run) -> list[Path]:
    """Write the tables as Markdown, LaTeX and CSV; return their files."""
    analysis, provenance = read_analysis(run)
    return write_reports(analysis, provenance, run.path / "tables")


def _provenance(record: Record, *, missing: int, suspect: pl.DataFrame, excluded: bool) -> Provenance:
    assert record.sampling is not None
    names = {role: "@".join(filter(None, (model.name, model.revision))) for role, model in record.models.items()}
    return Provenance(
        **names,
        temperature=record.sampling.temperature,
        top_p=record.sampling.top_p,
        max_tokens=record.sampling.max_tokens,
        problems=record.plan.problems,
        samples=record.plan.samples,
        seed=record.seed,
        verdict="lenient",
        missing=missing,
        unequal=_unequal(record),
        suspects=_groups(suspect),
        excluded=excluded,
    )


def _groups(suspect: pl.DataFrame) -> tuple[Suspects, ...]:
    """Return the suspect questions by task and kind, as a report lists them."""
    grouped = suspect.group_by("task", "kind", maintain_order=True).agg("index")
    return tuple(Suspects(task, kind, tuple(indices)) for task, kind, indices in grouped.iter_rows())


def _unequal(record: Record) -> tuple[str, ...]:
    """Return the facts in which the two models differ, which the user has accepted when they were sampled."""
    base, rlvr = (record.models[role].facts for role in ROLES)
    return tuple(name for name in COMPARED if base and rlvr and base.get(name) != rlvr.get(name))


def _verdicts(run: Run, record: Record, role: ModelRole) -> pl.DataFrame:
    folder = run.verdicts(role)
    inputs = verdict_inputs(record, role, task_of_problem(run))
    frames = [folder.read(shard, inputs) for shard in folder.listing(inputs, pass_over_stale=True)]
    # Shards overlap where two commands with different budgets raced; a sample is a function of its key, so any will do.
    return pl.concat([pl.DataFrame(schema=VERDICTS.columns), *frames]).unique(VERDICTS.key, keep="first")
