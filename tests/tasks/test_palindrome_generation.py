"""palindrome_generation: any palindrome of the letters; spaces, quotes and a full stop do not count."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from task_under_test import is_right, problems, task

NAME = "palindrome_generation"


@pytest.mark.parametrize("form", ["{}", '"{}"', "{}.", "'{}'.", r"\text{{{}}}", r"$\boxed{{{}}}$", "\n{} "])
@pytest.mark.parametrize("between", ["", " "])
def test_a_right_palindrome_is_right_in_every_form(form, between):
    for problem in problems(NAME):
        text = form.format(between.join(problem.reference))
        assert is_right(NAME, problem, text), text


@given(at=st.integers(0, 49), data=st.data())
def test_the_letters_in_another_order_are_right_only_when_they_are_a_palindrome(at, data):
    problem = problems(NAME)[at]
    letters = codec.decode(problem.entry)["metadata"]["letters"]
    word = "".join(data.draw(st.permutations(letters)))
    assert is_right(NAME, problem, f" {' '.join(word)}. ") == (word == word[::-1])


@pytest.mark.parametrize("form", ["The palindrome is {}", "{} or {}", "{}, {}", "{}x", "{}-", "{}{}"])
def test_more_than_the_palindrome_is_wrong(form):
    for problem in problems(NAME):
        assert not is_right(NAME, problem, form.format(problem.reference, problem.reference))


def test_signs_within_the_word_stay():
    assert task(NAME).normalise("h-a-h") == "h-a-h"
    assert task(NAME).normalise('ha"h') == 'ha"h'
