"""Columns, dtypes and keys of every table of a run; `check(frame, table)`."""

from dataclasses import dataclass

import polars as pl

from rgsupport.errors import StoreError
from rgsupport.types import Cause, FinishReason, Found, Status, SupportClass

ROLE = pl.Enum(["base", "rlvr"])
VERDICT = pl.Enum(["lenient", "strict", "checked"])
STATUS = pl.Enum([status.value for status in Status])
FINISH_REASON = pl.Enum([reason.value for reason in FinishReason])
FOUND = pl.Enum([found.value for found in Found])
CLASS = pl.Enum([name.value for name in SupportClass])
SCOPE = pl.Enum(["task", "category", "all"])
LABEL = pl.Enum(["E", "S"])
CAUSE = pl.Enum([cause.value for cause in Cause])
COUNT_KIND = pl.Enum(["expected", "realised"])


@dataclass(frozen=True, slots=True)
class Table:
    """The shape of one table.

    Attributes:
        name: What messages call it.
        columns: dtype of each column, in order.
        key: Columns whose values together are unique.
        nullable: Columns that may hold null; null always means "undefined", never zero.
    """

    name: str
    columns: dict[str, pl.DataType | type[pl.DataType]]
    key: tuple[str, ...]
    nullable: frozenset[str] = frozenset()


PROBLEMS = Table(
    "problems",
    {
        "task": pl.String,
        "position": pl.UInt32,  # order within the task, from 0: the first N positions are the problems of a run of N
        "problem_id": pl.String,
        "index": pl.UInt64,
        "question": pl.String,
        "reference": pl.String,
        "entry": pl.String,
    },
    key=("problem_id",),
    nullable=frozenset({"reference"}),
)

COMPLETIONS = Table(
    "completions",
    {
        "problem_id": pl.String,
        "sample_index": pl.UInt32,
        "seed": pl.Int64,
        "finish_reason": FINISH_REASON,
        "n_tokens": pl.UInt32,
        "text": pl.String,
        "cumulative_logprob": pl.Float64,  # `types.LogprobSummary`, in nats; null where it was not asked for
        "mean_logprob": pl.Float64,
        "entropy_low": pl.Float64,
        "entropy_high": pl.Float64,
    },
    key=("problem_id", "sample_index"),
    nullable=frozenset({"cumulative_logprob", "mean_logprob", "entropy_low", "entropy_high"}),
)

# Problems that cannot be judged as they stand; a function of the frozen problems and the verifiers.
SUSPECTS = Table(
    "suspects",
    {
        "task": pl.String,
        "problem_id": pl.String,
        "index": pl.UInt64,
        "kind": pl.String,  # such as "wrong reference"
        "detail": pl.String,
    },
    key=("problem_id",),
)

# How often a guess is right, of the problems of tasks that have a guesser; exact.
CHANCES = Table("chances", {"problem_id": pl.String, "chance": pl.Float64}, key=("problem_id",))

# One verdict per (model, problem, sample_index); the model is the folder. Small: what statistics need, without text.
VERDICTS = Table(
    "verdicts",
    {
        "problem_id": pl.String,
        "sample_index": pl.UInt32,
        "n_tokens": pl.UInt32,
        "lenient": STATUS,
        "strict": STATUS,
        "checked": STATUS,  # null where the task has no checker of its own
        "found": FOUND,  # where the lenient extraction found the answer
        "answer_hash": pl.UInt64,  # of the normalised lenient answer
        "text_hash": pl.UInt64,  # of the whole response, to count identical ones; null where nothing was sampled
    },
    key=("problem_id", "sample_index"),
    nullable=frozenset({"checked", "found", "answer_hash", "text_hash"}),
)

# Every (task, problem, model, verdict): how many samples, and what became of them. n is the sum of the seven statuses.
# Under `checked` only the problems of tasks with a checker of their own are there.
OUTCOMES = Table(
    "outcomes",
    {
        "task": pl.String,
        "problem_id": pl.String,
        "model": ROLE,
        "verdict": VERDICT,
        "n": pl.UInt32,
        "c": pl.UInt32,  # correct
        "wrong": pl.UInt32,
        "no_answer": pl.UInt32,
        "truncated": pl.UInt32,
        "prompt_too_long": pl.UInt32,
        "timeout": pl.UInt32,
        "error": pl.UInt32,
        "tokens": pl.UInt64,  # new tokens, summed over samples
        "n_responses": pl.UInt32,  # samples with a response: the prompt fitted and the engine did not abort it
        "n_distinct": pl.UInt32,  # different responses among them
    },
    key=("task", "problem_id", "model", "verdict"),
)

# Tasks of a run with the group they are pooled in; the order is the order of the tables.
TASKS = Table(
    "tasks",
    {"task": pl.String, "category": pl.String, "paper_class": CLASS},
    key=("task",),
    nullable=frozenset({"paper_class"}),
)

