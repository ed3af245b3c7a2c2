import itertools
import math

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from counts import VECTORS, outcome_table, problem_table, solved, table, task_table, verdict_table
from rgsupport import schemas
from rgsupport.errors import UsageError
from rgsupport.estimators import clopper_pearson, wilson
from rgsupport.outcomes import outcomes
from rgsupport.support import analyze
from rgsupport.types import Status

DICE = task_table("dice")
SHAPES = {
    "tasks": schemas.TASKS,
    "outcomes": schemas.OUTCOMES,
    "pass_at_k": schemas.PASS_AT_K,
    "support": schemas.SUPPORT,
    "shares": schemas.SHARES,
    "classes": schemas.CLASSES,
}


def one(frame, **values):
    """The only row with these values, as a dict."""
    return frame.filter(**values).row(by_predicate=pl.lit(value=True), named=True)


@st.composite
def count_rows(draw, least=0):
    size = draw(st.integers(1, 6))
    rows = []
    for _ in range(size):
        base_n, rlvr_n = draw(st.integers(least, 9)), draw(st.integers(least, 9))
        rows.append((base_n, draw(st.integers(0, base_n)), rlvr_n, draw(st.integers(0, rlvr_n))))
    return rows


@settings(max_examples=25)
@given(count_rows(), count_rows(), st.sets(st.integers(1, 10), min_size=1), st.randoms(use_true_random=False))
def test_every_table_has_its_shape_and_the_order_of_the_outcomes_never_matters(dice, arc, ks, random):
    frame = pl.concat([outcome_table(dice), outcome_table(arc, task="arc_1d")])
    tasks = pl.concat([DICE, task_table("arc_1d", category="arc")])
    found = analyze(frame, tasks, sorted(ks))
    shuffled = analyze(frame[random.sample(range(frame.height), frame.height)], tasks, sorted(ks))
    for name, shape in SHAPES.items():
        schemas.check(getattr(found, name), shape, source=name)
        assert_frame_equal(getattr(shuffled, name), getattr(found, name), check_exact=True)


def brute_force_pass(n, c, k):
    """The share of k-subsets with a correct sample; None where there are no k samples."""
    subsets = list(itertools.combinations([i < c for i in range(n)], k))
    return sum(map(any, subsets)) / len(subsets) if subsets else None


@settings(max_examples=25)
@given(count_rows())
def test_pass_at_k_and_the_counts_are_plain_means_and_sums_over_problems(rows):
    ks = [1, 2, 5]
    found = analyze(outcome_table(rows), DICE, ks)
    for k in ks:
        base = [brute_force_pass(n, c, k) for n, c, _, _ in rows]
        rlvr = [brute_force_pass(n, c, k) for _, _, n, c in rows]
        for model, passes in (("base", base), ("rlvr", rlvr)):
            row = one(found.pass_at_k, model=model, verdict="lenient", k=k)
            assert row["n_problems"] == len(rows)
            assert row["n_defined"] == sum(value is not None for value in passes)
            if None in passes:
                assert row["pass_at_k"] is row["low"] is row["high"] is None
            else:
                assert row["pass_at_k"] == pytest.approx(np.mean(passes), rel=1e-12)
                assert row["low"] <= row["pass_at_k"] <= row["high"]
        support = one(found.support, scope="task", verdict="strict", k=k)
        pairs = list(zip(base, rlvr, strict=True))
        assert support["n_defined"] == sum(None not in pair for pair in pairs)
        if any(None in pair for pair in pairs):
            assert {support[name] for name in ("P", "E", "S", "O", "SRR", "NDR", "SDS", "NSCR")} == {None}
        else:
            expected = [sum(x) for x in zip(*((b * r, (1 - b) * r, b * (1 - r)) for b, r in pairs), strict=True)]
            assert [support[name] for name in "PES"] == pytest.approx(expected, abs=1e-12)
            assert sum(support[name] for name in "PESO") == pytest.approx(len(rows), rel=1e-12)


@settings(max_examples=25)
@given(count_rows(least=4))
def test_a_model_compared_with_itself_expands_as_much_as_it_shrinks(rows):
    same = [(n, c, n, c) for n, c, _, _ in rows]
    found = analyze(outcome_table(same), DICE, [1, 2, 4])
    support = found.support.filter(pl.col("P").is_not_null())
    np.testing.assert_allclose(support["E"], support["S"], atol=1e-12)
    assert set(found.classes["class"]) == {"preservation"}


def test_counts_are_realised_only_where_k_is_the_number_of_samples_of_every_problem_and_model():
    def kinds(rows):
        support = analyze(outcome_table(rows), DICE, [2, 4, 8]).support
        return support.filter(scope="all", verdict="lenient")["kind"].to_list()

    assert kinds([(4, 1, 4, 2), (4, 0, 4, 1)]) == ["expected", "realised", "expected"]
    assert kinds([(4, 1, 4, 2), (4, 0, 5, 1)]) == ["expected"] * 3


