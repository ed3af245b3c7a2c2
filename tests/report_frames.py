"""Analyses written down by hand, for tests of the reports: every frame has the shape that `schemas` fixes."""

import csv
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

import polars as pl

from rgsupport import schemas
from rgsupport.report import Provenance
from rgsupport.support import Analysis
from rgsupport.types import ROLES, VERDICT_KINDS

Numbers = tuple[float | None, ...]

PROVENANCE = Provenance(
    base="org/base_1.5B",
    rlvr="org/rlvr_1.5B",
    temperature=0.6,
    top_p=0.95,
    max_tokens=32768,
    problems=4,
    samples=4,
    seed=45,
    verdict="lenient",
)


@dataclass(frozen=True)
class TaskNumbers:
    """What the frames say about one task; strict numbers are half the lenient ones, and so are checked ones."""

    task: str
    name: str | None  # of the class; None leaves the task without
    base: Numbers  # pass@k, one per budget
    rlvr: Numbers
    reason: str = ""
    category: str = "graphs"
    paper_class: str | None = None
    kind: str = "expected"
    counts: Numbers = (None,) * 4
    metrics: Numbers = (None,) * 4
    shares: dict[str, Numbers] = field(default_factory=dict)  # column -> base, rlvr
    has_checker: bool = True

    @property
    def verdicts(self):
        return VERDICT_KINDS if self.has_checker else VERDICT_KINDS[:2]


def half(value):
    return None if value is None else value / 2


def last_defined(numbers):
    return max(
        (at for at in range(len(numbers.base)) if None not in (numbers.base[at], numbers.rlvr[at])), default=None
    )


def pass_lines(numbers, ks):
    for model in ROLES:
        for verdict in numbers.verdicts:
            for k, lenient in zip(ks, getattr(numbers, model), strict=True):
                value = lenient if verdict == "lenient" else half(lenient)
                yield {
                    "task": numbers.task,
                    "model": model,
                    "verdict": verdict,
                    "k": k,
                    "pass_at_k": value,
                    "low": None if value is None else max(0.0, value - 0.1),
                    "high": None if value is None else min(1.0, value + 0.1),
                    "n_defined": 3 if value is None else 4,
                    "n_problems": 4,
                }


def share_lines(numbers):
    names = (
        *("pass_at_1", "pass_at_1_answered", "no_answer", "truncated", "prompt_too_long", "timeout", "error"),
        *("mean_tokens", "duplicates"),
    )
    for place, model in enumerate(ROLES):
        for verdict in numbers.verdicts:
            lenient = {name: numbers.shares[name][place] if name in numbers.shares else None for name in names}
            lenient["pass_at_1"] = getattr(numbers, model)[0]
            values = lenient if verdict == "lenient" else {name: half(value) for name, value in lenient.items()}
            yield {"task": numbers.task, "model": model, "verdict": verdict, "n_problems": 4, "n_samples": 16} | values


def class_lines(numbers, ks):
    at = last_defined(numbers)
    if numbers.name is not None:
        for verdict in numbers.verdicts:
            yield {
                "task": numbers.task,
                "verdict": verdict,
                "K": ks[at],
                "class": numbers.name,
                "reason": numbers.reason,
                "base_1": numbers.base[0],
                "rlvr_1": numbers.rlvr[0],
                "base_K": numbers.base[at],
                "rlvr_K": numbers.rlvr[at],
            }


def support_line(scope, name, *, k, kind, counts, metrics, n_problems=4):
    return {
        "scope": scope,
        "name": name,
        "verdict": "lenient",
        "k": k,
        "kind": kind,
        "n_problems": n_problems,
        "n_defined": 0 if None in counts else n_problems,
        **dict(zip("PESO", counts, strict=True)),
        **dict(zip(("SRR", "NDR", "SDS", "NSCR"), metrics, strict=True)),
    }


def frame(lines, table):
    return schemas.check(pl.DataFrame(list(lines), schema=table.columns), table, source=table.name)


