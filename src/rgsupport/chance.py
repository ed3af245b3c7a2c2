"""What guessing comes to, and whether a model does better: the floor under every pass@k curve."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from rgsupport.schemas import AT_CHANCE, FLOOR

LEVEL = 0.05
"""A model is at chance unless guesses reach its number of successes less often than this."""


def floor(outcomes: pl.DataFrame, chances: pl.DataFrame, ks: Sequence[int]) -> pl.DataFrame:
    """Return pass@k of guessing, 1 - (1 - p)^k averaged over the problems of each task.

    Args:
        outcomes: As in `schemas.OUTCOMES`; only task and problem_id are read.
        chances: Success probability of a guess on each problem, as in `schemas.CHANCES`.
        ks: Budgets.

    Returns:
        A table as in `schemas.FLOOR`; a task of which some problem has no chance is left out.
    """
    problems = outcomes.select("task", "problem_id").unique().sort("task", "problem_id")
    known = problems.join(chances, on="problem_id", how="left", validate="m:1")
    complete = known.filter(pl.col("chance").is_not_null().all().over("task"))
    curves = [
        complete.group_by("task", maintain_order=True).agg(
            pl.lit(k).alias("k"), pass_at_k=(-((-pl.col("chance")).log1p() * k).exp() + 1).mean()
        )
        for k in ks
    ]
    found = pl.concat([pl.DataFrame(schema=FLOOR.columns), *(_shape(curve, FLOOR.columns) for curve in curves)])
    return found.sort("task", "k")


def at_chance(outcomes: pl.DataFrame, chances: pl.DataFrame) -> pl.DataFrame:
    """Tell whether each model has more successes than guesses would have on the same problems.

    An exact test, one-sided: under guessing the successes on problem i are binomial with n_i samples and the known
    probability p_i, and their sum is compared with the model's. No success at all is no better than guessing.

    Args:
        outcomes: As in `schemas.OUTCOMES`.
        chances: As in `schemas.CHANCES`.

    Returns:
        A table as in `schemas.AT_CHANCE`; tasks of which some problem has no chance are left out.
    """
    known = outcomes.filter(pl.col("n") > 0).join(chances, on="problem_id", how="left", validate="m:1")
    complete = known.filter(pl.col("chance").is_not_null().all().over("task"))
    rows = [
        (*key, p, p > LEVEL)
        for key, group in complete.group_by("task", "model", "verdict", maintain_order=True)
        for p in [tail(group["n"].to_numpy(), group["chance"].to_numpy(), int(group["c"].sum()))]
    ]
    return pl.DataFrame(rows, schema=AT_CHANCE.columns, orient="row").sort(AT_CHANCE.key)


def tail(n: npt.ArrayLike, p: npt.ArrayLike, total: int) -> float:
    """Return the probability that a sum of independent binomials is at least `total`, to about 1e-12.

    By the characteristic function of the sum, at as many points as the sum has values.

    >>> round(tail([2, 2], [0.5, 0.5], 3), 12), tail([4], [0.0], 0), tail([4], [0.0], 1)
    (0.3125, 1.0, 0.0)

    Args:
        n: Numbers of trials.
        p: Success probability of each.
        total: Number of successes.
    """
    trials, chances = np.asarray(n, dtype=np.int64), np.asarray(p, dtype=np.float64)
    pairs, repeats = np.unique(np.stack([trials.astype(np.float64), chances]), axis=1, return_counts=True)
    values = int(trials.sum()) + 1
    turns = np.exp(2j * np.pi * np.arange(values) / values)
    logarithm = np.zeros(values, dtype=np.complex128)
    with np.errstate(divide="ignore"):  # a chance of one half is zero at the opposite point
        for (count, chance), times in zip(pairs.T, repeats, strict=True):
            logarithm += times * count * np.log(1 - chance + chance * turns)
    probabilities = np.fft.fft(np.exp(logarithm)).real / values
    return float(np.clip(probabilities[total:].sum(), 0.0, 1.0)) if total else 1.0


def _shape(frame: pl.DataFrame, columns: dict[str, pl.DataType | type[pl.DataType]]) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in columns.items())
