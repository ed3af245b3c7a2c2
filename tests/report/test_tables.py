from dataclasses import replace

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from counts import outcome_table, task_table
from report_frames import PROVENANCE, TaskNumbers, build, example, paper_analysis, paper_tables, support_line
from rgsupport import schemas
from rgsupport.report import Suspects, build_report
from rgsupport.report.layout import fixed, interval, pair
from rgsupport.report.tables import REASONS, TASKS_PER_TABLE
from rgsupport.support import analyze, classify
from rgsupport.types import ROLES, SupportClass

KS = (1, 2, 4)
CLASSES = [name.value for name in SupportClass]
VALUES = st.one_of(st.none(), st.floats(0, 1))


@st.composite
def analyses(draw):
    """Tasks of every class and none, with any numbers; a task with a class has numbers at k=1."""
    tasks = []
    for at in range(draw(st.integers(1, 8))):
        name = draw(st.sampled_from([*CLASSES, None]))
        first = st.floats(0, 1) if name else st.none()
        base, rlvr = ((draw(first), draw(VALUES), draw(VALUES)) for _ in ROLES)
        reason = "full_coverage" if name == "preservation" else ""
        tasks.append(TaskNumbers(f"task_{at}", name, base, rlvr, reason=reason, category=draw(st.sampled_from("ab"))))
    return build(tasks, KS)


def tables_named(report, name):
    return [table for table in report.tables if table.name == name]


def texts(table):
    return [[cell.text for cell in line] for line in table.lines]


def printed_pass_at_k(report):
    """Return {(class, task, model, k): cell} as printed."""
    return {
        (*group.headings, column.label.lower(), int(line[0].text)): line[1 + 2 * place + side]
        for table in tables_named(report, "pass_at_k")
        for place, group in enumerate(table.groups[1:])
        for side, column in enumerate(group.columns)
        for line in table.lines
    }


@given(analyses())
def test_every_printed_pass_at_k_is_that_of_the_frame_to_three_decimals_and_a_null_is_a_dash(analysis):
    printed = {key[1:]: cell.text for key, cell in printed_pass_at_k(build_report(analysis, PROVENANCE)).items()}
    lines = analysis.pass_at_k.filter(verdict="lenient").iter_rows(named=True)
    expected = {(line["task"], line["model"], line["k"]): line["pass_at_k"] for line in lines}
    assert printed.keys() == expected.keys()
    for key, value in expected.items():
        if value is None:
            assert printed[key] == "-"
        else:
            assert float(printed[key]) == pytest.approx(value, abs=0.0005 + 1e-12)
            assert len(printed[key]) == len("0.000")


@given(analyses())
def test_tasks_stand_by_class_in_the_order_of_the_run_three_to_a_table(analysis):
    tables = tables_named(build_report(analysis, PROVENANCE), "pass_at_k")
    headings = [group.headings for table in tables for group in table.groups[1:]]
    nominal = dict(analysis.classes.filter(verdict="lenient").select("task", "class").iter_rows())
    of_task = [(nominal.get(task, "no class"), task) for task in analysis.tasks["task"]]
    expected = [heading for name in [*CLASSES, "no class"] for heading in of_task if heading[0] == name]
    assert headings == expected
    assert all(len(table.groups) - 1 <= TASKS_PER_TABLE for table in tables)


@given(analyses())
def test_the_larger_of_two_numbers_is_bold_where_they_differ_as_printed(analysis):
    printed = printed_pass_at_k(build_report(analysis, PROVENANCE))
    for (name, task, model, k), cell in printed.items():
        other = printed[name, task, "rlvr" if model == "base" else "base", k]
        is_larger = "-" not in (cell.text, other.text) and float(cell.text) > float(other.text)
        assert cell.strong == is_larger


@given(analyses())
def test_every_line_has_a_cell_per_column(analysis):
    for table in build_report(analysis, PROVENANCE).tables:
        assert {len(line) for line in table.lines} <= {len(table.columns)}


@given(st.floats(-1e6, 1e6), st.integers(0, 4))
def test_a_number_is_rounded_to_its_digits_and_zero_has_no_sign(value, digits):
    text = fixed(value, digits=digits)
    assert float(text) == pytest.approx(value, abs=0.5 * 10**-digits, rel=1e-12)
    assert not (text.startswith("-") and float(text) == 0)
    assert len(text.partition(".")[2]) == digits


@given(st.lists(st.floats(0, 1), min_size=3, max_size=3).map(sorted))
def test_an_interval_prints_in_order_around_its_value(numbers):
    low, value, high = numbers
    first, *bounds = interval(value, low=low, high=high).replace("[", "").replace("]", "").replace(",", "").split()
    assert float(bounds[0]) <= float(first) <= float(bounds[1])


