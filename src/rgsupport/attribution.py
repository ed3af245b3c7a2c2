"""Why a question is expanded or shrunk: the model, its format, its length, the verifier, or luck."""

from collections.abc import Collection

import polars as pl

from rgsupport.schemas import ATTRIBUTION, CAUSE, LABEL
from rgsupport.types import BASE, RLVR, ROLES, Cause

# What became of the samples of the model that does not solve a question -> the statuses that say so. Ties go to the
# first: it takes most samples, not some, to say that the answers were not the reason.
_STATUSES = {
    Cause.MODEL: ("wrong",),
    Cause.TRUNCATION: ("truncated", "prompt_too_long"),
    Cause.NO_ANSWER: ("no_answer",),
    Cause.FAILURE: ("timeout", "error"),
}


def attribute(outcomes: pl.DataFrame, suspects: Collection[str]) -> pl.DataFrame:
    """Name one cause for every question that exactly one of two models solves with all its samples.

    The first that applies: the verifier, the format, then what became of most samples of the model that does not solve
    it. So the causes of a task's E and S questions add up to their numbers.

    Args:
        outcomes: Outcomes of both models on the same problems under every kind of verdict, as in `schemas.OUTCOMES`.
        suspects: Ids of the problems that cannot be judged as they stand.

    Returns:
        A table as in `schemas.ATTRIBUTION`, sorted by its key; each kind of verdict has its own questions and causes.
    """
    counts = ["c", *(status for statuses in _STATUSES.values() for status in statuses)]
    key = ["task", "problem_id", "verdict"]
    sides = outcomes.filter(pl.col("n") > 0).with_columns(
        most_c=pl.col("c").max().over("task", "problem_id", "model"),
        checked_c=pl.col("c").filter(pl.col("verdict") == "checked").first().over("task", "problem_id", "model"),
    )
    base, rlvr = (
        sides.filter(pl.col("model") == role).select(*key, pl.col(*counts, "most_c", "checked_c").name.prefix(role))
        for role in ROLES
    )
    both = base.join(rlvr, on=key, how="inner", validate="1:1")
    expanded = _changed(both, label="E", winner=RLVR, loser=BASE, counts=counts)
    shrunk = _changed(both, label="S", winner=BASE, loser=RLVR, counts=counts)
    changed = pl.concat([expanded, shrunk]).with_columns(cause=_cause(suspects))
    return changed.select(pl.col(name).cast(dtype) for name, dtype in ATTRIBUTION.columns.items()).sort(ATTRIBUTION.key)


def _changed(both: pl.DataFrame, *, label: str, winner: str, loser: str, counts: list[str]) -> pl.DataFrame:
    """Return the questions that the winner alone solves, with its successes and what the loser's samples came to."""
    return both.filter((pl.col(f"{winner}c") > 0) & (pl.col(f"{loser}c") == 0)).select(
        "task",
        "problem_id",
        "verdict",
        pl.col(f"{winner}c").alias("c"),
        pl.col(f"{winner}checked_c").alias("checked_c"),
        pl.col(f"{loser}most_c").alias("loser_most_c"),
        *(pl.col(f"{loser}{name}").alias(name) for name in counts if name != "c"),
        label=pl.lit(label, dtype=LABEL),
    )


def _cause(suspects: Collection[str]) -> pl.Expr:
    sums = {cause: pl.sum_horizontal(*statuses) for cause, statuses in _STATUSES.items()}
    most = pl.max_horizontal(*sums.values())
    by_status = pl.lit(None, dtype=CAUSE)
    for cause, total in reversed(sums.items()):
        by_status = pl.when(total == most).then(pl.lit(cause.value, dtype=CAUSE)).otherwise(by_status)
    is_luck = (by_status == Cause.MODEL.value) & (pl.col("c") == 1)
    return (
        pl.when(pl.col("problem_id").is_in(list(suspects)) | (pl.col("checked_c") == 0))
        .then(pl.lit(Cause.VERIFIER.value, dtype=CAUSE))
        .when(pl.col("loser_most_c") > 0)
        .then(pl.lit(Cause.FORMAT.value, dtype=CAUSE))
        .when(is_luck)
        .then(pl.lit(Cause.ONE_SAMPLE.value, dtype=CAUSE))
        .otherwise(by_status)
    )
