"""Analysis -> the tables of a report: the class of each task, pass@k with a pair of columns per task, intervals."""

from collections import Counter

from rgsupport.report.accounts import cause_table, outcome_table, support_table, suspect_table, verdict_tables
from rgsupport.report.layout import (
    DASH,
    LABELS,
    Cell,
    Column,
    Group,
    Provenance,
    Report,
    Table,
    base_and_rlvr,
    fixed,
    interval,
    pair,
    plain,
    whole,
)
from rgsupport.report.view import NO_CLASS, View, view
from rgsupport.support import Analysis
from rgsupport.types import ROLES, SupportClass

TASKS_PER_TABLE = 3
"""Pairs of columns side by side, as in the paper's Tables 15-19; three of the longest names fit into 100 columns."""

REASONS = {
    ("preservation", "full_coverage"): "both reach 1.000 at K",
    ("preservation", "tie_below_full"): "equal at K, below 1.000",
    ("preservation", "no_success"): "neither solves any problem",
    ("expansion", ""): "RLVR ahead at K",
    ("expansion", "base_leads_at_1"): "RLVR ahead at K, not at k=1",
    ("shrinkage", ""): "RLVR ahead at k=1, Base at K",
    ("shrinkage", "no_rlvr_lead_at_1"): "Base ahead at K, RLVR not at k=1",
}
"""(class, reason of the analysis) -> what it means."""


def build_report(analysis: Analysis, provenance: Provenance) -> Report:
    """Return everything that is printed about an analysis.

    Args:
        analysis: Result tables of a run.
        provenance: Models and sampling; its verdict is the one shown where a table shows only one.
    """
    seen = view(analysis, provenance.verdict)
    return Report(
        headline=headline(seen),
        setting=setting(provenance, seen.budgets),
        tables=(
            class_table(seen),
            *pass_at_k_tables(seen),
            interval_table(seen),
            *chance_table(seen),
            support_table(seen),
            *cause_table(seen),
            *verdict_tables(seen),
            outcome_table(seen),
            *suspect_table(provenance),
        ),
    )


def headline(seen: View) -> str:
    """Return the line that matters: how many tasks of which class, at which budget."""
    counts = Counter(seen.class_of(task) for task in seen.tasks)
    parts = [f"{counts[name.value]} {name.value}" for name in SupportClass if counts[name.value]]
    if counts[NO_CLASS]:
        parts.append(f"{counts[NO_CLASS]} without class")
    budgets = sorted({line["K"] for line in seen.classes.values()})
    subject = f"{len(seen.tasks)} task{'' if len(seen.tasks) == 1 else 's'}"
    if not budgets:
        return f"{subject}, none with a class: no budget covers every problem under both models"
    at = f"K={budgets[0]}" if len(budgets) == 1 else f"K={budgets[0]} to {budgets[-1]}"
    return f"{subject}: {', '.join(parts)} at {at} (nominal; see the intervals)"


def setting(provenance: Provenance, budgets: tuple[int, ...]) -> str:
    """Return models, numbers of problems and samples, budgets and sampling parameters in a few sentences."""
    unequal = f" The models were sampled with unequal {', '.join(provenance.unequal)}." if provenance.unequal else ""
    gap = f" Samples still missing from this plan: {provenance.missing}." if provenance.missing else ""
    return (
        f"Base: {plain(provenance.base)}. RLVR: {plain(provenance.rlvr)}. "
        f"Problems per task: {provenance.problems}; samples per problem and model: {provenance.samples}; "
        f"k: {', '.join(str(k) for k in budgets)}. "
        f"Sampling: temperature {provenance.temperature:g}, top-p {provenance.top_p:g}, "
        f"at most {provenance.max_tokens} new tokens, seed {provenance.seed}. "
        f"Verdict: {provenance.verdict}.{unequal}{gap}{_suspicion(provenance)}"
    )


def _suspicion(provenance: Provenance) -> str:
    """Return the sentence about the questions that cannot be judged; empty if there are none."""
    count = sum(len(suspects.indices) for suspects in provenance.suspects)
    if not count:
        return ""
    what = "left out of every table" if provenance.excluded else "counted as any other"
    return f" Suspect questions: {count}, {what}."


def class_table(seen: View) -> Table:
    """Return the nominal class of each task, why, and at which budget, beside the paper's class."""
    columns = (Column("class", "left"), Column("because", "left"), Column("K"), Column("paper", "left"))
    lines = tuple(_class_line(seen, task) for task in seen.tasks)
    return Table(
        name="classes",
        title="Class of each task",
        caption="Nominal class by the two pass@k curves up to K, the largest budget that every problem covers under "
        "both models. Paper: the class in the paper. Dash: none.",
        groups=(Group((Column("task", "left"),)), *(Group((column,)) for column in columns)),
        sections=(lines,),
    )