def test_at_k_equal_to_n_a_problem_counts_as_solved_by_any_success():
    found = analyze(outcome_table([(4, 1, 4, 0), (4, 0, 4, 3), (4, 4, 4, 1), (4, 0, 4, 0)]), DICE, [4])
    row = one(found.support, scope="task", verdict="lenient")
    assert {name: row[name] for name in "PESO"} == {"P": 1, "E": 1, "S": 1, "O": 1}
    assert [row[name] for name in ("SRR", "NDR", "SDS", "NSCR")] == [0.5, 0.5, 0.5, 0]


def test_undefined_rates_are_empty_and_not_zero():
    row = one(analyze(outcome_table([(2, 0, 2, 0)]), DICE, [2]).support, scope="task", verdict="lenient")
    assert (row["O"], row["SRR"], row["NDR"], row["SDS"], row["NSCR"]) == (1, None, None, None, None)


def test_a_budget_above_the_samples_of_one_problem_is_empty_with_the_number_of_problems_that_cover_it():
    found = analyze(outcome_table([(4, 1, 4, 2), (4, 1, 2, 1), (0, 0, 4, 1)]), DICE, [1, 2, 4])
    base = found.pass_at_k.filter(model="base", verdict="lenient")
    rlvr = found.pass_at_k.filter(model="rlvr", verdict="lenient")
    assert base.select("pass_at_k", "n_defined", "n_problems").rows() == [(None, 2, 3)] * 3
    assert rlvr["n_defined"].to_list() == [3, 3, 2]
    assert rlvr["pass_at_k"].is_null().to_list() == [False, False, True]
    assert found.support.filter(scope="all", verdict="lenient")["n_defined"].to_list() == [2, 2, 1]
    assert found.classes.height == 0
    assert one(found.shares, model="base", verdict="lenient")["pass_at_1"] is None


def test_the_class_stands_at_the_largest_budget_that_every_problem_covers_under_both_models():
    rows = [(4, 1, 8, 2), (4, 0, 8, 3), (4, 4, 6, 5)]
    row = one(analyze(outcome_table(rows), DICE, [1, 2, 4, 8]).classes, verdict="lenient")
    assert (row["K"], row["class"], row["reason"]) == (4, "expansion", "")
    assert row["base_K"] == pytest.approx(2 / 3)
    assert row["base_1"] == pytest.approx((0.25 + 0 + 1) / 3)
    assert row["rlvr_1"] == pytest.approx((2 / 8 + 3 / 8 + 5 / 6) / 3)


@pytest.mark.parametrize("row", VECTORS["nominal_class"], ids=lambda row: row["name"])
def test_the_class_of_realised_counts_equals_the_reference(row):
    n = 10
    base_c, rlvr_c = round(n * row["base_p1_if_solved"]), round(n * row["rlvr_p1_if_solved"])
    cells = {"P": (base_c, rlvr_c), "E": (0, rlvr_c), "S": (base_c, 0), "O": (0, 0)}
    rows = [(n, base, n, rlvr) for cell, (base, rlvr) in cells.items() for _ in range(row[cell])]
    found = one(analyze(outcome_table(rows), DICE, [1, n]).classes, verdict="lenient")
    assert (found["K"], found["class"], found["reason"]) == (n, row["cls"], row["reason"])
    assert found["rlvr_K"] - found["base_K"] == pytest.approx(row["dK"], abs=1e-12)
    assert found["rlvr_1"] - found["base_1"] == pytest.approx(row["d1"], abs=1e-12)


def test_the_class_of_expected_counts_equals_the_reference():
    row = VECTORS["nominal_class_fractional"]
    rows = [(row["n"], base, row["n"], rlvr) for base, rlvr in zip(row["c_base"], row["c_rlvr"], strict=True)]
    found = one(analyze(outcome_table(rows), DICE, [1, row["K"]]).classes, verdict="lenient")
    assert (found["K"], found["class"], found["reason"]) == (row["K"], row["cls"], "")
    assert (found["base_K"], found["rlvr_K"]) == pytest.approx((row["cov_base"], row["cov_rlvr"]), rel=1e-12)


