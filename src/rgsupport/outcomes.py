"""Verdicts -> the outcome table: for every problem, how many samples, and what became of them."""

from collections.abc import Collection

import polars as pl

from rgsupport.errors import EngineError, StoreError
from rgsupport.schemas import OUTCOMES, ROLE, VERDICT
from rgsupport.types import VERDICT_KINDS, ModelRole, Status, VerdictKind

IDENTICAL_TOKENS = 500
"""Tokens drawn again without one difference that are no chance: even at 0.02 nats per token, once in 20,000 runs."""
IDENTICAL_PROBLEMS = 5
"""Problems on which that must have happened: of a single easy one a model may be sure."""

# c is what Chen et al. call the number of correct samples; the other statuses keep their names.
COLUMN_OF_STATUS: dict[Status, str] = {status: "c" if status is Status.CORRECT else status.value for status in Status}


def outcomes(
    verdicts: pl.DataFrame | pl.LazyFrame,
    problems: pl.DataFrame,
    *,
    model: ModelRole,
    checked: Collection[str],
    samples: int | None = None,
) -> pl.DataFrame:
    """Count the verdicts of one model on each of the problems, under every kind of verdict.

    Verdicts are joined by problem id, never by position, so their order does not matter. A problem without a verdict is
    there with n = 0, so that it shows; verdicts of problems that are not asked for are left out.

    Args:
        verdicts: One row per sample, as in `schemas.VERDICTS`.
        problems: The problems asked for, as in `schemas.PROBLEMS`; only task and problem_id are read.
        model: Whose verdicts they are.
        checked: Tasks that have a checker of their own; only their problems are counted under `checked`.
        samples: Count only the samples with a sample_index below it; None counts all.

    Returns:
        A table as in `schemas.OUTCOMES`, in the order of its key; n is the sum of the seven statuses.

    Raises:
        StoreError: A sample has more than one verdict.
    """
    asked = problems.lazy().select("task", "problem_id")
    rows = verdicts.lazy().join(asked.select("problem_id"), on="problem_id", how="semi")
    if samples is not None:
        rows = rows.filter(pl.col("sample_index") < samples)
    counts = _count(rows).collect()
    _refuse_repeats(counts, model)
    judged = dict.fromkeys(VERDICT_KINDS, problems) | {"checked": problems.filter(pl.col("task").is_in(list(checked)))}
    complete = [
        asked_of.select("task", "problem_id", verdict=pl.lit(kind, dtype=VERDICT)).join(
            counts.filter(pl.col("verdict") == kind), on=["problem_id", "verdict"], how="left", validate="1:1"
        )
        for kind, asked_of in judged.items()
    ]
    return (
        pl.concat(complete)
        .with_columns(pl.lit(model, dtype=ROLE).alias("model"))
        .select(
            pl.col(name).cast(dtype).fill_null(0) if dtype.is_numeric() else name
            for name, dtype in OUTCOMES.columns.items()
        )
        .sort(OUTCOMES.key)
    )


def _count(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Count each kind's statuses per problem, and how many different samples there are."""

    def counted(kind: VerdictKind) -> pl.LazyFrame:
        return rows.group_by("problem_id").agg(
            pl.lit(kind, dtype=VERDICT).alias("verdict"),
            *((pl.col(kind) == status.value).sum().alias(column) for status, column in COLUMN_OF_STATUS.items()),
            n=pl.len(),
            n_different=pl.col("sample_index").n_unique(),
            n_responses=pl.col("text_hash").count(),
            n_distinct=pl.col("text_hash").drop_nulls().n_unique(),
            tokens=pl.col("n_tokens").cast(pl.UInt64).sum(),
        )

    return pl.concat([counted(kind) for kind in VERDICT_KINDS])


def _refuse_repeats(counts: pl.DataFrame, model: ModelRole) -> None:
    repeated = counts.filter(pl.col("n") != pl.col("n_different"))
    if repeated.height:
        problem = repeated["problem_id"].min()
        msg = f"the {model} model has two verdicts on one sample of problem {problem}; delete them and verify again"
        raise StoreError(msg)


def refuse_identical(outcomes: pl.DataFrame) -> None:
    """Refuse the samples of a model that gave the same response to a problem every time, on every problem.

    Args:
        outcomes: As in `schemas.OUTCOMES`, of one model.

    Raises:
        EngineError: Names the likely cause; not for fewer than `IDENTICAL_TOKENS` tokens or `IDENTICAL_PROBLEMS`
            problems, which may be chance.
    """
    repeated = outcomes.filter((pl.col("verdict") == VERDICT_KINDS[0]) & (pl.col("n_responses") > 1))
    again = pl.col("n_responses") - 1
    tokens = float(repeated.select((pl.col("tokens") / pl.col("n_responses") * again).sum()).item())
    enough = tokens >= IDENTICAL_TOKENS and repeated.height >= IDENTICAL_PROBLEMS
    if enough and repeated["n_distinct"].max() == 1:
        repeats = int(repeated.select(again.sum()).item())
        raise EngineError(identical_responses(repeats=repeats, tokens=round(tokens)))


def identical_responses(*, repeats: int, tokens: int) -> str:
    """Return the line that says that sampling is at fault."""
    return (
        f"all {repeats} repeated responses are identical to the first of their problem ({tokens} tokens drawn again "
        "without one difference): the engine or server ignores the seed or the temperature, so these are not samples; "
        "mend that and start anew with --out, or, if the model really is that sure, ask for --k 1"
    )
