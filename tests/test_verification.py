import hashlib
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

from counts import problem_table
from rgsupport.errors import StoreError
from rgsupport.extract import lenient, strict
from rgsupport.jail import Ask, Jail, Specification
from rgsupport.outcomes import outcomes
from rgsupport.schemas import COMPLETIONS, VERDICTS
from rgsupport.types import Found, Problem, Status
from rgsupport.verification import ScoreCache, Scored, verify

SPECIFICATION = Specification(("echo", "checked"), user_folder=Path(__file__).parent / "data" / "verification")
REFERENCES = {"a": "12", "b": "spoilt", "c": "7."}
PROBLEMS = {
    identity: Problem("echo", identity, 0, f"Say {reference}", reference, "{}")
    for identity, reference in REFERENCES.items()
}
# One problem whose task has a checker of its own.
PROBLEMS["twelve"] = Problem("checked", "twelve", 0, "Say 12", "12", "{}")
REFERENCES["twelve"] = "12"
CHECKED = ("checked",)


@pytest.fixture(scope="module")
def jail():
    with Jail(SPECIFICATION, time_limit=3.0) as jail:
        yield jail


class Watched:
    """A jail that remembers what it was asked."""

    def __init__(self, jail):
        self._jail = jail
        self.asked = []

    def score(self, jobs):
        jobs = list(jobs)
        self.asked += [(job.problem.id, job.answer, job.ask) for job in jobs]
        return self._jail.score(jobs)


NO_LOGPROBS = (None,) * 4


def completions(*texts, problem="a", reason="stop"):
    rows = [(problem, place, 7, reason, 3, text, *NO_LOGPROBS) for place, text in enumerate(texts)]
    return pl.DataFrame(rows, schema=COMPLETIONS.columns, orient="row")


def one(jail, text, *, problem="a", reason="stop", thinking=False):
    frame = verify(
        completions(text, problem=problem, reason=reason),
        PROBLEMS,
        thinking=thinking,
        checked=CHECKED,
        jail=jail,
        cache=ScoreCache(),
    )
    row = frame.row(0, named=True)
    return row["lenient"], row["strict"], row["found"]


def hash_of(text):
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


@pytest.mark.parametrize(
    ("text", "lenient", "strict", "found"),
    [
        ("<answer>12</answer>", "correct", "correct", "tag"),
        ("<answer>12.</answer>", "correct", "wrong", "tag"),
        ("<answer>1</answer>", "wrong", "wrong", "tag"),
        ("<answer>?</answer>", "error", "error", "tag"),
        ("<answer>?.</answer>", "error", "wrong", "tag"),
        ("<answer>unreadable</answer>", "error", "wrong", "tag"),
        ("\\boxed{12}", "correct", "no_answer", "boxed"),
        ("</think> 12.", "correct", "no_answer", "after_think"),
        ("in <answer> tags: <answer>12</answer>", "correct", "wrong", "tag"),
        ("<think><answer>12</answer></think>", "no_answer", "correct", None),
        ("<think> <answer>12</answer>", "no_answer", "no_answer", None),
        ("12", "no_answer", "no_answer", None),
        ("", "no_answer", "no_answer", None),
    ],
)
def test_a_completion_has_two_verdicts(jail, text, lenient, strict, found):
    assert one(jail, text) == (lenient, strict, found)


def test_a_cut_completion_without_an_answer_is_truncated(jail):
    assert one(jail, "</think> 12", reason="length") == ("truncated", "truncated", None)
    assert one(jail, "</think> \\boxed{12} and", reason="length") == ("correct", "truncated", "boxed")
    assert one(jail, "12", reason="length", thinking=True) == ("truncated", "truncated", None)


def test_an_aborted_completion_is_an_error_whatever_it_says(jail):
    assert one(jail, "<answer>12</answer>", reason="abort") == ("error", "error", None)


def test_a_prompt_that_did_not_fit_is_that_under_both_verdicts_is_not_scored_and_is_no_response(jail):
    watched = Watched(jail)
    table = completions("<answer>12</answer>", reason="prompt_too_long")
    frame = verify(table, PROBLEMS, thinking=False, checked=CHECKED, jail=watched, cache=ScoreCache())
    assert watched.asked == []
    row = frame.row(0, named=True)
    assert (row["lenient"], row["strict"]) == ("prompt_too_long", "prompt_too_long")
    assert (row["found"], row["answer_hash"], row["text_hash"]) == (None, None, None)
    lines = outcomes(frame, problem_table({"a": "echo"}), checked=(), model="base")
    counted = lines.select("n", "c", "prompt_too_long", "n_responses", "n_distinct").rows()
    assert counted == [(1, 0, 1, 0, 0)] * 2