def test_categories_and_the_whole_run_pool_counts_over_problems_and_never_average_rates():
    frame = pl.concat(
        [
            outcome_table([(1, 1, 1, 1)] * 9 + [(1, 0, 1, 1)], task="dice"),
            outcome_table([(1, 1, 1, 0)] * 2 + [(1, 1, 1, 1)], task="poker"),
            outcome_table([(1, 0, 1, 0)] * 5, task="arc_1d"),
        ]
    )
    tasks = pl.concat([task_table("poker", "dice"), task_table("arc_1d", category="arc")])
    support = analyze(frame, tasks, [1]).support.filter(verdict="lenient")
    assert support.select("scope", "name", "n_problems", *"PESO").rows() == [
        ("task", "poker", 3, 1, 0, 2, 0),
        ("task", "dice", 10, 9, 1, 0, 0),
        ("task", "arc_1d", 5, 0, 0, 0, 5),
        ("category", "games", 13, 10, 1, 2, 0),
        ("category", "arc", 5, 0, 0, 0, 5),
        ("all", "all", 18, 10, 1, 2, 5),
    ]
    assert one(support, scope="all")["SRR"] == pytest.approx(10 / 12)


def test_a_task_without_a_category_is_pooled_over_the_whole_run_only():
    support = analyze(outcome_table([(1, 1, 1, 1)]), task_table("dice", category=""), [1]).support
    assert set(support["scope"]) == {"task", "all"}


def test_tables_follow_the_order_of_the_tasks_then_model_verdict_and_budget():
    frame = pl.concat([outcome_table([(2, 1, 2, 1)], task=task) for task in ("a", "b")])
    found = analyze(frame, task_table("b", "a"), [1, 2])
    keys = found.pass_at_k.select("task", "model", "verdict", "k").rows()
    assert keys == list(itertools.product("ba", ("base", "rlvr"), ("lenient", "strict"), (1, 2)))
    assert found.classes["task"].to_list() == ["b", "b", "a", "a"]


def test_each_kind_of_verdict_has_its_own_numbers():
    problems = problem_table({"a": "dice", "b": "dice"})
    no_answer = {"a": [Status.NO_ANSWER] * 2, "b": [Status.NO_ANSWER] * 2}
    base = verdict_table({"a": solved(1, 2), "b": solved(0, 2)}, strict=no_answer)
    rlvr = verdict_table({"a": solved(2, 2), "b": solved(1, 2)})
    frame = pl.concat(
        [
            outcomes(base, problems, checked=(), model="base", samples=None),
            outcomes(rlvr, problems, checked=(), model="rlvr", samples=None),
        ]
    )
    support = analyze(frame, DICE, [2]).support.filter(scope="task")
    assert support.select("verdict", *"PESO").rows() == [("lenient", 1, 1, 0, 0), ("strict", 0, 2, 0, 0)]


def test_checked_counts_are_pooled_only_where_every_task_of_the_pool_has_a_checker():
    both = ("lenient", "checked")
    some = pl.concat([outcome_table([(2, 1, 2, 1)], task="a", verdicts=both), outcome_table([(2, 1, 2, 1)], task="b")])
    pooled = analyze(some, task_table("a", "b"), [2]).support.filter(verdict="checked")
    assert pooled.select("scope", "name").rows() == [("task", "a")]
    every = pl.concat([outcome_table([(2, 1, 2, 1)], task=task, verdicts=both) for task in "ab"])
    pooled = analyze(every, task_table("a", "b"), [2]).support.filter(verdict="checked")
    assert pooled.select("scope", "name", "P").rows() == [
        ("task", "a", 1), ("task", "b", 1), ("category", "games", 2), ("all", "all", 2)
    ]  # fmt: skip


def test_shares_are_of_all_samples_and_pass_at_1_given_an_answer_of_the_verified_ones():
    names = ("n", "c", "wrong", "no_answer", "truncated", "prompt_too_long", "timeout", "error")
    counts = dict(zip(names, (10, 2, 3, 1, 1, 1, 1, 1), strict=True))
    other = dict(zip(names, (5, 5, 0, 0, 0, 0, 0, 0), strict=True))
    rows = [
        {"task": "dice", "problem_id": problem, "model": model, "verdict": "lenient", **values}
        for problem, values in (
            ("a", counts | {"tokens": 500, "n_responses": 9, "n_distinct": 5}),
            ("b", other | {"tokens": 100, "n_responses": 5, "n_distinct": 5}),
        )
        for model in ("base", "rlvr")
    ]
    row = one(analyze(table(rows, schemas.OUTCOMES), DICE, [1]).shares, model="base")
    assert (row["n_problems"], row["n_samples"], row["mean_tokens"]) == (2, 15, 40)
    assert row["pass_at_1"] == pytest.approx((0.2 + 1) / 2)
    assert row["pass_at_1_answered"] == pytest.approx(7 / 10)
    shares = [row[name] for name in ("no_answer", "truncated", "prompt_too_long", "timeout", "error")]
    assert shares == pytest.approx([1 / 15] * 5)
    assert row["duplicates"] == pytest.approx((4 / 8 + 0) / 2)


