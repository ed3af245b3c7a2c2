"""What `rgsupport tasks` prints: all tasks, or one of them with an example."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rgsupport import generation, registry
from rgsupport.protocols import Described, Task
from rgsupport.settings import Params
from rgsupport.stages.generate import USER_TASKS

if TYPE_CHECKING:
    from rich.console import Console


def print_tasks(console: "Console") -> None:
    """Print every task: name, source, category, the paper's class, parameters."""
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("task", no_wrap=True)  # a name is there to be copied
    for heading in ("source", "category", "paper", "parameters"):
        table.add_column(heading, overflow="fold")
    for task in registry.list_tasks(USER_TASKS):
        source = registry.task_source(task.name, user_folder=USER_TASKS)
        table.add_row(
            task.name,
            "built-in" if source.startswith("built-in ") else source,
            task.category if isinstance(task, Described) else "",
            (task.paper_class or "") if isinstance(task, Described) else "",
            _assignments(task, longest=40),
        )
    console.print(table)


def print_task(console: "Console", name: str, *, params: Params, seed: int) -> None:
    """Print a task's first question, its reference and its parameters.

    Raises:
        UsageError: There is no such task, or it has no such parameter.
    """
    (task,) = registry.load_tasks([name], params=params, user_folder=USER_TASKS)
    (problem,) = generation.generate([name], params=params, user_folder=USER_TASKS, count=1, seed=seed, on_problem=None)
    facts = {
        "task": task.name,
        "source": registry.task_source(task.name, user_folder=USER_TASKS),
        "parameters": _assignments(task) or "none",
        f"question (seed {seed}, index {problem.index})": problem.question,
        "reference": "none kept" if problem.reference is None else problem.reference,
    }
    if isinstance(task, Described):
        facts |= {"category": task.category, "the paper's class": task.paper_class or "not in the paper"}
    for label, text in facts.items():
        console.print(f"{label}:", style="bold", markup=False)
        console.print(text.rstrip("\n"), markup=False, highlight=False, soft_wrap=True)


def _assignments(task: Task, *, longest: int | None = None) -> str:
    params: Mapping[str, object] = task.params if isinstance(task, Described) else {}
    values = {name: json.dumps(value, default=str) for name, value in params.items()}
    return ", ".join(
        f"{name}={text}" if longest is None or len(text) <= longest else f"{name}={text[:longest]}…"
        for name, text in values.items()
    )
