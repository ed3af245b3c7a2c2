"""An analysis as the tables look at it: tasks in printing order, and every value by its key."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

import polars as pl

from rgsupport.support import Analysis
from rgsupport.types import ROLES, ModelRole, SupportClass, VerdictKind

Values = dict[str, Any]
"""One line of a frame: column -> value."""

NO_CLASS = "no class"


@dataclass(frozen=True, slots=True)
class View:
    """Values of an analysis under one headline verdict."""

    verdict: VerdictKind
    tasks: tuple[str, ...]
    """By nominal class (preservation, expansion, shrinkage, none), then as in the analysis."""
    budgets: tuple[int, ...]
    """Every k of the analysis, ascending."""
    task_values: dict[str, Values]
    classes: dict[str, Values]
    """Under the headline verdict; a task without a class is left out."""
    passes: dict[tuple[str, ModelRole, VerdictKind, int], Values]
    shares: dict[tuple[str, ModelRole, VerdictKind], Values]
    support: dict[tuple[str, str], Values]
    """(scope, name) -> values at the largest k with defined counts, under the headline verdict."""
    causes: dict[tuple[str, str, str], int]
    """(task, E or S, cause) -> questions, under the headline verdict, with all samples."""
    floor: dict[tuple[str, int], Values]
    """(task, k) -> pass@k of guessing; a task without a guesser is left out."""
    at_chance: dict[tuple[str, ModelRole], bool]
    """(task, model) -> whether it does no better than guessing, under the headline verdict."""
    preserved: dict[str, int]
    """Task -> questions that both models solve with all their samples, under the headline verdict."""

    def class_of(self, task: str) -> str:
        """Return the nominal class, or "no class"."""
        return self.classes[task]["class"] if task in self.classes else NO_CLASS

    def largest_budget(self, task: str) -> int | None:
        """Return K, the budget of the nominal class."""
        return self.classes[task]["K"] if task in self.classes else None

    def pass_at(self, task: str, *, model: ModelRole, verdict: VerdictKind, k: int | None) -> Values:
        """Return pass_at_k, low and high; an empty dictionary where nothing was sampled."""
        return {} if k is None else self.passes.get((task, model, verdict, k), {})


def view(analysis: Analysis, verdict: VerdictKind) -> View:
    """Return the values of an analysis by key, tasks in printing order."""
    classes = _by_key(analysis.classes.filter(verdict=verdict), "task")
    rank = {name.value: place for place, name in enumerate(SupportClass)}
    tasks = sorted(
        analysis.tasks["task"].to_list(),
        key=lambda task: rank[classes[task]["class"]] if task in classes else len(rank),
    )
    defined = analysis.support.filter(pl.col("P").is_not_null(), verdict=verdict).sort("k")
    return View(
        verdict=verdict,
        tasks=tuple(tasks),
        budgets=tuple(analysis.pass_at_k["k"].unique().sort().to_list()),
        task_values=_by_key(analysis.tasks, "task"),
        classes=classes,
        passes=_by_key(analysis.pass_at_k, "task", "model", "verdict", "k"),
        shares=_by_key(analysis.shares, "task", "model", "verdict"),
        support=_by_key(defined, "scope", "name"),
        causes=Counter(analysis.attribution.filter(verdict=verdict).select("task", "label", "cause").iter_rows()),
        floor=_by_key(analysis.floor, "task", "k"),
        at_chance={
            (task, model): flag
            for task, model, flag in analysis.at_chance.filter(verdict=verdict)
            .select("task", "model", "at_chance")
            .iter_rows()
        },
        preserved=Counter(_preserved(analysis.outcomes.filter(verdict=verdict))["task"]),
    )


def _preserved(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the questions that both models solve."""
    solved = outcomes.filter(pl.col("c") > 0).group_by("task", "problem_id").len()
    return solved.filter(pl.col("len") == len(ROLES))


def _by_key(frame: pl.DataFrame, *key: str) -> dict[Any, Values]:
    """Return the lines of a frame by the values of its key; of a repeated key, the last line."""
    return {
        line[key[0]] if len(key) == 1 else tuple(line[name] for name in key): line
        for line in frame.iter_rows(named=True)
    }
