"""Tables for the tests of the statistics: reference numbers, and outcomes made from counts."""

import json
from fractions import Fraction
from pathlib import Path

import polars as pl

from rgsupport import schemas
from rgsupport.types import Status

VECTORS = json.loads((Path(__file__).parent / "data" / "vectors.json").read_text(encoding="utf-8"))


def number(text):
    """Return a reference number as a float, None as NaN."""
    return float("nan") if text is None else float(Fraction(text))


def table(rows, shape):
    return pl.DataFrame(rows, schema=dict(shape.columns), orient="row")


def problem_table(tasks_of_problems):
    """Problems from {problem_id: task}."""
    rows = [(task, i, problem, i, problem, None, "{}") for i, (problem, task) in enumerate(tasks_of_problems.items())]
    return table(rows, schemas.PROBLEMS)


def task_table(*tasks, category="games"):
    return table([(task, category, None) for task in tasks], schemas.TASKS)


def verdict_table(statuses, *, strict=None, checked=None, texts=None):
    """Verdicts from {problem_id: lenient statuses in sample order}; strict ones alike and texts distinct unless given.

    Without `checked` statuses there was no checker.

    `texts` are hashes of responses, likewise; None where nothing was sampled.
    """
    strict = statuses if strict is None else strict
    rows = [
        (
            problem,
            i,
            10 + i,
            lenient,
            strict[problem][i],
            checked and checked[problem][i],
            None,
            None,
            i if texts is None else texts[problem][i],
        )
        for problem, of_problem in statuses.items()
        for i, lenient in enumerate(of_problem)
    ]
    return table(rows, schemas.VERDICTS)


def solved(c, n):
    """Statuses of n samples of which the last c are correct."""
    return [Status.WRONG] * (n - c) + [Status.CORRECT] * c


def outcome_table(counts, *, task="dice", verdicts=("lenient", "strict")):
    """Outcomes of both models from [(base n, base c, rlvr n, rlvr c) of each problem]."""
    rows = [
        (task, f"{task}-{i:05}", model, verdict, n, c, n - c, 0, 0, 0, 0, 0, 7 * n, n, n)
        for i, (base_n, base_c, rlvr_n, rlvr_c) in enumerate(counts)
        for model, n, c in (("base", base_n, base_c), ("rlvr", rlvr_n, rlvr_c))
        for verdict in verdicts
    ]
    return table(rows, schemas.OUTCOMES)
