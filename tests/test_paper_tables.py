"""The printed metrics of the paper's Tables 1 and 4 follow from their counts, by way of verdicts and outcomes."""

import polars as pl
import pytest

from counts import VECTORS, number, problem_table, solved, task_table, verdict_table
from rgsupport.outcomes import outcomes
from rgsupport.support import analyze

TABLE_1 = [row for row in VECTORS["paper_support_tables"] if row["table"] == 1]
TABLE_4 = [row for row in VECTORS["paper_support_tables"] if row["table"] == 4]
METRICS = ("SRR", "NDR", "SDS", "NSCR")
# Which model solves a problem of each outcome.
IS_SOLVED = {"P": (True, True), "E": (False, True), "S": (True, False), "O": (False, False)}


def analyzed(rows_by_task, *, n, tasks):
    """Analyze problems with the counts of each row at k = n: n samples, the last one correct where it is solved."""
    cell_of, task_of = {}, {}
    for task, row in rows_by_task.items():
        problems = {f"{task}-{cell}-{i}": cell for cell in "PESO" for i in range(row[cell])}
        cell_of |= problems
        task_of |= dict.fromkeys(problems, task)
    frames = []
    for i, model in enumerate(("base", "rlvr")):
        verdicts = verdict_table({problem: solved(int(IS_SOLVED[cell][i]), n) for problem, cell in cell_of.items()})
        frames.append(outcomes(verdicts, problem_table(task_of), checked=(), model=model, samples=n))
    return analyze(pl.concat(frames), tasks, [n])


def assert_equals_the_paper(support, row, *, digits):
    assert support["kind"] == "realised"
    assert [support[cell] for cell in "PESO"] == [row[cell] for cell in "PESO"]
    for name in METRICS:
        assert support[name] == pytest.approx(number(row[name]), rel=1e-12)
        assert round(support[name], digits) == row["printed"][name], name


@pytest.mark.parametrize("model", ["ProRL-1.5B-v1", "ProRL-1.5B-v2"])
def test_table_1_follows_from_its_counts_and_its_overall_row_is_the_pooled_one(model):
    rows = {row["domain"]: row for row in TABLE_1 if row["model"] == model}
    tasks = pl.concat([task_table("math", category="Math"), task_table("other", category="Non-Math")])
    found = analyzed({"math": rows["Math"], "other": rows["Non-Math"]}, n=2, tasks=tasks)
    support = found.support.filter(verdict="lenient")
    for scope, name, domain in (
        ("task", "math", "Math"),
        ("task", "other", "Non-Math"),
        ("category", "Math", "Math"),
        ("category", "Non-Math", "Non-Math"),
        ("all", "all", "Overall"),
    ):
        line = support.row(by_predicate=(pl.col("scope") == scope) & (pl.col("name") == name), named=True)
        assert_equals_the_paper(line, rows[domain], digits=2)
        assert line["n_problems"] == rows[domain]["N"]
    assert found.classes.filter(verdict="lenient")["class"].to_list() == ["shrinkage", "shrinkage"]


@pytest.mark.parametrize("row", TABLE_4, ids=lambda row: f"{row['dataset']}-step-{row['step']}")
def test_table_4_follows_from_its_counts(row):
    found = analyzed({"aime": row}, n=256, tasks=task_table("aime"))
    support = found.support.row(by_predicate=(pl.col("scope") == "task") & (pl.col("verdict") == "lenient"), named=True)
    assert_equals_the_paper(support, row, digits=3)
    coverage = dict(found.pass_at_k.filter(verdict="lenient", k=256).select("model", "pass_at_k").iter_rows())
    assert coverage["base"] == pytest.approx(number(row["base_coverage"]), rel=1e-12)
    assert round(100 * coverage["rlvr"], 2) == row["printed_pass256"]


def test_both_tables_are_here_in_full():
    assert (len(TABLE_1), len(TABLE_4)) == (6, 8)
