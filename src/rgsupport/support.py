"""Outcomes of two models -> the result tables: pass@k, P/E/S/O with their metrics, shares and nominal classes."""

import itertools
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import polars as pl

from rgsupport import schemas
from rgsupport.attribution import attribute
from rgsupport.chance import at_chance, floor
from rgsupport.errors import UsageError
from rgsupport.estimators import coverage_interval, pass_at_k
from rgsupport.measures import ROUNDING, SupportCounts, classify, support_cells, support_metrics
from rgsupport.types import BASE, RLVR, ROLES


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result tables of two models on the same problems; each has the columns that `schemas` gives it."""

    tasks: pl.DataFrame
    outcomes: pl.DataFrame
    pass_at_k: pl.DataFrame
    support: pl.DataFrame
    shares: pl.DataFrame
    classes: pl.DataFrame
    attribution: pl.DataFrame
    floor: pl.DataFrame
    at_chance: pl.DataFrame


def analyze(
    outcomes: pl.DataFrame,
    tasks: pl.DataFrame,
    ks: Sequence[int],
    *,
    suspects: Collection[str] = (),
    chances: pl.DataFrame | None = None,
) -> Analysis:
    """Compare two models on the same problems at every budget of a grid.

    Every number is null where it is undefined: above all pass@k and support counts at a k that some problem was not
    sampled for, so that the set of problems never changes with k. A task with such a gap at every k has no class.
    Categories and the whole run are pooled as counts over problems, as in the paper's Table 1.

    Args:
        outcomes: Outcomes of both models, as in `schemas.OUTCOMES`, in any order.
        tasks: The tasks in the order of the tables, as in `schemas.TASKS`. Tasks with an empty category are pooled only
            over the whole run.
        ks: Budgets, strictly increasing from 1 or more.
        chances: How often a guess is right, as in `schemas.CHANCES`; None if it is known of no problem.
        suspects: Ids of problems that cannot be judged as they stand; a change on one of them is the verifier's.

    Raises:
        UsageError: The budgets do not increase, a model has no outcomes, the models were not asked the same problems,
            or a task of the outcomes is not among the tasks.
    """
    _check_budgets(ks)
    ordered = _order(outcomes, tasks)
    pairs = _pair(ordered).join(
        tasks.select(pl.col("task").cast(ordered.schema["task"]), "category"), on="task", how="left", validate="m:1"
    )
    curves = pl.concat([_at_budget(pairs, k) for k in ks])
    passes = pl.concat([_pass_at_k(curves, role) for role in ROLES]).sort("task", "model", "verdict", "k")
    shares = _shares(ordered)
    plain = _shape(ordered, schemas.OUTCOMES)
    known = pl.DataFrame(schema=schemas.CHANCES.columns) if chances is None else chances
    return Analysis(
        tasks=tasks,
        outcomes=plain,
        pass_at_k=_shape(passes, schemas.PASS_AT_K),
        support=_support(curves, tasks),
        shares=_shape(shares, schemas.SHARES),
        classes=_classes(passes, shares),
        attribution=attribute(plain, suspects),
        floor=floor(plain, known, ks),
        at_chance=at_chance(plain, known),
    )


def _check_budgets(ks: Sequence[int]) -> None:
    if not ks or ks[0] < 1 or any(later <= earlier for earlier, later in itertools.pairwise(ks)):
        msg = f"k must be a list of increasing budgets of at least 1, such as 1,2,4; got {','.join(map(str, ks))!r}"
        raise UsageError(msg)


def _order(outcomes: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    """Sort by key with the tasks in their own order: sums of floats then never depend on the order of the input."""
    unknown = sorted(set(outcomes["task"]) - set(tasks["task"]))
    if unknown:
        msg = f"outcomes of task {unknown[0]!r}, which is not among the tasks to analyze"
        raise UsageError(msg)
    return outcomes.with_columns(pl.col("task").cast(pl.Enum(tasks["task"]))).sort(schemas.OUTCOMES.key)


def _pair(outcomes: pl.DataFrame) -> pl.DataFrame:
    """Return the counts of both models side by side, one row per (task, problem, verdict)."""
    key = ["task", "problem_id", "verdict"]
    base, rlvr = (
        outcomes.filter(pl.col("model") == role).select(*key, pl.col("n", "c").name.prefix(f"{role}_"))
        for role in ROLES
    )
    for role, side in ((BASE, base), (RLVR, rlvr)):
        if side.is_empty():
            msg = f"there are no outcomes of the {role} model; sample and verify it first"
            raise UsageError(msg)
    for role, side, other in ((BASE, base, rlvr), (RLVR, rlvr, base)):
        alone = side.join(other, on=key, how="anti")
        if alone.height:
            problem = alone["problem_id"][0]
            msg = f"problem {problem} has outcomes of the {role} model only; analyze the problems that both were asked"
            raise UsageError(msg)
    return base.join(rlvr, on=key, how="inner", validate="1:1", maintain_order="left")


def _at_budget(pairs: pl.DataFrame, k: int) -> pl.DataFrame:
    """Add k, each model's pass@k and the chance of each support outcome; null where a model has n < k."""
    base, rlvr = (pass_at_k(pairs[f"{role}_n"].to_numpy(), pairs[f"{role}_c"].to_numpy(), k) for role in ROLES)
    values = {BASE: base, RLVR: rlvr, **support_cells(base, rlvr)._asdict()}
    return pairs.with_columns(
        pl.lit(k, dtype=pl.UInt32).alias("k"),
        *(pl.Series(name, column).fill_nan(None) for name, column in values.items()),
    )