def test_numbers_that_print_alike_are_not_bold():
    assert [cell.strong for cell in pair(fixed(0.12341), fixed(0.12349))] == [False, False]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("preservation",), "1 task: 1 preservation at K=4 (nominal; see the intervals)"),
        (
            ("shrinkage", "preservation"),
            "2 tasks: 1 preservation, 1 shrinkage at K=4 (nominal; see the intervals)",
        ),
        (
            (None, "expansion", "expansion"),
            "3 tasks: 2 expansion, 1 without class at K=4 (nominal; see the intervals)",
        ),
        ((None,), "1 task, none with a class: no budget covers every problem under both models"),
    ],
)
def test_the_headline_counts_the_classes(names, expected):
    numbers = {name: (0.5, 0.5, 0.5) if name else (None, None, None) for name in names}
    tasks = [
        TaskNumbers(f"t{at}", name, numbers[name], numbers[name], "full_coverage" if name == "preservation" else "")
        for at, name in enumerate(names)
    ]
    assert build_report(build(tasks, KS), PROVENANCE).headline == expected


def test_the_headline_tells_when_tasks_have_different_budgets():
    tasks = [
        TaskNumbers("a", "expansion", (0.1, 0.2, 0.3), (0.2, 0.3, 0.4)),
        TaskNumbers("b", "expansion", (0.1, 0.2, None), (0.2, 0.3, None)),
    ]
    assert "at K=2 to 4" in build_report(build(tasks, KS), PROVENANCE).headline


def test_the_setting_names_what_a_reader_has_to_know():
    assert build_report(example(), PROVENANCE).setting == (
        "Base: org/base_1.5B. RLVR: org/rlvr_1.5B. Problems per task: 4; samples per problem and model: 4; "
        "k: 1, 2, 4, 8. Sampling: temperature 0.6, top-p 0.95, at most 32768 new tokens, seed 45. Verdict: lenient."
    )


def test_the_class_table_gives_class_reason_budget_and_the_class_of_the_paper():
    (table,) = tables_named(build_report(example(), PROVENANCE), "classes")
    assert texts(table) == [
        ["graph_color", "preservation", "both reach 1.000 at K", "4", "preservation"],
        ["dice", "shrinkage", "RLVR ahead at k=1, Base at K", "4", "preservation"],
        ["my_task", "no class", "-", "-", "-"],
    ]


@given(st.lists(st.sampled_from([0.0, 0.2, 0.5, 1.0]), min_size=4, max_size=4))
def test_every_class_with_its_reason_has_words(values):
    base_1, base_k, rlvr_1, rlvr_k = values
    found = classify(base_1=min(base_1, base_k), base_K=base_k, rlvr_1=min(rlvr_1, rlvr_k), rlvr_K=rlvr_k)
    assert REASONS[found.name.value, found.reason]


def test_the_interval_table_gives_pass_at_1_and_pass_at_k_with_bounds():
    (table,) = tables_named(build_report(example(), PROVENANCE), "intervals")
    assert texts(table) == [
        ["graph_color", "4", "0.250", "0.900", "1.000 [0.900, 1.000]", "1.000 [0.900, 1.000]"],
        ["dice", "4", "0.100", "0.200", "0.350 [0.250, 0.450]", "0.250 [0.150, 0.350]"],
        ["my_task", "-", "-", "-", "-", "-"],
    ]


def test_expected_counts_have_a_decimal_and_realised_ones_none_and_pooled_lines_follow():
    (table,) = tables_named(build_report(example(), PROVENANCE), "support")
    per_task, pooled = ([[cell.text for cell in line] for line in section] for section in table.sections)
    assert per_task == [
        ["graph_color", "4", "expected", "4.0", "0.0", "0.0", "0.0", "1.000", "0.000", "-", "0.000"],
        ["dice", "4", "realised", "1", "0", "1", "2", "0.500", "0.000", "0.000", "-0.500"],
        ["my_task", *"-" * 10],
    ]
    assert pooled == [
        ["graphs (2 tasks)", *"-" * 10],
        ["all (3 tasks)", "2", "expected", "5.0", "0.2", "1.0", "5.8", "0.833", "0.048", "0.090", "-0.120"],
    ]


