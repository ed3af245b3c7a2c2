"""family_relationships: every word that is true of the two people, and no other; six references are wrong."""

from collections import deque
from itertools import permutations
from random import Random

import pytest
import reasoning_gym
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.types import Problem
from task_under_test import problems, task

# The way from one person to another, by parents (U), children (D) and spouses (S) -> words for her and for him.
WAYS = {
    "U": ("mother", "father"),
    "D": ("daughter", "son"),
    "S": ("wife", "husband"),
    "UD": ("sister", "brother"),
    "UU": ("grandmother", "grandfather"),
    "DD": ("granddaughter", "grandson"),
    "UUD": ("aunt", "uncle"),
    "UUDS": ("aunt", "uncle"),
    "UDD": ("niece", "nephew"),
    "SUDD": ("niece", "nephew"),
    "UUDD": ("cousin", "cousin"),
    "SU": ("mother-in-law", "father-in-law"),
    "DS": ("daughter-in-law", "son-in-law"),
    "SUD": ("sister-in-law", "brother-in-law"),
    "UDS": ("sister-in-law", "brother-in-law"),
    "SUDS": ("sister-in-law", "brother-in-law"),
}
ALL_WORDS = sorted({word for pair in WAYS.values() for word in pair} | {"friend", "parent", "spouse", "stepmother"})


def way(start, end):
    """Return the shortest way from one person of Reasoning Gym to another."""
    seen, queue = {start}, deque([(start, "")])
    while queue:
        person, steps = queue.popleft()
        if person == end:
            return steps
        spouse = [person.spouse] if person.spouse else []
        for letter, others in (("U", person.parents), ("D", person.children), ("S", spouse)):
            for other in others:
                if other not in seen:
                    seen.add(other)
                    queue.append((other, steps + letter))
    raise AssertionError((start, end))


def question(story, first, second):
    return f"{story}\n\nWhat is {first} to {second}? Respond only with the word that describes their relationship."


def problem_of(text, reference="mother"):
    return Problem("family_relationships", "0" * 16, 0, text, reference, "{}")


def check(text, answer):
    return task("family_relationships").check(problem_of(text), answer)


def test_the_six_wrong_references_of_the_evaluation_are_doubted_and_no_other():
    doubts = {p.index: task("family_relationships").doubt(p) for p in problems("family_relationships", count=50)}
    assert [index for index, doubt in doubts.items() if doubt] == [2, 31, 33, 37, 40, 44]
    assert all(doubts[index].startswith("wrong reference: ") for index in (2, 31, 33, 37, 40, 44))


@given(st.integers(0, 10**6), st.integers(3, 14))
def test_a_word_is_right_exactly_if_the_way_between_the_two_people_has_that_name(seed, size):
    dataset = reasoning_gym.create_dataset("family_relationships", seed=0, size=1)
    family = dataset._generate_family(Random(seed), size)
    story = dataset._generate_story(family)
    for first, second in permutations(sorted(family, key=lambda person: person.id), 2):
        expected = WAYS.get(way(second, first), ("", ""))[first.gender == "male"]
        text = question(story, first.name, second.name)
        assert [word for word in ALL_WORDS if check(text, word)] == [word for word in ALL_WORDS if word == expected]


STORY = "John is married to Isabella. They have a child called Edward. Edward is married to Victoria."


@pytest.mark.parametrize("template", [
    "What is {} to {}? Respond only with the word that describes their relationship.",
    "How is {} related to {}? Provide the relationship in one word.",
    "What relation is {} to {}? Answer with a single word.",
])  # fmt: skip
def test_every_form_of_the_question_is_read(template):
    assert check(f"{STORY}\n\n{template.format('Victoria', 'John')}", "daughter-in-law")
    assert not check(f"{STORY}\n\n{template.format('Victoria', 'John')}", "father-in-law")


@pytest.mark.parametrize(
    "answer",
    ["mother", "Mother.", " the mother ", "**mother**", "Mom", "mum", "his mother", "Isabella is Edward's mother."],
)
def test_benign_forms_of_a_right_word_are_right(answer):
    assert check(question(STORY, "Isabella", "Edward"), answer)


@pytest.mark.parametrize("answer", ["mother in law", "Mother-In-Law", "the mother in-law"])
def test_an_in_law_may_be_spelt_with_spaces(answer):
    assert check(question(STORY, "Isabella", "Victoria"), answer)


@pytest.mark.parametrize(
    "answer",
    [
        *(
            "father",
            "mother or father",
            "mother, father",
            "not the mother",
            "grandmother",
            "mother-in-law",
            "m o t h e r",
        ),
        *(
            "",
            " ",
            "in-law",
            "parent",
            "Isabella",
            "Edward is Isabella's mother",
            "mother" * 1000,
            "NaN",
            "None",
            "\ud800",
        ),
        *('__import__("os").system("touch x")', "(" * 10**5, "Isabella is Edward's", "the the mother"),
    ],
)
def test_whatever_else_is_wrong(answer):
    assert not check(question(STORY, "Isabella", "Edward"), answer)


def test_a_name_that_is_in_no_list_takes_the_sex_that_the_spouse_leaves_and_else_either():
    story = "Xavier is married to Isabella. They have children called Quinn and Anna."
    assert check(question(story, "Xavier", "Anna"), "father")
    assert not check(question(story, "Xavier", "Anna"), "mother")
    assert check(question(story, "Quinn", "Anna"), "sister")
    assert check(question(story, "Quinn", "Anna"), "brother")


def test_a_question_of_another_kind_is_a_defect():
    with pytest.raises(ValueError, match="not a story"):
        check("What is Isabella to Edward?", "mother")
