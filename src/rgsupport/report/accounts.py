"""Analysis -> the tables behind the classes: support counts, both verdicts, and what became of the samples."""

import math
from collections import Counter
from collections.abc import Sequence

import numpy as np

from rgsupport.measures import SupportCounts, support_metrics
from rgsupport.report.layout import (
    DASH,
    LABELS,
    Cell,
    Column,
    Group,
    Provenance,
    Table,
    base_and_rlvr,
    fixed,
    listed,
    pair,
    plain,
    tokens,
    whole,
)
from rgsupport.report.view import View
from rgsupport.types import ROLES, VERDICT_KINDS, Cause, ModelRole, VerdictKind

COUNTS = ("P", "E", "S", "O")
METRICS = ("SRR", "NDR", "SDS", "NSCR")
_SHARES = ("no_answer", "truncated", "prompt_too_long", "timeout", "error")


def support_table(seen: View) -> Table:
    """Return P, E, S, O and their metrics per task, then pooled per category and over all tasks."""
    n_tasks = len(seen.tasks)
    sizes = Counter(seen.task_values[task]["category"] for task in seen.tasks)
    # A category of one task repeats its task, and one of all tasks repeats the last line.
    pooled = [
        ("category", name, f"{name} ({size} tasks)") for name, size in sizes.items() if name and 1 < size < n_tasks
    ]
    if n_tasks > 1:
        pooled.append(("all", "all", f"all ({n_tasks} tasks)"))
    per_task = tuple(_support_line(seen, scope="task", name=task, label=task) for task in seen.tasks)
    per_pool = tuple(_support_line(seen, scope=scope, name=name, label=label) for scope, name, label in pooled)
    return Table(
        name="support",
        title="Support",
        caption="Problems solved by both models (P), by RLVR alone (E), by Base alone (S), by neither (O), with k "
        "samples each. Realised: k is the number of samples. Expected: k is smaller, mean over all choices of k. "
        "SRR = P/(P+S), NDR = E/(P+E), SDS their harmonic mean, NSCR = (E-S)/(P+E+S). "
        "Pooled lines add the counts, at the largest k that all their problems cover. Dash: 0/0, or no such k.",
        groups=(
            Group((Column("task", "left"), Column("k"), Column("counts", "left"))),
            Group(tuple(Column(name) for name in COUNTS)),
            Group(tuple(Column(name) for name in METRICS)),
        ),
        sections=(per_task, per_pool) if per_pool else (per_task,),
    )


def _support_line(seen: View, *, scope: str, name: str, label: str) -> tuple[Cell, ...]:
    line = seen.support.get((scope, name), {})
    kind = line.get("kind", DASH)
    counts = [fixed(line.get(count), digits=0 if kind == "realised" else 1) for count in COUNTS]
    metrics = [fixed(line.get(metric)) for metric in METRICS]
    return tuple(Cell(text) for text in (plain(label), whole(line.get("k")), kind, *counts, *metrics))


def cause_table(seen: View) -> tuple[Table, ...]:
    """Return why questions were found or lost, and the metrics of what is the model's own; no table if none was."""
    if not seen.causes:
        return ()
    tasks = [task for task in seen.tasks if any(found == task for found, _, _ in seen.causes)]
    labels = {
        Cause.MODEL: "model",
        Cause.ONE_SAMPLE: "luck",
        Cause.FORMAT: "format",
        Cause.TRUNCATION: "cut",
        Cause.NO_ANSWER: "none",
        Cause.FAILURE: "failed",
        Cause.VERIFIER: "verifier",
    }
    sections = tuple(tuple(_cause_line(seen, task, label, tuple(labels)) for label in "ES") for task in tasks)
    return (
        Table(
            name="causes",
            title="Why questions were found or lost",
            caption="Questions that one model solves with all its samples and the other does not. Model: the other's "
            "answers are wrong. Luck: so they are, but the solver was right only once. Format: the other's answer is "
            "right under another verdict. Cut, none, failed: most of the other's samples were cut, had no answer, or "
            "verifier or engine failed. Verifier: the question is suspect, or the task's own checker finds no success "
            "right. Rate: SRR in the line of S and NDR in that of E, of all and of the model's alone. Dash: 0/0.",
            groups=(
                Group((Column("task", "left"), Column("change"))),
                Group((Column("all"),)),
                Group(tuple(Column(label) for label in labels.values())),
                Group((Column("rate"), Column("model's"))),
            ),
            sections=sections,
        ),
    )


def _cause_line(seen: View, task: str, label: str, causes: Sequence[Cause]) -> tuple[Cell, ...]:
    counts = [seen.causes.get((task, label, cause), 0) for cause in causes]
    both = seen.preserved.get(task, 0)
    own = counts[causes.index(Cause.MODEL)]
    rates = [_rate(both, changed, label) for changed in (sum(counts), own)]
    texts = (plain(task), label, whole(sum(counts)), *map(whole, counts), *rates)
    return tuple(Cell(text) for text in texts)