def test_pass_at_1_given_an_answer_is_empty_when_nothing_was_answered():
    problems = problem_table({"a": "dice"})
    frames = [
        outcomes(verdict_table({"a": [status] * 4}), problems, checked=(), model=model, samples=None)
        for model, status in (("base", Status.TRUNCATED), ("rlvr", Status.NO_ANSWER))
    ]
    shares = analyze(pl.concat(frames), DICE, [1]).shares.filter(verdict="lenient")
    assert shares["pass_at_1_answered"].to_list() == [None, None]
    assert shares["pass_at_1"].to_list() == [0, 0]
    assert shares["truncated"].to_list() == [1, 0]


def test_shares_without_a_single_sample_are_empty():
    row = one(analyze(outcome_table([(0, 0, 4, 1)]), DICE, [1]).shares, model="base", verdict="lenient")
    assert [name for name, value in row.items() if value is None] == [
        "pass_at_1", "pass_at_1_answered", "no_answer", "truncated", "prompt_too_long", "timeout", "error",
        "mean_tokens", "duplicates",
    ]  # fmt: skip


def test_intervals_of_realised_coverage_near_its_end_are_exact_and_of_expected_coverage_wilsons():
    rows = [(4, 1, 4, 1)] * 19 + [(4, 0, 4, 0)]
    found = analyze(outcome_table(rows), DICE, [2, 4]).pass_at_k.filter(model="base", verdict="lenient")
    expected, realised = found.select("low", "high").rows()
    assert realised == pytest.approx(tuple(float(end) for end in clopper_pearson(19, 20)))
    assert expected == pytest.approx(tuple(float(end) for end in wilson(19 / 2, 20)))


@pytest.mark.parametrize("ks", [[], [0, 1], [2, 1], [1, 1]])
def test_budgets_that_do_not_increase_from_one_are_refused(ks):
    with pytest.raises(UsageError, match=f"got '{','.join(map(str, ks))}'"):
        analyze(outcome_table([(1, 1, 1, 1)]), DICE, ks)


def test_models_that_cannot_be_compared_are_refused():
    frame = outcome_table([(1, 1, 1, 1), (1, 1, 1, 0)])
    with pytest.raises(UsageError, match="no outcomes of the rlvr model"):
        analyze(frame.filter(model="base"), DICE, [1])
    alone = frame.filter((pl.col("model") == "base") | (pl.col("problem_id") == "dice-00000"))
    with pytest.raises(UsageError, match="problem dice-00001 has outcomes of the base model only"):
        analyze(alone, DICE, [1])
    with pytest.raises(UsageError, match="task 'dice', which is not among the tasks"):
        analyze(frame, task_table("poker"), [1])


def test_a_large_budget_keeps_small_chances_apart():
    found = analyze(outcome_table([(16384, 1, 16384, 2)]), DICE, [1, 8192, 16384])
    base = found.pass_at_k.filter(model="base", verdict="lenient")["pass_at_k"].to_list()
    assert base == pytest.approx([1 / 16384, 0.5, 1], rel=1e-12)
    rlvr = one(found.pass_at_k, model="rlvr", verdict="lenient", k=8192)["pass_at_k"]
    assert rlvr == pytest.approx(1 - math.comb(16382, 8192) / math.comb(16384, 8192), rel=1e-12)


@pytest.mark.parametrize(("texts", "share"), [([1] * 6, 1.0), ([1, 2, 3, 4], 0.0), ([1], None), ([None] * 3, None)])
def test_duplicates_are_1_where_all_responses_are_identical_and_0_where_all_differ(texts, share):
    problems = problem_table({"a": "dice"})
    frames = [
        outcomes(
            verdict_table({"a": [Status.WRONG] * len(texts)}, texts={"a": texts}), problems, checked=(), model=model
        )
        for model in ("base", "rlvr")
    ]
    assert analyze(pl.concat(frames), DICE, [1]).shares["duplicates"].to_list() == [share] * 4


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.none() | st.integers(0, 3), max_size=6), min_size=1))
def test_duplicates_are_the_share_of_responses_seen_before_averaged_over_problems(texts):
    verdicts = verdict_table({name: [Status.WRONG] * len(of) for name, of in texts.items()}, texts=texts)
    problems = problem_table(dict.fromkeys(texts, "dice"))
    frames = [outcomes(verdicts, problems, checked=(), model=model) for model in ("base", "rlvr")]
    shares = []
    for of_problem in texts.values():
        responses = [text for text in of_problem if text is not None]
        repeats = sum(text in responses[:place] for place, text in enumerate(responses))
        if len(responses) > 1:
            shares.append(repeats / (len(responses) - 1))
    expected = pytest.approx(sum(shares) / len(shares)) if shares else None
    assert analyze(pl.concat(frames), DICE, [1]).shares["duplicates"].to_list() == [expected] * 4
