"""From evidence to a verdict: each fault by itself, and none without one."""

from dataclasses import replace

import pytest

from rgsupport.audit._evidence import Evidence, Suspect, Tally
from rgsupport.audit._judge import Verdict, judge
from rgsupport.audit._probes import Kind
from rgsupport.types import Problem

PROBLEMS = tuple(Problem("t", f"{n}", n, f"Q{n}", "1", "{}") for n in range(20))
CLEAN = Evidence(
    task="t",
    problems=PROBLEMS,
    seconds=0.001,
    repeated=0.0,
    depends_on_hash=False,
    references=20,
    has_checker=False,
    suspects=(),
    tallies={kind: Tally(asked=20) for kind in Kind},
    benign={},
    unstable=0,
)


def accepted(kind, count, asked=20):
    tally = Tally(asked=asked, accepted=count, problems=set(range(count)))
    return replace(CLEAN, tallies={**CLEAN.tallies, kind: tally})


def suspects(count, kind):
    return replace(CLEAN, suspects=tuple(Suspect(n, kind, "x") for n in range(count)))


def test_a_task_without_a_fault_is_sound():
    assert judge(CLEAN).verdict is Verdict.SOUND
    assert judge(CLEAN).reasons == ()


@pytest.mark.parametrize("kind", [Kind.EMPTY, Kind.NONSENSE, Kind.ECHO, Kind.UNEVALUATED])
def test_a_kind_that_no_verifier_may_accept_makes_it_unsound_beyond_a_tenth_of_the_questions(kind):
    assert judge(accepted(kind, 3)).verdict is Verdict.UNSOUND
    assert judge(accepted(kind, 2)).verdict is Verdict.GUARDED


def test_lines_of_the_question_make_it_unsound_beyond_a_quarter_of_the_questions():
    assert judge(accepted(Kind.LINE, 6)).verdict is Verdict.UNSOUND
    assert judge(accepted(Kind.LINE, 5)).verdict is Verdict.GUARDED


def test_long_text_is_asked_about_one_question_so_one_is_enough():
    assert judge(accepted(Kind.LONG, 1)).verdict is Verdict.UNSOUND


def test_other_questions_answers_make_it_unsound_from_a_half_on():
    assert judge(accepted(Kind.SWAP, 10)).verdict is Verdict.UNSOUND
    assert judge(accepted(Kind.SWAP, 9)).verdict is Verdict.GUARDED


@pytest.mark.parametrize("kind", [Kind.PERTURBED, Kind.HEDGE, Kind.WORDS])
def test_what_stands_near_a_right_answer_needs_a_guard(kind):
    judgement = judge(accepted(kind, 20))
    assert judgement.verdict is Verdict.GUARDED
    assert "(20 of 20)" in judgement.reasons[0]


@pytest.mark.parametrize("kind", ["wrong reference", "elided question", "the verifier rejects its reference"])
def test_wrong_references_make_it_unsound_beyond_one_in_twenty(kind):
    assert judge(suspects(2, kind)).verdict is Verdict.UNSOUND
    judgement = judge(suspects(1, kind))
    assert judgement.verdict is Verdict.GUARDED
    assert "--exclude-suspect" in judgement.reasons[0]


def test_ambiguous_questions_need_a_guard_however_many_they_are():
    judgement = judge(suspects(20, "ambiguous question"))
    assert judgement.verdict is Verdict.GUARDED
    assert "20 of 20 questions can be read in two ways" in judgement.reasons[0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tallies": {Kind.CODE: Tally(asked=2, refused=1)}}, "executes answers as code"),
        ({"tallies": {Kind.ENDLESS: Tally(asked=2, timeouts=2)}}, "does not end on some answers (2)"),
        ({"tallies": {Kind.NONSENSE: Tally(asked=2, errors=1)}}, "raises on some answers (1)"),
        ({"unstable": 3}, "judges the same answer differently"),
        ({"depends_on_hash": True}, "another hash seed"),
        ({"repeated": 0.5}, "repeats questions (50%"),
    ],
)
def test_conduct_that_rgsupport_guards_against_is_told(changed, words):
    judgement = judge(replace(CLEAN, **changed))
    assert judgement.verdict is Verdict.GUARDED
    assert words in judgement.reasons[0]


def test_errors_on_code_are_no_fault_of_a_verifier():
    assert judge(replace(CLEAN, tallies={Kind.CODE: Tally(asked=2, errors=2)})).verdict is Verdict.SOUND


def test_a_task_that_makes_no_problems_is_unsound():
    judgement = judge(replace(CLEAN, failure="makes no problems: no", problems=(), tallies={}))
    assert (judgement.verdict, judgement.reasons) == (Verdict.UNSOUND, ("makes no problems: no",))