def _pass_at_k(curves: pl.DataFrame, role: str) -> pl.DataFrame:
    grouped = curves.group_by("task", "verdict", "k", maintain_order=True).agg(
        pl.lit(role, dtype=schemas.ROLE).alias("model"),
        covered=pl.col(role).sum(),
        n_defined=pl.col(role).count(),
        n_problems=pl.len(),
        realised=(pl.col(f"{role}_n") == pl.col("k")).all(),
    )
    low, high = coverage_interval(grouped["covered"], grouped["n_problems"], realised=grouped["realised"])
    estimates = grouped.with_columns(
        pl.Series("low", low), pl.Series("high", high), pass_at_k=pl.col("covered") / pl.col("n_problems")
    )
    return estimates.with_columns(_where_complete("pass_at_k", "low", "high"))


def _where_complete(*columns: str) -> pl.Expr:
    """Keep the columns where every problem is defined; a mean over the others would be one over other questions."""
    return pl.when(pl.col("n_defined") == pl.col("n_problems")).then(pl.col(*columns))


def _support(curves: pl.DataFrame, tasks: pl.DataFrame) -> pl.DataFrame:
    categories = tasks["category"].unique(maintain_order=True)
    by_category = curves.filter(pl.col("category") != "").with_columns(pl.col("category").cast(pl.Enum(categories)))
    pools = pl.concat(
        [
            _pooled(curves, scope="task", name=pl.col("task")),
            _pooled(by_category, scope="category", name=pl.col("category")),
            _pooled(curves, scope="all", name=pl.lit("all")),
        ]
    )
    # Where some task of a pool has no checker, its checked counts would be those of other questions.
    return pools.filter(pl.col("n_problems") == pl.col("n_problems").max().over("scope", "name"))


def _pooled(curves: pl.DataFrame, *, scope: str, name: pl.Expr) -> pl.DataFrame:
    cells = SupportCounts._fields
    is_realised = (pl.col("base_n") == pl.col("k")) & (pl.col("rlvr_n") == pl.col("k"))
    counts = (
        curves.group_by(name.alias("name"), "verdict", "k", maintain_order=True)
        .agg(
            pl.col(*cells).sum(),
            pl.lit(scope).alias("scope"),
            kind=pl.when(is_realised.all()).then(pl.lit("realised")).otherwise(pl.lit("expected")),
            n_problems=pl.len(),
            n_defined=pl.col("P").count(),
        )
        .with_columns(_where_complete(*cells))
        .sort("name", "verdict", "k")
    )
    gap = counts.select((pl.sum_horizontal(*cells, ignore_nulls=False) - pl.col("n_problems")).abs().max()).item()
    assert gap is None or gap <= ROUNDING * curves.height, f"P + E + S + O misses the number of problems by {gap}"
    metrics = support_metrics(SupportCounts(*(counts[cell].to_numpy() for cell in cells)))
    with_metrics = counts.with_columns(
        pl.Series(metric, values).fill_nan(None) for metric, values in metrics._asdict().items()
    )
    return _shape(with_metrics, schemas.SUPPORT)


def _shares(outcomes: pl.DataFrame) -> pl.DataFrame:
    answered = (pl.col("c") + pl.col("wrong")).sum()
    samples = pl.col("n").cast(pl.UInt64).sum()
    repeats = pl.col("n_responses") - pl.col("n_distinct")
    return (
        outcomes.group_by("task", "model", "verdict", maintain_order=True)
        .agg(
            *(
                pl.when(samples > 0).then(pl.col(status).sum() / samples).alias(status)
                for status in ("no_answer", "truncated", "prompt_too_long", "timeout", "error")
            ),
            n_problems=pl.len(),
            n_samples=samples,
            pass_at_1=pl.when((pl.col("n") > 0).all()).then((pl.col("c") / pl.col("n")).mean()),
            pass_at_1_answered=pl.when(answered > 0).then(pl.col("c").sum() / answered),
            mean_tokens=pl.when(samples > 0).then(pl.col("tokens").sum() / samples),
            duplicates=pl.when(pl.col("n_responses") > 1)
            .then(repeats / (pl.col("n_responses").cast(pl.Float64) - 1))
            .mean(),
        )
        .sort("task", "model", "verdict")
    )


def _classes(passes: pl.DataFrame, shares: pl.DataFrame) -> pl.DataFrame:
    """Classify each task at the largest k that every problem covers under both models; no row without such a k."""
    at_1 = shares.pivot("model", index=["task", "verdict"], values="pass_at_1")
    at_largest = (
        passes.pivot("model", index=["task", "verdict", "k"], values="pass_at_k")
        .drop_nulls(ROLES)
        .sort("task", "verdict", "k")
        .group_by("task", "verdict", maintain_order=True)
        .last()
    )
    rows = at_largest.select("task", "verdict", K="k", base_K=BASE, rlvr_K=RLVR).join(
        at_1.select("task", "verdict", base_1=BASE, rlvr_1=RLVR), on=["task", "verdict"], how="left", validate="1:1"
    )
    classes = [
        classify(base_1=base_1, base_K=base_K, rlvr_1=rlvr_1, rlvr_K=rlvr_K)
        for base_1, base_K, rlvr_1, rlvr_K in rows.select("base_1", "base_K", "rlvr_1", "rlvr_K").iter_rows()
    ]
    classified = rows.with_columns(
        pl.Series("class", [found.name.value for found in classes], dtype=schemas.CLASS),
        pl.Series("reason", [found.reason for found in classes], dtype=pl.String),
    )
    return _shape(classified, schemas.CLASSES)


def _shape(frame: pl.DataFrame, table: schemas.Table) -> pl.DataFrame:
    return frame.select(pl.col(name).cast(dtype) for name, dtype in table.columns.items())