def test_a_pool_that_repeats_a_task_or_the_whole_run_is_left_out():
    one, two = (TaskNumbers(name, "expansion", (0.1, 0.2, 0.3), (0.2, 0.3, 0.4)) for name in "ab")
    (alone,) = tables_named(build_report(build([one], KS), PROVENANCE), "support")
    assert len(alone.sections) == 1
    (both,) = tables_named(build_report(build([one, two], KS), PROVENANCE), "support")
    assert [line[0].text for line in both.sections[1]] == ["all (2 tasks)"]
    apart = [one, two, replace(one, task="c", category="")]
    (mixed,) = tables_named(build_report(build(apart, KS), PROVENANCE), "support")
    assert [line[0].text for line in mixed.sections[1]] == ["graphs (2 tasks)", "all (3 tasks)"]


def test_a_pooled_line_stands_at_the_largest_budget_that_all_its_problems_cover():
    tasks = [TaskNumbers(name, "expansion", (0.1, 0.2, 0.3), (0.2, 0.3, 0.4)) for name in "ab"]
    pooled = [
        support_line("all", "all", k=k, kind="expected", counts=(k, 0.0, 0.0, 0.0), metrics=(1.0, 0.0, 0.0, 0.0))
        for k in (2.0, 1.0)
    ]
    nothing = support_line("all", "all", k=4, kind="expected", counts=(None,) * 4, metrics=(None,) * 4)
    (table,) = tables_named(build_report(build(tasks, KS, pooled=[*pooled, nothing]), PROVENANCE), "support")
    assert [cell.text for cell in table.sections[1][0][1:4]] == ["2", "expected", "2.0"]


def attribution(task, causes, verdict="lenient"):
    """Lines of an attribution table from [(label, cause)]."""
    return [
        {"task": task, "problem_id": f"{verdict}{i}", "verdict": verdict, "label": label, "cause": cause, "c": 1}
        for i, (label, cause) in enumerate(causes)
    ]


def test_every_cause_of_a_change_has_its_column_and_the_rates_are_given_with_and_without_what_is_not_the_models():
    assert not tables_named(build_report(example(), PROVENANCE), "causes")
    preserved = [
        {"task": "dice", "problem_id": f"p{i}", "model": model, "verdict": "lenient", "n": 4, "c": 1}
        | dict.fromkeys((*list(schemas.OUTCOMES.columns)[6:],), 0)
        for i in range(6)
        for model in ROLES
    ]
    lines = attribution("dice", [*[("S", "verifier")] * 2, ("S", "model"), ("S", "one_sample"), ("E", "truncation")])
    tasks = [TaskNumbers("dice", "shrinkage", (0.1,), (0.2,)), TaskNumbers("unchanged", "expansion", (0.1,), (0.2,))]
    strict = attribution("unchanged", [("S", "format")], verdict="strict")
    (table,) = tables_named(
        build_report(build(tasks, (1,), outcomes=preserved, attributed=[*lines, *strict]), PROVENANCE), "causes"
    )
    assert [column.label for column in table.columns] == [
        *("task", "change", "all", "model", "luck", "format", "cut", "none", "failed", "verifier", "rate", "model's"),
    ]
    assert texts(table) == [
        ["dice", "E", "1", "0", "0", "0", "1", "0", "0", "0", "0.143", "0.000"],
        ["dice", "S", "4", "1", "1", "0", "0", "0", "0", "2", "0.600", "0.857"],
    ]


def test_guessing_stands_beside_the_models_where_a_task_has_a_guesser():
    assert not tables_named(build_report(example(), PROVENANCE), "chance")
    tasks = [TaskNumbers(name, "expansion", (0.1, 0.2), (0.2, 0.4)) for name in ("dice", "other")]
    floor = [{"task": "dice", "k": k, "pass_at_k": value} for k, value in ((1, 0.05), (2, 0.0975))]
    flags = [
        {"task": "dice", "model": model, "verdict": verdict, "p": 0.5, "at_chance": model == "base"}
        for model in ROLES
        for verdict in ("lenient", "strict")
    ]
    report = build_report(build(tasks, (1, 2), floor=floor, at_chance=flags), PROVENANCE)
    (table,) = tables_named(report, "chance")
    assert texts(table) == [["dice", "2", "0.050", "0.100", "0.200", "0.098", "0.200", "0.400", "Base"]]


def test_every_kind_of_verdict_stands_beside_the_others():
    at_1, at_largest = tables_named(build_report(example(), PROVENANCE), "verdicts")
    kinds = ("lenient", "strict", "checked")
    assert [group.headings for group in at_1.groups[1:]] == [
        ("lenient",), ("lenient if answered",), ("strict",), ("checked",)
    ]  # fmt: skip
    assert [group.headings for group in at_largest.groups[1:]] == [(kind,) for kind in kinds]
    assert texts(at_1)[:2] == [
        ["graph_color", "0.250", "0.900", "0.400", "0.960", "0.125", "0.450", "-", "-"],
        ["dice", "0.100", "0.200", "0.400", "0.960", "0.050", "0.100", "0.050", "0.100"],
    ]
    assert texts(at_largest)[:2] == [
        ["graph_color", "1.000", "1.000", "0.500", "0.500", "-", "-"],
        ["dice", "0.350", "0.250", "0.175", "0.125", "0.175", "0.125"],
    ]