def test_a_verifier_that_hangs_is_a_timeout_of_both_verdicts(jail):
    assert one(jail, "<answer>slow</answer>") == ("timeout", "timeout", "tag")
    assert one(jail, "<answer>slow.</answer>") == ("timeout", "wrong", "tag")


def test_a_normaliser_never_makes_a_right_answer_wrong(jail):
    assert one(jail, "<answer>spoilt</answer>", problem="b") == ("correct", "correct", "tag")
    assert one(jail, "<answer>7.</answer>", problem="c") == ("correct", "correct", "tag")
    assert one(jail, "\\boxed{7.}", problem="c") == ("correct", "no_answer", "boxed")


@pytest.mark.parametrize(
    ("text", "reason", "lenient", "checked"),
    [
        ("<answer>twelve</answer>", "stop", "wrong", "correct"),
        ("<answer>12</answer>", "stop", "correct", "wrong"),
        ("<answer>spoilt</answer>", "stop", "error", "error"),
        ("twelve", "stop", "no_answer", "no_answer"),
        ("twelve", "length", "truncated", "truncated"),
        ("<answer>twelve</answer>", "abort", "error", "error"),
    ],
)
def test_the_checked_verdict_is_that_of_the_tasks_own_checker_on_the_answer_that_lenient_found(
    jail, text, reason, lenient, checked
):
    for problem, expected in (("twelve", checked), ("a", None)):
        table = completions(text, problem=problem, reason=reason)
        frame = verify(table, PROBLEMS, thinking=False, checked=CHECKED, jail=jail, cache=ScoreCache())
        assert frame.select("lenient", "checked").row(0) == (lenient, expected)


def test_the_hash_is_that_of_the_normalised_lenient_answer(jail):
    frame = completions("<answer>12</answer>", "\\boxed{12.}", "<answer>unreadable</answer>", "none")
    verdicts = verify(frame, PROBLEMS, thinking=False, checked=CHECKED, jail=jail, cache=ScoreCache())
    assert verdicts["answer_hash"].to_list() == [hash_of("12"), hash_of("12"), hash_of("unreadable"), None]


def test_every_pair_of_problem_and_answer_is_scored_once(jail):
    watched, cache = Watched(jail), ScoreCache()
    texts = ["<answer>12</answer>", "\\boxed{12}", "<answer>12</answer>", "<answer>13.</answer>"]
    for problem in ("a", "b", "a"):  # the third might be the other model
        verify(
            completions(*texts, problem=problem), PROBLEMS, thinking=False, checked=CHECKED, jail=watched, cache=cache
        )
    assert len(watched.asked) == len(set(watched.asked))
    asks = (Ask.AS_IS, Ask.NORMALISED)
    assert set(watched.asked) == {(p, text, ask) for p in "ab" for text in ("12", "13.") for ask in asks}


def test_progress_counts_every_completion_once(jail):
    texts = ["<answer>12</answer>", "none", "<answer>13</answer>", "in <answer> tags <answer>14</answer>"] * 20
    counts = []
    verify(
        completions(*texts),
        PROBLEMS,
        thinking=False,
        checked=CHECKED,
        jail=jail,
        cache=ScoreCache(),
        on_scored=counts.append,
    )
    assert sum(counts) == len(texts)
    assert counts[0] == 20  # those without an answer are known at once


def test_verdicts_are_sorted_by_key_and_keep_the_lengths(jail):
    frame = completions(*["<answer>12</answer>", "none"] * 5).with_columns(
        problem_id=pl.Series(["b", "a"] * 5), n_tokens=pl.Series(range(10), dtype=pl.UInt32)
    )
    verdicts = verify(frame, PROBLEMS, thinking=False, checked=CHECKED, jail=jail, cache=ScoreCache())
    assert verdicts.schema == pl.Schema(VERDICTS.columns)
    assert verdicts.select("problem_id", "sample_index", "n_tokens").rows() == [
        (problem, place, place) for problem, start in (("a", 1), ("b", 0)) for place in range(start, 10, 2)
    ]


def test_no_completions_have_no_verdicts(jail):
    verdicts = verify(completions(), PROBLEMS, thinking=False, checked=CHECKED, jail=jail, cache=ScoreCache())
    assert verdicts.schema == pl.Schema(VERDICTS.columns)
    assert verdicts.is_empty()


def test_a_completion_of_an_unknown_problem_is_refused(jail):
    with pytest.raises(StoreError, match="problem zzz, which is not among"):
        verify(completions("", problem="zzz"), PROBLEMS, thinking=False, checked=CHECKED, jail=jail, cache=ScoreCache())


