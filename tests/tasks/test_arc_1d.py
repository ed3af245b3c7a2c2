"""arc_1d: the row of digits, whatever stands between them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from task_under_test import is_right, problems, task

FORMS = (
    lambda row: " ".join(row),
    lambda row: "  ".join(row),
    lambda row: ", ".join(row),
    lambda row: f"[{', '.join(row)}]",
    lambda row: "".join(row),
    lambda row: rf"\begin{{array}}{{{'c' * len(row)}}} {' & '.join(row)} \end{{array}}",
    lambda row: rf"$\begin{{bmatrix}}{'&'.join(row)}\end{{bmatrix}}$",
    lambda row: r"\left[" + r" \, ".join(row) + r"\right]",
    lambda row: f"Output: {' '.join(row)}.",
    lambda row: "\n".join(row),
)


@pytest.mark.parametrize("form", FORMS)
@given(at=st.integers(0, 49), flip=st.integers(0, 60), digit=st.sampled_from("0123456789"))
def test_a_row_is_right_when_every_cell_is(form, at, flip, digit):
    problem = problems("arc_1d")[at]
    row = problem.reference.split()
    if flip < len(row):
        row[flip] = digit
    assert is_right("arc_1d", problem, form(row)) == (row == problem.reference.split())


@pytest.mark.parametrize("form", ["{} 0", "0 {}", "{0} or {0}", "{0} {0}", "-{}", "{}.5", "not {}"])
def test_more_than_the_row_is_wrong(form):
    for problem in problems("arc_1d"):
        assert not is_right("arc_1d", problem, form.format(problem.reference))


@pytest.mark.parametrize("answer", ["1 10 3", "1.5 2", "a b", "-1 2", "1; 2", "", "[]", "٣ ٤"])
def test_what_is_no_row_of_single_digits_stays_as_it_is(answer):
    assert task("arc_1d").normalise(answer) == answer
