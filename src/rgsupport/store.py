"""A run directory: what it was made with (`run.json`), its problems, the folders of completions and verdicts."""

import fcntl
import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from rgsupport.atomic import read_parquet, storing, write_parquet, write_text
from rgsupport.errors import StoreError, UsageError
from rgsupport.journal import Journal
from rgsupport.schemas import COMPLETIONS, PROBLEMS, TASKS, VERDICTS
from rgsupport.seeds import problem_id
from rgsupport.shards import ShardFolder
from rgsupport.typed import build
from rgsupport.types import LARGEST, ModelRole, Problem, SamplingParams, SupportClass

FORMAT = 2


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """A task of a run.

    Attributes:
        overrides: Parameters that were set by the user.
        params: Every parameter, resolved; empty for a task that does not tell.
        category: Group under which tables pool it.
        paper_class: Class the paper gives it, if it is the paper's.
        source: File or dataset that it comes from.
    """

    overrides: dict[str, Any]
    params: dict[str, Any]
    category: str
    paper_class: str | None
    source: str


@dataclass(frozen=True, slots=True)
class ModelRecord:
    """A model of a run.

    Attributes:
        name: As the user named it.
        revision: As the user gave it.
        fingerprint: Hash of its files or of its commit (`models.fingerprint`).
        opens_thought: Whether its prompts end inside a `<think>` block.
        facts: What its engine really used, once it was loaded.
    """

    name: str
    revision: str | None
    fingerprint: str
    opens_thought: bool = False
    facts: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class Plan:
    """What the last command asked for; unlike the rest of the record it may change from command to command."""

    tasks: tuple[str, ...]
    problems: int
    ks: tuple[int, ...] = ()
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    """What a run directory was made with, as `run.json` holds it."""

    seed: int
    tasks: dict[str, TaskRecord]
    plan: Plan
    sampling: SamplingParams | None = None
    prompt: str | None = None
    system: str | None = None
    """Text of the system prompt."""
    allow_unequal: tuple[str, ...] = ()
    """Facts of `engines.COMPARED` in which the two models may differ."""
    models: dict[ModelRole, ModelRecord] = field(default_factory=dict[ModelRole, ModelRecord])
    versions: dict[str, str] = field(default_factory=dict[str, str])
    format: int = FORMAT


class Run:
    """A run directory."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __str__(self) -> str:
        return str(self.path)

    @property
    def exists(self) -> bool:
        """Whether the directory holds a run."""
        return (self.path / "run.json").is_file()

    @contextmanager
    def locked(self) -> Generator[None]:
        """Keep other commands from writing to the run.

        Raises:
            StoreError: Another command is at work on it, or the folder is not a run and holds other files.
            UsageError: It is a file.
        """
        if self.path.exists() and not self.path.is_dir():
            msg = f"{self.path} is a file, not a run; choose a folder with --out"
            raise UsageError(msg)
        if not self.exists and self.path.exists():
            others = sorted(item.name for item in self.path.iterdir() if not item.name.startswith("."))
            if set(others) - {"logs", "problems.parquet"}:
                msg = (
                    f"{self.path} holds {others[0]} but no run.json: it is not a run; choose another folder with --out"
                )
                raise StoreError(msg)
        with storing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path / ".lock", os.O_RDWR | os.O_CREAT, 0o644)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                msg = f"another command is at work on {self.path}; wait for it, or choose another folder with --out"
                raise StoreError(msg) from error
            yield
        finally:
            os.close(handle)

    def record(self) -> Record:
        """Return what the run was made with.

        Raises:
            UsageError: The folder is not a run.
            StoreError: `run.json` is torn, edited, or of another format.
        """
        path = self.path / "run.json"
        if not self.exists:
            msg = f"{self.path} is not a run: there is no {path}; `rgsupport run` makes one"
            raise UsageError(msg)
        try:
            return _record(json.loads(path.read_text(encoding="utf-8")))
        except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
            reason = f"{type(error).__name__}: {error}".splitlines()[0]
            msg = f"cannot read {path} ({reason}): restore it, or choose another folder with --out"
            raise StoreError(msg) from error

    def write_record(self, record: Record) -> None:
        """Put `run.json` in place."""
        write_text(json.dumps(asdict(record), indent=2, ensure_ascii=False) + "\n", self.path / "run.json")

    def problems(self) -> pl.DataFrame:
        """Return the frozen problems.

        Raises:
            StoreError: The file is missing, torn or was edited: an id is not the hash of its question.
        """
        path = self.path / "problems.parquet"
        if not path.exists():
            msg = f"{path} is missing; `rgsupport run` or `rgsupport generate` makes it again"
            raise StoreError(msg)
        frame = read_parquet(path, PROBLEMS)
        for task, identity, question in frame.select("task", "problem_id", "question").iter_rows():
            if problem_id(task=task, question=question) != identity:
                msg = f"{path} was edited: {identity} of {task} is not the hash of its question; restore the file"
                raise StoreError(msg)
        return frame

    @property
    def has_problems(self) -> bool:
        """Whether problems were frozen."""
        return (self.path / "problems.parquet").exists()

    def write_problems(self, frame: pl.DataFrame) -> None:
        """Put the problems in place."""
        write_parquet(frame, self.path / "problems.parquet", clobber=True)

    def completions(self, role: ModelRole) -> ShardFolder:
        """Return the shards of a model's completions."""
        return ShardFolder(self.path / "completions" / role, COMPLETIONS)

    def verdicts(self, role: ModelRole) -> ShardFolder:
        """Return the shards of a model's verdicts."""
        return ShardFolder(self.path / "verdicts" / role, VERDICTS)

    def journal(self, role: ModelRole) -> Journal:
        """Return the journal of a model's completions."""
        return Journal(self.path / "completions" / role)

    def has_samples(self, role: ModelRole) -> bool:
        """Tell whether anything of a model was sampled, be it only journaled."""
        folder = self.path / "completions" / role
        return any(path.suffix in (".parquet", ".jsonl") for path in folder.glob("*"))

    def log(self, name: str) -> Path:
        """Return the file that takes what a child process prints."""
        folder = self.path / "logs"
        with storing(folder):
            folder.mkdir(parents=True, exist_ok=True)
        return folder / f"{name}.log"