PASS_AT_K = Table(
    "pass_at_k",
    {
        "task": pl.String,
        "model": ROLE,
        "verdict": VERDICT,
        "k": pl.UInt32,
        "pass_at_k": pl.Float64,  # mean over problems; null unless every problem has n >= k
        "low": pl.Float64,  # 95% interval over the population of questions
        "high": pl.Float64,
        "n_defined": pl.UInt32,  # problems with n >= k
        "n_problems": pl.UInt32,
    },
    key=("task", "model", "verdict", "k"),
    nullable=frozenset({"pass_at_k", "low", "high"}),
)

SUPPORT = Table(
    "support",
    {
        "scope": SCOPE,
        "name": pl.String,  # task, category, or "all"
        "verdict": VERDICT,
        "k": pl.UInt32,
        "kind": COUNT_KIND,  # expected: k < n for some problem; realised: k = n everywhere
        "n_problems": pl.UInt32,
        "n_defined": pl.UInt32,  # problems with n >= k under both models
        "P": pl.Float64,  # null unless n_defined = n_problems, and so are the metrics
        "E": pl.Float64,
        "S": pl.Float64,
        "O": pl.Float64,
        "SRR": pl.Float64,
        "NDR": pl.Float64,
        "SDS": pl.Float64,
        "NSCR": pl.Float64,
    },
    key=("scope", "name", "verdict", "k"),
    nullable=frozenset({"P", "E", "S", "O", "SRR", "NDR", "SDS", "NSCR"}),
)

SHARES = Table(
    "shares",
    {
        "task": pl.String,
        "model": ROLE,
        "verdict": VERDICT,
        "n_problems": pl.UInt32,
        "n_samples": pl.UInt64,
        "pass_at_1": pl.Float64,  # mean over problems of c / n
        "pass_at_1_answered": pl.Float64,  # correct among the verified answers (correct + wrong); null without any
        "no_answer": pl.Float64,  # shares of all samples
        "truncated": pl.Float64,
        "prompt_too_long": pl.Float64,
        "timeout": pl.Float64,
        "error": pl.Float64,
        "mean_tokens": pl.Float64,
        "duplicates": pl.Float64,  # (n_responses - n_distinct) / (n_responses - 1); mean over problems with two or more
    },
    key=("task", "model", "verdict"),
    nullable=frozenset(
        {
            "pass_at_1",
            "pass_at_1_answered",
            "no_answer",
            "truncated",
            "prompt_too_long",
            "timeout",
            "error",
            "mean_tokens",
            "duplicates",
        }
    ),
)

# What guessing comes to on the tasks that have a guesser: pass@k, exactly, and whether a model does better.
FLOOR = Table(
    "floor",
    {"task": pl.String, "k": pl.UInt32, "pass_at_k": pl.Float64},
    key=("task", "k"),
)
AT_CHANCE = Table(
    "at_chance",
    {
        "task": pl.String,
        "model": ROLE,
        "verdict": VERDICT,
        "p": pl.Float64,  # chance that guesses have at least as many successes as the model
        "at_chance": pl.Boolean,
    },
    key=("task", "model", "verdict"),
)

# Every question that one model solves with all its samples and the other does not, and why.
ATTRIBUTION = Table(
    "attribution",
    {
        "task": pl.String,
        "problem_id": pl.String,
        "verdict": VERDICT,
        "label": LABEL,
        "cause": CAUSE,
        "c": pl.UInt32,  # correct samples of the model that solves it
    },
    key=("task", "problem_id", "verdict"),
)

CLASSES = Table(
    "classes",
    {
        "task": pl.String,
        "verdict": VERDICT,
        "K": pl.UInt32,  # largest k of the grid that every problem covers under both models
        "class": CLASS,
        "reason": pl.String,  # full_coverage, tie_below_full, no_success, base_leads_at_1, no_rlvr_lead_at_1, or ""
        "base_1": pl.Float64,
        "rlvr_1": pl.Float64,
        "base_K": pl.Float64,
        "rlvr_K": pl.Float64,
    },
    key=("task", "verdict"),
)


def check(frame: pl.DataFrame, table: Table, *, source: str) -> pl.DataFrame:
    """Return the frame unchanged if it is a table of this shape.

    Args:
        frame: Any frame.
        table: The shape it must have.
        source: What a message calls the frame, usually its file.

    Raises:
        StoreError: A column is missing, too many or of another dtype, a null stands where none may, a key repeats.
    """
    expected = {name: dtype if isinstance(dtype, pl.DataType) else dtype() for name, dtype in table.columns.items()}
    found = dict(frame.schema)
    if found != expected:
        wrong = sorted(name for name in found.keys() | expected.keys() if found.get(name) != expected.get(name))
        msg = f"{source} is not a table of {table.name}: column {wrong[0] if wrong else 'order'!r} is not as expected"
        raise StoreError(msg)
    for name in table.columns:
        if name not in table.nullable and frame[name].null_count():
            msg = f"{source} holds an empty value in column {name!r}, where none may be"
            raise StoreError(msg)
    if frame.height and frame.select(table.key).is_duplicated().any():
        msg = f"{source} holds the same {' and '.join(table.key)} twice"
        raise StoreError(msg)
    return frame
