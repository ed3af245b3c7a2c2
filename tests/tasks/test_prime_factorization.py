"""prime_factorization: all prime factors, however the product is written."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_under_test import assert_hedges_are_wrong, is_right, problems, task

NAMES = ("prime_factorization", "prime_factorization_hard")


def as_powers(factors, *, power, times):
    return times.join(str(p) if n == 1 else power.format(p, n) for p, n in Counter(factors).items())


FORMS = (
    lambda n, fs: " × ".join(map(str, fs)),
    lambda n, fs: "x".join(map(str, reversed(fs))),
    lambda n, fs: " * ".join(map(str, fs)) + ".",
    lambda n, fs: rf"${n} = " + r" \times ".join(map(str, fs)) + "$",
    lambda n, fs: r" \cdot ".join(map(str, fs)),
    lambda n, fs: " · ".join(map(str, fs)) + f" = {n}",
    lambda n, fs: ", ".join(map(str, fs)),
    lambda n, fs: as_powers(fs, power="{}^{}", times=" × "),
    lambda n, fs: as_powers(fs, power="{}^{{{}}}", times=r" \times "),
    lambda n, fs: as_powers(fs, power="({}**{})", times=" * "),
    lambda n, fs: f"{n} = {n // fs[0]} × {fs[0]} = " * (len(fs) > 1) + as_powers(fs, power="{}^{}", times=" × "),
)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", FORMS)
def test_the_right_factors_are_right_in_every_form(name, form):
    for problem in problems(name):
        factors = [int(factor) for factor in problem.reference.split(" × ")]
        text = form(math.prod(factors), factors)
        assert is_right(name, problem, text), text


@pytest.mark.parametrize("form", FORMS)
@given(factors=st.lists(st.sampled_from([1, 2, 3, 4, 5, 7, 9, 41, 656]), min_size=1, max_size=6), at=st.integers(0, 49))
def test_other_factors_are_wrong_in_every_form(form, factors, at):
    problem = problems("prime_factorization")[at]
    right = sorted(problem.reference.split(" × "))
    text = form(math.prod(factors), factors)
    assert is_right("prime_factorization", problem, text) == (sorted(map(str, factors)) == right)


def test_the_number_itself_is_wrong_unless_it_is_prime():
    for problem in problems("prime_factorization"):
        factors = [int(factor) for factor in problem.reference.split(" × ")]
        number = math.prod(factors)
        assert is_right("prime_factorization", problem, str(number)) == (len(factors) == 1)
        assert not is_right("prime_factorization", problem, f"1 × {number}")
        assert not is_right("prime_factorization", problem, f"{problem.reference} × 1")
        assert not is_right("prime_factorization", problem, f"{problem.reference} = {number + 1}")


def test_two_answers_are_none():
    for problem in problems("prime_factorization")[:5]:
        assert_hedges_are_wrong("prime_factorization", problem, problem.reference, "2 × 2")


@pytest.mark.parametrize("answer", ["two", "2 + 2", "2^0 × 3", "2^", "2 × ", "9^99", "-2 × -3", "2.0 × 3"])
def test_what_is_no_product_of_whole_numbers_stays_as_it_is(answer):
    assert task("prime_factorization").normalise(answer) == answer