def planned_problems(problems: pl.DataFrame, plan: Plan) -> pl.DataFrame:
    """Return the problems a plan covers, in the plan's order of tasks: the first `plan.problems` of each.

    Args:
        problems: A table of `schemas.PROBLEMS`.
        plan: Its tasks and its number of problems.
    """
    order = pl.DataFrame({"task": plan.tasks}, schema={"task": pl.String}).with_row_index("rank")
    return (
        problems.join(order, on="task", validate="m:1")
        .filter(pl.col("position") < plan.problems)
        .sort("rank", "position")
        .drop("rank")
    )


def task_table(record: Record) -> pl.DataFrame:
    """Return the plan's tasks as a table of `schemas.TASKS`."""
    rows = [(name, record.tasks[name].category, record.tasks[name].paper_class) for name in record.plan.tasks]
    return pl.DataFrame(rows, schema=TASKS.columns, orient="row")


def to_problem(row: Mapping[str, Any]) -> Problem:
    """Return a problem from a named row of `schemas.PROBLEMS`."""
    return Problem(
        task=row["task"],
        id=row["problem_id"],
        index=row["index"],
        question=row["question"],
        reference=row["reference"],
        entry=row["entry"],
    )


def _record(stored: dict[str, Any]) -> Record:
    """Return a record from JSON.

    Raises:
        TypeError: A part has another type, is missing or unknown.
        ValueError: It is of another format, or its parts contradict each other.
    """
    if stored.get("format") != FORMAT:
        msg = f"format {stored.get('format')}, this rgsupport reads {FORMAT}"
        raise ValueError(msg)
    record = build(Record, stored)
    plan = record.plan
    unknown = [name for name in plan.tasks if name not in record.tasks]
    classes = [name.value for name in SupportClass]
    faults = {
        f"the plan names {unknown[0] if unknown else ''!r}, which is no task of the run": bool(unknown),
        "the plan names a task twice": len(set(plan.tasks)) < len(plan.tasks),
        f"the plan has {plan.problems} problems": not 1 <= plan.problems < LARGEST,
        f"the plan has the budgets {list(plan.ks)}": list(plan.ks) != sorted({k for k in plan.ks if k >= 1}),
        f"the plan has {plan.samples} samples": not max(plan.ks, default=0) <= plan.samples < LARGEST,
        "a task has a class that is none": any(
            task.paper_class not in (None, *classes) for task in record.tasks.values()
        ),
        "not both models are named": len(record.models) == 1,
    }
    for fault, holds in faults.items():
        if holds:
            raise ValueError(fault)
    return record