def _class_line(seen: View, task: str) -> tuple[Cell, ...]:
    paper_class = seen.task_values[task]["paper_class"] or DASH
    if task not in seen.classes:
        return tuple(Cell(text) for text in (plain(task), NO_CLASS, DASH, DASH, paper_class))
    line = seen.classes[task]
    because = REASONS[line["class"], line["reason"]]
    return tuple(Cell(text) for text in (plain(task), line["class"], because, whole(line["K"]), paper_class))


def pass_at_k_tables(seen: View) -> tuple[Table, ...]:
    """Return pass@k with k down and a pair of columns per task, three tasks to a table, tasks grouped by class."""
    chunks = [seen.tasks[start : start + TASKS_PER_TABLE] for start in range(0, len(seen.tasks), TASKS_PER_TABLE)]
    return tuple(
        Table(
            name="pass_at_k",
            title="Pass@k" if len(chunks) == 1 else f"Pass@k ({number} of {len(chunks)})",
            caption="Mean over problems of the unbiased estimate, rounded: 0.9996 prints as 1.000. "
            "Dash: not every problem has k samples.",
            groups=(Group((Column("k"),)), *(base_and_rlvr(seen.class_of(task), plain(task)) for task in chunk)),
            sections=(tuple(_budget_line(seen, chunk, k=k) for k in seen.budgets),),
        )
        for number, chunk in enumerate(chunks, start=1)
    )


def _budget_line(seen: View, tasks: tuple[str, ...], *, k: int) -> tuple[Cell, ...]:
    cells = [Cell(str(k))]
    for task in tasks:
        base, rlvr = (seen.pass_at(task, model=model, verdict=seen.verdict, k=k) for model in ROLES)
        cells += pair(fixed(base.get("pass_at_k")), fixed(rlvr.get("pass_at_k")))
    return tuple(cells)


def interval_table(seen: View) -> Table:
    """Return pass@1, and pass@K with its 95% interval, of both models."""
    return Table(
        name="intervals",
        title="Pass@1 and pass@K",
        caption="In brackets the 95% interval over the population of questions; where the two overlap widely, the "
        "class may be chance. Dash: no K.",
        groups=(
            Group((Column("task", "left"), Column("K"))),
            base_and_rlvr("pass@1"),
            base_and_rlvr("pass@K"),
        ),
        sections=(tuple(_interval_line(seen, task) for task in seen.tasks),),
    )


def chance_table(seen: View) -> tuple[Table, ...]:
    """Return what guessing comes to beside the models, and which of them does no better; no table without a guesser."""
    tasks = [task for task in seen.tasks if any(known == task for known, _ in seen.floor)]
    if not tasks:
        return ()
    return (
        Table(
            name="chance",
            title="The floor of chance",
            caption="Guess: pass@k of drawing answers at random, as each task's file says, without reasoning; exact. "
            "At chance: guesses reach the model's number of correct samples with probability above 0.05. At a large "
            "K a guesser solves questions, too: what a model solves there says little where the guess is near it.",
            groups=(
                Group((Column("task", "left"), Column("K"))),
                Group((Column("guess"), *base_and_rlvr().columns), ("pass@1",)),
                Group((Column("guess"), *base_and_rlvr().columns), ("pass@K",)),
                Group((Column("at chance", "left"),)),
            ),
            sections=(tuple(_chance_line(seen, task) for task in tasks),),
        ),
    )


def _chance_line(seen: View, task: str) -> tuple[Cell, ...]:
    line = seen.classes.get(task, {})
    largest = line.get("K")
    cells = [Cell(plain(task)), Cell(whole(largest))]
    for name, k in (("1", seen.budgets[0] if seen.budgets[0] == 1 else None), ("K", largest)):
        guess = {} if k is None else seen.floor.get((task, k), {})
        texts = (guess.get("pass_at_k"), *(line.get(f"{model}_{name}") for model in ROLES))
        cells += [Cell(fixed(value)) for value in texts]
    named = [LABELS[model] for model in ROLES if seen.at_chance.get((task, model))]
    return (*cells, Cell(" and ".join(named) or "none"))


def _interval_line(seen: View, task: str) -> tuple[Cell, ...]:
    line = seen.classes.get(task, {})
    k = line.get("K")
    cells = [Cell(plain(task)), Cell(whole(k)), *pair(fixed(line.get("base_1")), fixed(line.get("rlvr_1")))]
    for model in ROLES:
        at_k = seen.pass_at(task, model=model, verdict=seen.verdict, k=k)
        cells.append(Cell(interval(line.get(f"{model}_K"), low=at_k.get("low"), high=at_k.get("high"))))
    return tuple(cells)