def build(tasks, ks, *, pooled=(), outcomes=(), attributed=(), floor=(), at_chance=()):
    """Return the analysis of some tasks at some budgets; lines that do not follow from the tasks are given."""
    support = [
        support_line("task", task.task, k=k, kind=task.kind, counts=task.counts, metrics=task.metrics)
        if at == last_defined(task)
        else support_line("task", task.task, k=k, kind="expected", counts=(None,) * 4, metrics=(None,) * 4)
        for task in tasks
        for at, k in enumerate(ks)
    ]
    return Analysis(
        tasks=frame(
            ({"task": task.task, "category": task.category, "paper_class": task.paper_class} for task in tasks),
            schemas.TASKS,
        ),
        outcomes=frame(outcomes, schemas.OUTCOMES),
        pass_at_k=frame((line for task in tasks for line in pass_lines(task, ks)), schemas.PASS_AT_K),
        support=frame([*support, *pooled], schemas.SUPPORT),
        shares=frame((line for task in tasks for line in share_lines(task)), schemas.SHARES),
        classes=frame((line for task in tasks for line in class_lines(task, ks)), schemas.CLASSES),
        attribution=frame(attributed, schemas.ATTRIBUTION),
        floor=frame(floor, schemas.FLOOR),
        at_chance=frame(at_chance, schemas.AT_CHANCE),
    )


def example():
    """Return three tasks: solved by both, shrunk, and one that a problem has no samples of; k=8 was not sampled."""
    shares = {
        "pass_at_1_answered": (0.4, 0.96),
        "no_answer": (0.3125, 0.0),
        "truncated": (0.0625, 0.0),
        "prompt_too_long": (0.0, 0.0),
        "timeout": (0.0, 0.0),
        "error": (0.0, 0.0004),
        "mean_tokens": (9412.4, 87.25),
        "duplicates": (0.0, 0.125),
    }
    tasks = (
        TaskNumbers("my_task", None, (None,) * 4, (None,) * 4, has_checker=False),
        TaskNumbers(
            "dice",
            "shrinkage",
            (0.1, 0.2, 0.35, None),
            (0.2, 0.25, 0.25, None),
            category="probability",
            paper_class="preservation",
            kind="realised",
            counts=(1.0, 0.0, 1.0, 2.0),
            metrics=(0.5, 0.0, 0.0, -0.5),
            shares=shares,
        ),
        TaskNumbers(
            "graph_color",
            "preservation",
            (0.25, 0.4375, 0.9996, None),
            (0.9, 1.0, 1.0, None),
            reason="full_coverage",
            paper_class="preservation",
            counts=(3.9984, 0.0016, 0.0, 0.0),
            metrics=(1.0, 0.0004, None, -0.0004),
            shares=shares,
            has_checker=False,
        ),
    )
    counts, metrics = (5.0, 0.25, 1.0, 5.75), (0.8333, 0.0476, 0.0901, -0.12)
    pooled = support_line("all", "all", k=2, kind="expected", counts=counts, metrics=metrics, n_problems=12)
    return build(tasks, (1, 2, 4, 8), pooled=[pooled])


def paper_tables():
    """Return the numbers of the paper's Tables 15-19 (k <= 16), the class of each task as the paper has it."""
    with (Path(__file__).parent / "data" / "paper_pass_at_k.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    return {
        (task, name): [(int(line["k"]), line["base"], line["rlvr"]) for line in group]
        for (task, name), group in groupby(lines, key=lambda line: (line["task"], line["paper_class"]))
    }


def paper_analysis():
    tasks = [
        TaskNumbers(
            task,
            name,
            tuple(float(base) for _, base, _ in numbers),
            tuple(float(rlvr) for _, _, rlvr in numbers),
            reason="full_coverage" if name == "preservation" else "",
            paper_class=name,
            counts=(1000.5, 100.5, 100.5, 100.5),
            metrics=(0.5, 0.5, 0.5, -0.5),
        )
        for (task, name), numbers in paper_tables().items()
    ]
    return build(tasks, (1, 2, 4, 8, 16))