def _rate(both: int, changed: int, label: str) -> str:
    """Return SRR of the questions the base model solves, or NDR of those the RLVR model solves."""
    expanded, shrunk = (changed, 0) if label == "E" else (0, changed)
    metrics = support_metrics(SupportCounts(*np.array([[both], [expanded], [shrunk], [0]], dtype=np.float64)))
    rate = float((metrics.NDR if label == "E" else metrics.SRR)[0])
    return fixed(None if math.isnan(rate) else rate)


def verdict_tables(seen: View) -> tuple[Table, Table]:
    """Return pass@1, and pass@K, by the lenient, the strict and the checked verdict side by side."""
    names = Group((Column("task", "left"),))
    at_1 = Table(
        name="verdicts",
        title="Pass@1 by verdict",
        caption="Lenient finds the answer as the paper does; strict is Reasoning Gym's own extraction and scorer; "
        "checked asks the task's own checker about the answer that lenient found. If answered: correct among the "
        "answers found. Dash: no answer, or no checker.",
        groups=(
            names,
            base_and_rlvr("lenient"),
            base_and_rlvr("lenient if answered"),
            base_and_rlvr("strict"),
            base_and_rlvr("checked"),
        ),
        sections=(tuple(_first_line(seen, task) for task in seen.tasks),),
    )
    at_largest = Table(
        name="verdicts",
        title="Pass@K by verdict",
        caption="K as in the classes. Dash: no K, or no checker.",
        groups=(names, *(base_and_rlvr(verdict) for verdict in VERDICT_KINDS)),
        sections=(tuple(_last_line(seen, task) for task in seen.tasks),),
    )
    return at_1, at_largest


def _first_line(seen: View, task: str) -> tuple[Cell, ...]:
    lenient, *others = VERDICT_KINDS
    cells = [Cell(plain(task)), *_shares(seen, task, verdict=lenient, column="pass_at_1")]
    cells += _shares(seen, task, verdict=lenient, column="pass_at_1_answered")
    for verdict in others:
        cells += _shares(seen, task, verdict=verdict, column="pass_at_1")
    return tuple(cells)


def _last_line(seen: View, task: str) -> tuple[Cell, ...]:
    pairs = [_at_largest(seen, task, verdict=verdict) for verdict in VERDICT_KINDS]
    return (Cell(plain(task)), *(cell for both in pairs for cell in both))


def _shares(seen: View, task: str, *, verdict: VerdictKind, column: str) -> tuple[Cell, Cell]:
    base, rlvr = (seen.shares.get((task, model, verdict), {}).get(column) for model in ROLES)
    return pair(fixed(base), fixed(rlvr))


def _at_largest(seen: View, task: str, *, verdict: VerdictKind) -> tuple[Cell, Cell]:
    k = seen.largest_budget(task)
    base, rlvr = (seen.pass_at(task, model=model, verdict=verdict, k=k).get("pass_at_k") for model in ROLES)
    return pair(fixed(base), fixed(rlvr))


def outcome_table(seen: View) -> Table:
    """Return how many samples there are, the shares that ended without a verified answer, and their mean length."""
    return Table(
        name="outcomes",
        title="What became of the samples",
        caption=f"Shares of all samples ({seen.verdict} verdict); none is left out of pass@k. Cut: by the token limit, "
        "before an answer. Too long: the prompt did not fit the context. Timeout, error: of the verifier, or of the "
        "engine. Tokens: mean new tokens. Same: share of responses, after a problem's first, that repeat one before. "
        "Dash: no samples.",
        groups=(
            Group((Column("task", "left"), Column("model", "left"))),
            Group((Column("samples"),)),
            Group((Column("no answer"), Column("cut"), Column("too long"))),
            Group((Column("timeout"), Column("error"))),
            Group((Column("tokens"), Column("same"))),
        ),
        sections=(tuple(_outcome_line(seen, task, model=model) for task in seen.tasks for model in ROLES),),
    )


def _outcome_line(seen: View, task: str, *, model: ModelRole) -> tuple[Cell, ...]:
    line = seen.shares.get((task, model, seen.verdict), {})
    shares = [fixed(line.get(column)) for column in _SHARES]
    counts = whole(line.get("n_samples"))
    tail = (tokens(line.get("mean_tokens")), fixed(line.get("duplicates")))
    texts = (plain(task), LABELS[model], counts, *shares, *tail)
    return tuple(Cell(text) for text in texts)


def suspect_table(provenance: Provenance) -> tuple[Table, ...]:
    """Return which questions cannot be judged as they stand, by task and kind; no table if there are none."""
    if not provenance.suspects:
        return ()
    fate = (
        "left out of every table" if provenance.excluded else "counted as any other; --exclude-suspect leaves them out"
    )
    lines = tuple(
        tuple(
            Cell(text)
            for text in (plain(found.task), plain(found.kind), whole(len(found.indices)), listed(found.indices))
        )
        for found in provenance.suspects
    )
    return (
        Table(
            name="suspects",
            title="Suspect questions",
            caption=f"Questions that cannot be judged as they stand ({fate}), by their index in the task's source.",
            groups=(
                Group((Column("task", "left"),)),
                Group((Column("why", "left"), Column("questions"))),
                Group((Column("indices", "left"),)),
            ),
            sections=(lines,),
        ),
    )
