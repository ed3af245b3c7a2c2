"""What holds of the normaliser of every task."""

import doctest
import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from rgsupport.registry import PAPER_TASKS
from right_answers import right_answer
from task_under_test import is_right, problems, task

SIGNS = st.sampled_from([
    *"0123456789+-*/^=.,:;()[]{}<>'\"`$\\ \n°×·≈−²e",
    *(r"\frac", r"\sqrt", r"\times", r"\left", r"\text{", r"\begin{array}", "```", "```json", "move("),
    *("Agent[", "square", "null", "true", "the", "in law", "legs", "or"),
])  # fmt: skip
TEXTS = st.text(max_size=200) | st.lists(SIGNS, max_size=40).map("".join)


@pytest.mark.parametrize("name", PAPER_TASKS)
@given(answer=TEXTS)
def test_normalising_any_text_gives_a_text_that_normalising_leaves_alone(name, answer):
    once = task(name).normalise(answer)
    assert isinstance(once, str)
    assert task(name).normalise(once) == once


@pytest.mark.parametrize("name", PAPER_TASKS)
@pytest.mark.parametrize(
    "unit", ["0", " ", "(", "[", "{", '{"a":', "```", "= ", "a ", "0,", "1 x ", "'", "\n", r"\text{"]
)
def test_a_text_of_a_hundred_thousand_signs_is_read(name, unit):
    assert isinstance(task(name).normalise(unit * (100_000 // len(unit))), str)


@pytest.mark.parametrize("name", PAPER_TASKS)
@pytest.mark.parametrize("wrap", ["{}", " {}\n", "${}$", r"\({}\)", "**{}**", "`{}`", "```\n{}\n```"])
def test_a_right_answer_is_right_in_its_wrapping(name, wrap):
    for problem in problems(name):
        answer = wrap.format(right_answer(codec.decode(problem.entry)))
        assert is_right(name, problem, answer), answer


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_the_answer_to_another_question_is_right_only_where_it_is_strictly(name):
    answers = [right_answer(codec.decode(problem.entry)) for problem in problems(name)]
    for problem, answer in zip(problems(name), (*answers[1:], answers[0]), strict=True):
        assert is_right(name, problem, f" {answer} ") == (task(name).score(problem, answer) >= 1 - 1e-9)


@pytest.mark.parametrize("name", PAPER_TASKS)
@pytest.mark.parametrize(
    "answer", ["", ".", "None", "5", "null", "[]", "{}", "[[1]]", '{"a": 1}', "I do not know", "nan", "-"]
)
def test_garbage_scores_less_than_one_and_raises_nothing(name, answer):
    for problem in problems(name)[:10]:
        if answer != codec.decode(problem.entry)["answer"]:
            assert not is_right(name, problem, answer)
            json.dumps(task(name).score(problem, answer))


@pytest.mark.parametrize("name", PAPER_TASKS)
def test_the_examples_of_a_task_file_are_true(name):
    results = doctest.testmod(sys.modules[task(name).normaliser.__module__])
    assert results.attempted > 0
    assert results.failed == 0
