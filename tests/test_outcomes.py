import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from counts import problem_table, solved, table, verdict_table
from rgsupport import schemas
from rgsupport.errors import EngineError, StoreError
from rgsupport.outcomes import IDENTICAL_TOKENS, outcomes, refuse_identical
from rgsupport.types import Status

PROBLEMS = problem_table({"a": "dice", "b": "dice", "c": "arc_1d"})

statuses = st.lists(st.sampled_from(list(Status)), max_size=8)


def test_every_status_is_counted_in_its_own_column():
    all_seven = [Status.CORRECT, Status.CORRECT, Status.WRONG, *Status]
    found = outcomes(verdict_table({"a": all_seven}), PROBLEMS, checked=(), model="base", samples=None)
    row = found.row(by_predicate=(pl.col("problem_id") == "a") & (pl.col("verdict") == "strict"), named=True)
    assert row == {
        "task": "dice", "problem_id": "a", "model": "base", "verdict": "strict",
        "n": 10, "c": 3, "wrong": 2, "no_answer": 1, "truncated": 1, "prompt_too_long": 1, "timeout": 1, "error": 1,
        "tokens": sum(range(10, 20)), "n_responses": 10, "n_distinct": 10,
    }  # fmt: skip


def test_both_kinds_of_verdict_are_counted_apart():
    verdicts = verdict_table({"a": solved(3, 4)}, strict={"a": [Status.NO_ANSWER] * 4})
    found = outcomes(verdicts, PROBLEMS.filter(pl.col("problem_id") == "a"), checked=(), model="rlvr", samples=None)
    assert found.select("verdict", "model", "n", "c", "no_answer").rows() == [
        ("lenient", "rlvr", 4, 3, 0),
        ("strict", "rlvr", 4, 0, 4),
    ]


def test_checked_verdicts_are_counted_for_tasks_with_a_checker_only():
    checked = {"a": solved(1, 4), "c": [None] * 4}
    verdicts = verdict_table({"a": solved(3, 4), "c": solved(2, 4)}, checked=checked)
    found = outcomes(verdicts, PROBLEMS, checked=["dice"], model="base", samples=None).filter(verdict="checked")
    assert found.select("task", "problem_id", "n", "c", "wrong").rows() == [
        ("dice", "a", 4, 1, 3),
        ("dice", "b", 0, 0, 0),
    ]


def test_a_problem_without_a_verdict_shows_with_no_samples():
    found = outcomes(verdict_table({"b": solved(1, 2)}), PROBLEMS, checked=(), model="base", samples=None)
    assert found.filter(pl.col("verdict") == "lenient").select("task", "problem_id", "n", "c", "tokens").rows() == [
        ("arc_1d", "c", 0, 0, 0),
        ("dice", "a", 0, 0, 0),
        ("dice", "b", 2, 1, 21),
    ]
    nothing = outcomes(table([], schemas.VERDICTS), PROBLEMS, checked=(), model="base", samples=None)
    assert nothing["n"].to_list() == [0] * 6


def test_verdicts_of_problems_that_were_not_asked_for_are_left_out():
    verdicts = verdict_table({"a": solved(1, 2), "of another run": solved(2, 2)})
    found = outcomes(verdicts, PROBLEMS, checked=(), model="base", samples=None)
    assert found["problem_id"].unique().sort().to_list() == ["a", "b", "c"]
    assert found["c"].sum() == 2


def test_only_samples_below_the_asked_number_count():
    verdicts = verdict_table({"a": [Status.CORRECT, Status.WRONG, Status.CORRECT, Status.CORRECT]})
    asked = PROBLEMS.filter(pl.col("problem_id") == "a")
    for samples, expected in ((0, (0, 0)), (1, (1, 1)), (3, (3, 2)), (99, (4, 3))):
        found = outcomes(verdicts, asked, checked=(), model="base", samples=samples)
        assert found.select("n", "c").row(0) == expected


@settings(max_examples=25)
@given(st.fixed_dictionaries({"a": statuses, "b": statuses, "c": statuses}), st.randoms(use_true_random=False))
def test_the_table_has_its_shape_adds_up_and_does_not_depend_on_the_order_of_the_input(of_problems, random):
    verdicts = verdict_table(of_problems)
    found = outcomes(verdicts, PROBLEMS, checked=(), model="base", samples=None)
    schemas.check(found, schemas.OUTCOMES, source="outcomes")
    assert (found["n"] == found.select(pl.sum_horizontal("c", "wrong", *list(Status)[2:])).to_series()).all()
    assert found["n"].sum() == 2 * sum(map(len, of_problems.values()))
    order = random.sample(range(verdicts.height), verdicts.height)
    shuffled = outcomes(verdicts[order].lazy(), PROBLEMS.reverse(), checked=(), model="base", samples=None)
    assert_frame_equal(shuffled, found)


def test_a_sample_with_two_verdicts_is_refused():
    verdicts = verdict_table({"a": solved(1, 2), "b": solved(1, 2)})
    with pytest.raises(StoreError, match="the rlvr model has two verdicts on one sample of problem b"):
        outcomes(pl.concat([verdicts, verdicts[-1:]]), PROBLEMS, checked=(), model="rlvr", samples=None)


@given(st.lists(st.none() | st.integers(0, 3), max_size=12))
def test_responses_and_different_ones_are_counted_as_a_set_counts_them(texts):
    found = outcomes(
        verdict_table({"a": solved(0, len(texts))}, texts={"a": texts}),
        PROBLEMS,
        checked=(),
        model="base",
        samples=None,
    )
    row = found.row(by_predicate=(pl.col("problem_id") == "a") & (pl.col("verdict") == "lenient"), named=True)
    responses = [text for text in texts if text is not None]
    assert (row["n"], row["n_responses"], row["n_distinct"]) == (len(texts), len(responses), len(set(responses)))


SIX = dict.fromkeys("abcdef", "dice")


def counted(texts):
    """Return the outcomes of a model with these texts; sample i has 10 + i tokens."""
    verdicts = verdict_table({name: solved(0, len(of)) for name, of in texts.items()}, texts=texts)
    return outcomes(verdicts, problem_table(SIX), checked=(), model="base", samples=None)


def test_a_model_that_gives_each_problem_one_response_only_is_refused_with_the_likely_cause():
    with pytest.raises(EngineError, match="ignores the seed or the temperature") as error:
        refuse_identical(counted({name: [place] * 20 for place, name in enumerate(SIX)}))
    assert "114 repeated responses" in str(error.value)


def test_one_different_response_few_tokens_or_few_problems_are_no_reason_to_refuse():
    alike = {name: [place] * 20 for place, name in enumerate(SIX)}
    refuse_identical(counted({**alike, "f": [1] * 19 + [3]}))
    refuse_identical(counted({name: [1] * 4 for name in SIX}))  # 3/4 of 6 * 46 tokens
    refuse_identical(counted({name: alike[name] for name in "abcd"}))
    refuse_identical(counted({}))
    assert IDENTICAL_TOKENS > 6 * 46
