"""power_function: the number to three figures, in e-notation or in the scientific notation of LaTeX."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_under_test import assert_hedges_are_wrong, is_right, is_strictly_right, problems, task

NAME = "power_function"
FORMS = (
    "{m}e{e}",
    "{m}E{e:+d}",
    "{m} e {e}",
    r"{m} \times 10^{{{e}}}",
    r"${m}\times10^{{{e}}}$",
    r"{m} \cdot 10^{{{e}}}",
    "{m} × 10^{e}",
    "{m} * 10^{e}",
    "{m} x 10^({e})",
    "{m} * 10**{e}",
    r"{m}\text{{e}}{{{e}}}",
    r"(-524.07)^{{-8}} = {m} \times 10^{{{e}}}.",
    r"y \approx {m} \times 10^{{{e}}}",
)


@pytest.mark.parametrize("form", FORMS)
@given(
    units=st.integers(-9999, 9999),
    exponent=st.integers(-30, 30),
    at=st.integers(0, 49),
    close=st.booleans(),
)
def test_a_number_is_right_in_every_form_when_it_is_in_e_notation(form, units, exponent, at, close):
    problem = problems(NAME)[at]
    if close:  # the reference, give or take a unit of its third figure
        reference = Decimal(problem.reference)
        exponent = reference.adjusted()
        units = int(reference.scaleb(-exponent) * 100) * 10 + units % 3 * 10
    mantissa = f"{Decimal(units).scaleb(-3):f}"
    expected = is_strictly_right(NAME, problem, f"{mantissa}e{exponent}")
    assert is_right(NAME, problem, form.format(m=mantissa, e=exponent)) == expected


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("1.76 × 10⁻²²", "1.76e-22"),
        ("−1.76 × 10^−22", "-1.76e-22"),
        ("1,234,567", "1234567"),
        ("1{,}234.5", "1234.5"),
        ("0.00123", "0.00123"),
        ("+5.", "+5"),
        (".5e3", ".5e3"),
    ],
)
def test_a_number_is_read_as_what_it_says(answer, read):
    assert task(NAME).normalise(answer) == read


@pytest.mark.parametrize(
    "answer",
    ["1.2 × 10^", "1.2 × 9^4", "1.2.3e4", "1e2e3", "1,23", "e5", "about 1e5", "1 000", "1e99999", "nan", "1/2", "2^3"],
)
def test_what_is_no_number_stays_as_it_is(answer):
    assert task(NAME).normalise(answer) == answer


def test_two_answers_are_none():
    for problem in problems(NAME)[:5]:
        assert_hedges_are_wrong(NAME, problem, problem.reference, "5.55e5")