def test_suspect_questions_are_listed_by_task_and_kind_and_it_is_said_what_becomes_of_them():
    assert not tables_named(build_report(example(), PROVENANCE), "suspects")
    suspects = (Suspects("dice", "wrong reference", (2, 31)), Suspects("dice", "ambiguous", tuple(range(12))))
    for excluded, words in ((False, "counted as any other"), (True, "left out of every table")):
        report = build_report(example(), replace(PROVENANCE, suspects=suspects, excluded=excluded))
        assert f"Suspect questions: 14, {words}." in report.setting
        (table,) = tables_named(report, "suspects")
        assert texts(table) == [
            ["dice", "wrong reference", "2", "2, 31"],
            ["dice", "ambiguous", "12", "0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more"],
        ]
        assert ("--exclude-suspect leaves them out" in table.caption) == (not excluded)


def test_the_outcome_table_gives_the_shares_of_each_model():
    (table,) = tables_named(build_report(example(), PROVENANCE), "outcomes")
    assert texts(table)[2:5] == [
        ["dice", "Base", "16", "0.312", "0.062", "0.000", "0.000", "0.000", "9412", "0.000"],
        ["dice", "RLVR", "16", "0.000", "0.000", "0.000", "0.000", "0.000", "87.2", "0.125"],
        ["my_task", "Base", "16", "-", "-", "-", "-", "-", "-", "-"],
    ]


def test_the_strict_verdict_can_be_the_headline():
    report = build_report(example(), replace(PROVENANCE, verdict="strict"))
    assert printed_pass_at_k(report)["preservation", "graph_color", "rlvr", 1].text == "0.450"
    assert "Verdict: strict." in report.setting


def test_a_task_without_any_outcome_is_dashes():
    whole = example()
    empty = {name: getattr(whole, name).clear() for name in ("pass_at_k", "support", "shares", "classes")}
    report = build_report(replace(whole, **empty), PROVENANCE)
    tables = [table for table in report.tables if table.name != "classes"]
    assert {cell.text for table in tables for line in table.lines for cell in line[3:]} == {"-"}


def test_an_analysis_of_outcomes_prints_what_its_counts_say():
    counts = [(4, 1, 4, 3), (4, 0, 4, 2), (4, 4, 4, 4), (4, 0, 4, 0)]  # of each problem: base n, c, rlvr n, c
    outcomes = pl.concat([outcome_table(counts, task="dice"), outcome_table(counts[2:3], task="leg_counting")])
    report = build_report(analyze(outcomes, task_table("dice", "leg_counting"), (1, 4, 8)), PROVENANCE)
    assert report.headline == "2 tasks: 1 preservation, 1 expansion at K=4 (nominal; see the intervals)"
    printed = {key: cell.text for key, cell in printed_pass_at_k(report).items()}
    assert [printed["expansion", "dice", "base", k] for k in (1, 4, 8)] == ["0.312", "0.500", "-"]
    assert [printed["expansion", "dice", "rlvr", k] for k in (1, 4, 8)] == ["0.562", "0.750", "-"]
    (support,) = tables_named(report, "support")
    assert texts(support) == [
        ["leg_counting", "4", "realised", "1", "0", "0", "0", "1.000", "0.000", "0.000", "0.000"],
        ["dice", "4", "realised", "2", "1", "0", "1", "1.000", "0.333", "0.500", "0.333"],
        ["all (2 tasks)", "4", "realised", "3", "1", "0", "1", "1.000", "0.250", "0.400", "0.250"],
    ]


def test_the_tables_of_the_paper_keep_their_layout_and_numbers():
    report = build_report(paper_analysis(), PROVENANCE)
    tables = tables_named(report, "pass_at_k")
    published = paper_tables()
    assert report.headline.startswith("15 tasks: 9 preservation, 3 expansion, 3 shrinkage at K=16")
    assert [[group.headings[1] for group in table.groups[1:]] for table in tables] == [
        [task for task, _ in list(published)[start : start + 3]] for start in range(0, 15, 3)
    ]
    printed = printed_pass_at_k(report)
    for (task, name), numbers in published.items():
        for k, base, rlvr in numbers:
            assert printed[name, task, "base", k].text == base
            assert printed[name, task, "rlvr", k].text == rlvr
