"""dice: the reduced fraction, however it is written; nothing else."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_under_test import assert_hedges_are_wrong, is_right, is_strictly_right, problems, task

FORMS = (
    "{}/{}",
    "{} / {}",
    r"\frac{{{}}}{{{}}}",
    r"\dfrac {{ {} }}{{ {} }}",
    r"$P(X \ge 31) = \frac{{{}}}{{{}}}$",
    "P = 1 - 1/3 = {}/{}",
    r"\boxed{{{}/{}}}",
    r"{}/{} \approx 0.0167",
    "{}/{}.",
)


@pytest.mark.parametrize("form", FORMS)
@given(times=st.integers(1, 10**6), off=st.integers(-3, 3), at=st.integers(0, 19))
def test_a_ratio_is_right_when_its_value_is_that_of_the_reference(form, times, off, at):
    problem = problems("dice")[at]
    reference = Fraction(problem.reference)
    top, bottom = reference.numerator * times + off, reference.denominator * times
    if top >= 0:
        assert is_right("dice", problem, form.format(top, bottom)) == (Fraction(top, bottom) == reference)


@pytest.mark.parametrize(
    "answer", ["0.602450980392156862745", "60.2%", "1229:2040", "1229/0", "1/1229/2040", "-1229/2040"]
)
def test_what_is_no_ratio_of_whole_numbers_stays_as_it_is(answer):
    assert task("dice").normalise(answer) == answer
    assert not is_right("dice", problems("dice")[0], answer)


def test_two_answers_are_none():
    for problem in problems("dice")[:5]:
        assert_hedges_are_wrong("dice", problem, problem.reference, "1/2")


def test_the_strict_verifier_takes_the_reduced_fraction_only():
    problem = problems("dice")[0]
    assert problem.reference == "1229/2040"
    assert is_strictly_right("dice", problem, "1229/2040")
    assert not is_strictly_right("dice", problem, "2458/4080")