PIECES = st.sampled_from(
    [
        "<answer>",
        "</answer>",
        "<think>",
        "</think>",
        "\\boxed{",
        "}",
        "12",
        "twelve",
        "7",
        "spoilt",
        "?",
        ".",
        "unreadable",
        " ",
    ]
)
ROWS = st.lists(
    st.tuples(
        st.sampled_from(sorted(PROBLEMS)),
        st.sampled_from(["stop", "length", "abort", "prompt_too_long"]),
        st.lists(PIECES, max_size=8).map("".join),
    ),
    max_size=20,
)


def plain_status(problem, answer, *, normalise):
    """Score in this process, as the task file says."""
    if normalise:
        if answer == "unreadable":
            return Status.ERROR, answer
        answer = {"spoilt": "?"}.get(answer, answer.rstrip("."))
    if answer == "?":
        return Status.ERROR, answer
    return (Status.CORRECT if answer == REFERENCES[problem] else Status.WRONG), answer


def plain_check(problem, answer):
    if problem != "twelve":
        return None
    if answer == "spoilt":
        return Status.ERROR
    return Status.CORRECT if answer == "twelve" else Status.WRONG


def plain_verdict(problem, reason, text, *, thinking):
    has_checker = problem == "twelve"
    if reason in ("prompt_too_long", "abort"):
        status = Status.PROMPT_TOO_LONG if reason == "prompt_too_long" else Status.ERROR
        return (status, status, status if has_checker else None, None, None)
    missing = Status.TRUNCATED if reason == "length" else Status.NO_ANSWER
    raw = strict(text, thinking=thinking)
    strict_status = missing if raw is None else plain_status(problem, raw, normalise=False)[0]
    extracted = lenient(text, thinking=thinking, cut=reason == "length")
    if extracted is None:
        return (missing, strict_status, missing if has_checker else None, None, None)
    status, scored_text = plain_status(problem, extracted.answer, normalise=True)
    if plain_status(problem, extracted.answer, normalise=False)[0] is Status.CORRECT:
        status = Status.CORRECT
    checked = plain_check(problem, extracted.answer)
    return (status, strict_status, checked, extracted.found, hash_of(scored_text))


@settings(max_examples=60)
@given(rows=ROWS, thinking=st.booleans())
def test_verdicts_equal_those_of_a_plain_loop_whatever_the_cache_holds(jail, rows, thinking):
    table = [(problem, place, 7, reason, 3, text, *NO_LOGPROBS) for place, (problem, reason, text) in enumerate(rows)]
    frame = pl.DataFrame(table, schema=COMPLETIONS.columns, orient="row")
    expected = pl.DataFrame(
        [
            (
                *(problem, place, 3, *plain_verdict(problem, reason, text, thinking=thinking)),
                None if reason in ("abort", "prompt_too_long") else hash_of(text),
            )
            for place, (problem, reason, text) in enumerate(rows)
        ],
        schema=VERDICTS.columns,
        orient="row",
    ).sort(VERDICTS.key)
    cache = ScoreCache(limit=2)
    for _ in range(2):
        found = verify(
            frame.sample(fraction=1, shuffle=True, seed=1),
            PROBLEMS,
            thinking=thinking,
            checked=CHECKED,
            jail=jail,
            cache=cache,
        )
        assert_frame_equal(found, expected)


def test_lenient_accepts_what_strict_accepts_of_the_same_text(jail):
    texts = [f"<answer>{text}</answer>" for text in ("12", "spoilt", "7.", "7", "?", "x")]
    for problem in PROBLEMS:
        verdicts = verify(
            completions(*texts, problem=problem),
            PROBLEMS,
            thinking=False,
            checked=CHECKED,
            jail=jail,
            cache=ScoreCache(),
        )
        assert verdicts.filter(strict="correct", lenient="correct").height == verdicts.filter(strict="correct").height
        assert verdicts["found"].to_list() == [Found.TAG] * len(texts)


@given(st.lists(st.integers(0, 9)), st.integers(1, 4))
def test_a_cache_remembers_the_last_answers_and_at_most_twice_its_limit(keys, limit):
    def get(key):
        # A look-up renews what it finds, so each one needs a cache of its own.
        cache = ScoreCache(limit=limit)
        for value in keys:
            cache.put(bytes([value]), Scored(Status.WRONG, value))
        return cache.get(bytes([key]))

    remembered = {key for key in range(10) if get(key) is not None}
    latest = list(dict.fromkeys(reversed(keys)))[:limit]
    assert set(latest) <= remembered <= set(keys)
    assert len(remembered) <= 2 * limit
    assert all(get(key) == Scored(Status.WRONG, key) for key in remembered)
