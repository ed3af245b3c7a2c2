"""Probes are wrong answers, of every kind, made from any question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.audit._benign import benign
from rgsupport.audit._probes import ONCE, Kind, probes
from rgsupport.audit._same import same
from rgsupport.audit._suspects import candidates, fault
from rgsupport.types import Problem

TEXTS = st.text(max_size=80) | st.lists(st.sampled_from([*"0123456789+-*/^()xyz. \n", "sin", "∫ ", "dx"])).map("".join)


def answers(kind, question="Q", reference="12", others=("7", "8"), *, is_first=True):
    return [probe.answer for probe in probes(question, reference, others, is_first=is_first) if probe.kind is kind]


@given(TEXTS, TEXTS, st.lists(TEXTS, max_size=3), st.booleans())
def test_no_probe_is_the_reference_or_there_twice(question, reference, others, is_first):
    made = list(probes(question, reference, others, is_first=is_first))
    assert len(set(made)) == len(made)
    assert not [probe for probe in made if same(probe.answer, reference)]
    assert is_first or not {probe.kind for probe in made} & set(ONCE)


def test_every_kind_is_asked_of_a_question_that_has_what_it_takes():
    made = list(probes("1. All A are B.\n∫ 3*x**2 + 2 dx", "x**3", ["7"], is_first=True))
    assert {probe.kind for probe in made} == set(Kind)


def test_without_a_reference_nothing_is_made_from_one():
    kinds = {probe.kind for probe in probes("Q", None, ["7"], is_first=True)}
    assert not kinds & {Kind.PERTURBED, Kind.HEDGE, Kind.WORDS}
    assert Kind.SWAP in kinds


def test_lines_lose_their_numbers_and_labels_and_full_stops():
    assert answers(Kind.LINE, "Premises:\n1. Tim is tall.\nInput: 0 1 2\n- a b") == [
        *("Premises:", "Tim is tall.", "0 1 2", "a b", "Tim is tall"),
    ]


def test_the_longest_expression_is_offered_unevaluated():
    made = answers(Kind.UNEVALUATED, "Find the integral: ∫ 70*x**6 + 12*x**2/5 dx. Use 2 + 2.")
    assert made[0] == "70*x**6 + 12*x**2/5"
    assert "integrate(70*x**6 + 12*x**2/5, x)" in made
    assert "expand(70*x**6 + 12*x**2/5)" in made
    assert answers(Kind.UNEVALUATED, "What is the capital of 12 islands?") == []


def test_a_reference_is_perturbed_at_both_ends_in_sign_and_in_length():
    assert answers(Kind.PERTURBED, reference="-19") == ["-29", "-10", "19", "-190", "1-19", "-1", "-19-19"]
    assert "No" in answers(Kind.PERTURBED, reference="Yes")


@pytest.mark.parametrize("hedge", ["12 or 7", "7 or 12", "12 and 7", "12, or maybe 7", "first 7, then 12", "12 no, 7"])
def test_a_hedge_names_the_reference_and_another_answer(hedge):
    assert hedge in answers(Kind.HEDGE)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        *(("Yes", " yes\n", True), ("0.50", "1/2", True), ("[1,2]", "[1, 2]", True), ('{"a":1}', '{"a": 1}', True)),
        *(("1", "01", True), ("1", "2", False), ("[1]", "[2]", False), ("a", "b", False), ("", "0", False)),
        *(("1e99999999", "2e99999999", False), ("[" * 5000, "[" * 4999, False), ("1/0", "2/0", False)),
    ],
)
def test_answers_are_the_same_as_text_number_or_json(one, other, expected):
    assert same(one, other) is expected
    assert same(other, one) is expected


@pytest.mark.parametrize(
    ("question", "reference", "kind"),
    [
        ("[[0 0 0 ... 0 0 0]\n [0 0 0 ... 0 0 1]]", "True", "elided question"),
        ("[[0 0]\n ...\n [0 0]]", "True", "elided question"),
        ("What follows? 1, 2, 3, ...", "4", None),
        ("Wait ... 3?", "4", None),
        ("Q", "null", "degenerate reference"),
        ("Q", " {}", "degenerate reference"),
        ("Q", "", "degenerate reference"),
        ("Q", "[]", None),
        ("Q", None, None),
    ],
)
def test_what_a_question_shows_by_itself(question, reference, kind):
    found = fault(Problem("t", "0", 0, question, reference, "{}"))
    assert (found and found[0]) == kind


def test_a_reference_that_is_none_is_looked_for_among_everything_an_item_holds():
    entry = '{"question": "Q", "metadata": {"solution": {"0": 1}, "n": 3, "text": "left"}}'
    assert list(candidates(Problem("t", "0", 0, "Q", None, entry))) == ['{"0": 1}', "3", "left"]
    assert list(candidates(Problem("t", "0", 0, "Q", "5", entry))) == ["5"]
    assert list(candidates(Problem("t", "0", 0, "Q", None, ""))) == []


@given(TEXTS.filter(str.strip))
def test_every_benign_form_holds_the_reference(reference):
    for name, text in benign(reference):
        assert reference.casefold() in text.casefold() or name == "upper case"
