"""family_relationships: the word, with an article, quotes or a full stop; no synonyms."""

import pytest

from task_under_test import is_right, problems, task

NAME = "family_relationships"
WORDS = (
    *("mother", "father", "sister", "brother", "daughter", "son", "wife", "husband", "grandmother", "grandfather"),
    *("aunt", "uncle", "niece", "nephew", "mother-in-law", "father-in-law", "daughter-in-law", "son-in-law"),
)


@pytest.mark.parametrize("form", ["{}", "{}.", "The {}", "an {}.", '"{}"', "**{}**", r"\text{{{}}}", " {}\n"])
@pytest.mark.parametrize("word", WORDS)
def test_a_word_is_right_when_it_is_the_reference(form, word):
    for problem in problems(NAME):
        assert is_right(NAME, problem, form.format(word)) == (word == problem.reference)
        assert is_right(NAME, problem, form.format(word.upper())) == (word == problem.reference)


def test_an_in_law_may_be_written_with_spaces():
    assert task(NAME).normalise("Mother in law") == "mother-in-law"
    assert task(NAME).normalise("mother - in - law.") == "mother-in-law"


@pytest.mark.parametrize(
    "form",
    [
        "not {}",
        "{} or son",
        "son, {}",
        "son or {}",
        "step{}",
        "step-{}",
        "{} in law school",
        "{}?",
        "great {}",
        "half-{}",
    ],
)
def test_another_word_or_a_doubt_is_wrong(form):
    for problem in problems(NAME):
        assert not is_right(NAME, problem, form.format(problem.reference))
