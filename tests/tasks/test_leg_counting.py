"""leg_counting: the number, with a unit, a full stop or commas between thousands; nothing else."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_under_test import assert_hedges_are_wrong, is_right, problems, task

FORMS = (
    "{}",
    "{}.",
    "{:,}",
    "{} legs",
    "{} legs in total.",
    r"{} \text{{ legs}}",
    "{}.0",
    "Total: {}",
    "The total number of legs is {}.",
    "4 * 2 + 6 = {}",
    r"\boxed{{{}}}",
    "**{}**",
)


@pytest.mark.parametrize("form", FORMS)
@given(at=st.integers(0, 49), off=st.integers(-200, 9999) | st.just(0))
def test_a_count_is_right_when_it_is_that_of_the_reference(form, at, off):
    problem = problems("leg_counting")[at]
    count = int(problem.reference) + off
    if count >= 0:
        assert is_right("leg_counting", problem, form.format(count)) == (off == 0)


@pytest.mark.parametrize(
    "form",
    ["-{}", "about {}", "more than {}", "not {}", "{} or 5", "{}%", "{}.5", "1{}", "{}0", "{},5", "{} 5", "{} heads"],
)
def test_another_number_or_a_doubt_is_wrong(form):
    for problem in problems("leg_counting"):
        assert not is_right("leg_counting", problem, form.format(problem.reference))


def test_two_answers_are_none():
    for problem in problems("leg_counting")[:5]:
        assert_hedges_are_wrong("leg_counting", problem, problem.reference, "5")


@pytest.mark.parametrize("answer", ["1,23", "12,345,6", ",123", "١٢", "1e2", "60 legs or so"])
def test_what_is_no_plain_count_stays_as_it_is(answer):
    assert task("leg_counting").normalise(answer) == answer
