"""syllogism: whether a conclusion follows, by the known moods of logic and under what leaves the logic unchanged."""

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.registry import PAPER_TASKS
from rgsupport.types import Problem
from task_under_test import is_right, is_strictly_right, problems, task

FORMS = {"A": "All {} are {}", "E": "No {} are {}", "I": "Some {} are {}", "O": "Some {} are not {}"}
SUBJECT, MIDDLE, PREDICATE = "ants", "bees", "cats"
FIGURES = {
    1: ((MIDDLE, PREDICATE), (SUBJECT, MIDDLE)),
    2: ((PREDICATE, MIDDLE), (SUBJECT, MIDDLE)),
    3: ((MIDDLE, PREDICATE), (MIDDLE, SUBJECT)),
    4: ((PREDICATE, MIDDLE), (MIDDLE, SUBJECT)),
}
# The textbook lists, mood by figure: https://en.wikipedia.org/wiki/Syllogism#Types
VALID = {1: "AAA EAE AII EIO", 2: "EAE AEE EIO AOO", 3: "IAI AII OAO EIO", 4: "AEE IAI EIO"}
VALID_IF_NO_SET_IS_EMPTY = {1: "AAI EAO", 2: "EAO AEO", 3: "AAI EAO", 4: "AAI EAO AEO"}

BARBARA = ("All bees are cats", "All ants are bees", "All ants are cats")
NOT_BARBARA = ("All bees are cats", "All ants are bees", "No ants are cats")
NOT_DISTRIBUTED = ("All ants are dolphins", "Some dolphins are not spiders", "Some ants are not spiders")


def question(first, second, conclusion):
    return (
        f"Consider these statements:\n1. {first}\n2. {second}\n\n"
        f"Does it logically follow that:\n{conclusion}?\n(Answer Yes or No)"
    )


def asked(*statements, reference=None):
    return Problem("syllogism", "0" * 16, 0, question(*statements), reference, "{}")


def right(*statements):
    return {answer for answer in ("Yes", "No") if task("syllogism").check(asked(*statements), answer)}


def mood_and_figure(moods):
    return {(tuple(mood), figure) for figure, names in moods.items() for mood in names.split()}


def test_of_the_256_moods_those_of_the_textbooks_are_valid():
    assert len(mood_and_figure(VALID)) == 15
    assert len(mood_and_figure(VALID_IF_NO_SET_IS_EMPTY)) == 9
    verdicts = {frozenset({"Yes"}): set(), frozenset({"No"}): set(), frozenset({"Yes", "No"}): set()}
    for mood, (figure, (major, minor)) in product(product(FORMS, repeat=3), FIGURES.items()):
        terms = (major, minor, (SUBJECT, PREDICATE))
        statements = [FORMS[letter].format(*pair) for letter, pair in zip(mood, terms, strict=True)]
        verdicts[frozenset(right(*statements))].add((mood, figure))
        is_doubted = task("syllogism").doubt(asked(*statements)) != ""
        assert is_doubted == ((mood, figure) in mood_and_figure(VALID_IF_NO_SET_IS_EMPTY))
    assert verdicts[frozenset({"Yes"})] == mood_and_figure(VALID)
    assert verdicts[frozenset({"Yes", "No"})] == mood_and_figure(VALID_IF_NO_SET_IS_EMPTY)


@pytest.mark.parametrize(
    ("premise", "conclusion", "answers"),
    [
        ("No ants are bees", "No bees are ants", {"Yes"}),
        ("Some ants are bees", "Some bees are ants", {"Yes"}),
        ("All ants are bees", "Some bees are ants", {"Yes", "No"}),
        ("No ants are bees", "Some bees are not ants", {"Yes", "No"}),
        ("No ants are bees", "Some bees are ants", {"No"}),
        ("All ants are bees", "All bees are ants", {"No"}),
        ("All ants are bees", "No bees are ants", {"No"}),
        ("Some ants are bees", "All bees are ants", {"No"}),
        ("Some ants are not bees", "Some bees are not ants", {"No"}),
        ("Some ants are not bees", "Some bees are ants", {"No"}),
    ],
)
def test_a_premise_turned_round_is_judged_with_the_other_premise_as_a_bystander(premise, conclusion, answers):
    assert right(premise, "All bees are cats", conclusion) == answers
    assert right("All bees are cats", premise, conclusion) == answers


def test_two_premises_that_contradict_each_other_are_followed_by_anything():
    for conclusion in ("Some ants are cats", "No ants are cats", "All cats are ants"):
        assert right("All ants are bees", "Some ants are not bees", conclusion) == {"Yes"}


def test_the_undistributed_middle_that_reasoning_gym_takes_for_valid_is_a_wrong_reference():
    problem = task("syllogism").problems(count=20, seed=0)[11]
    assert question(*NOT_DISTRIBUTED) == problem.question
    assert problem.reference == "Yes"
    assert is_strictly_right("syllogism", problem, "Yes")
    assert not task("syllogism").check(problem, "Yes")
    assert task("syllogism").check(problem, "No")
    assert task("syllogism").doubt(problem) == "wrong reference: the task's own checker rejects 'Yes'"


def test_a_question_that_depends_on_empty_sets_is_ambiguous_whatever_the_reference():
    problem = asked("All bees are cats", "All ants are bees", "Some ants are cats", reference="Yes")
    expected = "ambiguous question: the conclusion follows only if none of the sets is empty"
    assert task("syllogism").doubt(problem) == expected
    assert task("syllogism").doubt(replace(problem, reference="No")) == expected


STATEMENTS = st.builds(
    lambda form, one, other: FORMS[form].format(one, other),
    st.sampled_from(sorted(FORMS)),
    st.sampled_from(["ants", "bees"]),
    st.sampled_from(["bees", "cats"]),
)


@given(STATEMENTS, STATEMENTS, STATEMENTS)
def test_neither_the_order_of_the_premises_nor_the_names_of_the_terms_matter(first, second, conclusion):
    answers = right(first, second, conclusion)
    assert answers
    assert right(second, first, conclusion) == answers
    renamed = [s.replace("ants", "whales").replace("cats", "ants").replace("bees", "fish") for s in (first, second)]
    renamed_conclusion = conclusion.replace("ants", "whales").replace("cats", "ants").replace("bees", "fish")
    assert right(*renamed, renamed_conclusion) == answers


@given(STATEMENTS, STATEMENTS)
def test_a_premise_follows_from_itself_and_never_its_denial(first, second):
    assert "Yes" in right(first, second, first)
    assert right(first, second, second) == {"Yes"}


NO_FORMS = [
    *(
        "No",
        "no",
        "NO.",
        " no\n",
        "**No**",
        "`No`",
        '"no"',
        "$No$",
        r"\boxed{No}",
        r"\boxed{\text{No}}",
        "```\nNo\n```",
    ),
    *("Answer: No", "answer: no.", "**Answer:** No", "**Answer: No**", "Answer: **No**", "The answer is no."),
    *("Final answer: No", "No, it does not", "No, it does not follow.", "No, it doesn't follow", "No, it doesn’t."),
    *(
        "No, it does not logically follow.",
        "No, this does not necessarily follow",
        "No, the conclusion does not follow.",
    ),
    *("No, the statement does not follow logically", "No: that does not follow", "**No**, it does not follow."),
]
NOTHING_SAID = [
    *(
        "",
        " ",
        ".",
        "Yes and no",
        "Yes or No",
        "No or Yes",
        "yes/no",
        "No Yes",
        "No, yes",
        "No\nYes",
        "No No",
        "No, no",
    ),
    *(
        "No, it follows",
        "No, it does follow",
        "Yes, it does not follow",
        "Yes, it doesn't",
        "No, it does",
        "not",
        "Nope",
    ),
    *("None", "Nothing", "Know", "N", "n", "0", "False", "maybe", "unknown", "No,", "No it is", "No, but yes", "No?"),
    *("Answer:", "Answer: Yes or No", "(Answer Yes or No)", "The answer is not no", "It does not follow", "no idea"),
    *("NaN", "null", '__import__("os").system("touch x")', "\ud800", "No\ud800", "n\u00f3", "ＮＯ", "n\u200bo"),
    *("No" * 50_000, "No " * 50_000, "[" * 100_000, "{" * 100_000, "(" * 100_000, "9" * 100_000, "no, it does" * 9_000),
    *("Answer:" * 15_000, "answer: " + " *" * 50_000, "**" * 50_000, "No," + " " * 100_000, " " * 100_000 + "No"),
]


@pytest.mark.parametrize("answer", NO_FORMS)
def test_every_way_to_say_no_is_right_where_nothing_follows(answer):
    assert task("syllogism").check(asked(*NOT_BARBARA), answer)
    assert not task("syllogism").check(asked(*BARBARA), answer)
    assert task("syllogism").normalise(answer) == "No"


@pytest.mark.parametrize(
    "answer", ["Yes", "yes.", "**Yes**", "Yes, it follows", "Yes, it does.", "Yes, the conclusion logically follows."]
)
def test_every_way_to_say_yes_is_right_where_it_follows(answer):
    assert task("syllogism").check(asked(*BARBARA), answer)
    assert not task("syllogism").check(asked(*NOT_BARBARA), answer)
    assert task("syllogism").normalise(answer) == "Yes"


@pytest.mark.parametrize("answer", NOTHING_SAID, ids=range(len(NOTHING_SAID)))
def test_what_says_nothing_or_two_things_is_wrong_whatever_follows(answer):
    for statements in (BARBARA, NOT_BARBARA, ("All ants are bees", "All bees are cats", "Some ants are cats")):
        assert not task("syllogism").check(asked(*statements), answer)
    assert task("syllogism").normalise(answer) == answer


PIECES = st.sampled_from(
    ["yes", "No", ",", ":", " ", "it", "does", "not", "follow", "s", "answer", "**", ".", "or", "\n"]
)


@given(st.lists(PIECES, max_size=12).map("".join))
def test_no_text_is_both_yes_and_no_and_the_lenient_verdict_never_beats_the_words(answer):
    says_yes, says_no = (task("syllogism").check(asked(*form), answer) for form in (BARBARA, NOT_BARBARA))
    assert not (says_yes and says_no)
    assert not says_yes or ("yes" in answer and "No" not in answer)
    assert not says_no or ("No" in answer and "yes" not in answer)
    normal = task("syllogism").normalise(answer)
    assert normal == ("Yes" if says_yes else "No" if says_no else answer)
    assert task("syllogism").normalise(normal) == normal


@pytest.mark.parametrize(
    "text",
    [
        "",
        "What follows?",
        question("All ants are not bees", "All bees are cats", "All ants are cats"),
        question("No ants are not bees", "All bees are cats", "All ants are cats"),
        question("Most ants are bees", "All bees are cats", "All ants are cats"),
        question("All ants are bees", "All cats are dogs", "All ants are cats"),
        question(*BARBARA).replace("\n2. ", "\n3. "),
    ],
)
def test_a_question_of_another_form_is_a_defect_and_no_wrong_answer(text):
    problem = replace(asked(*BARBARA), question=text)
    with pytest.raises(ValueError, match="no two premises and a conclusion about three terms"):
        task("syllogism").check(problem, "Yes")
    with pytest.raises(ValueError, match="no two premises and a conclusion about three terms"):
        task("syllogism").doubt(problem)


def test_no_reference_is_wrong_in_syllogisms_of_all_and_no_that_are_not_turned_round():
    hard = task("syllogism").with_params(
        {"allow_some": False, "allow_some_not": False, "invalid_ratio": 0.1, "inversion_probability": 0.0}
    )
    asked_hard = hard.problems(count=200, seed=0)
    assert len(asked_hard) == 200
    assert not [problem.question for problem in asked_hard if hard.doubt(problem)]


def test_the_task_is_built_in_and_no_task_of_the_paper():
    assert isinstance(task("syllogism"), ReasoningGymTask)
    assert "syllogism" not in PAPER_TASKS
    assert task("syllogism").paper_class is None
    assert task("syllogism").has_checker


def test_the_verifier_and_the_checker_agree_where_nothing_is_doubted():
    trusted = [problem for problem in problems("syllogism") if not task("syllogism").doubt(problem)]
    assert len(trusted) > 25
    for problem in trusted:
        for answer in ("Yes", "no.", "Answer: No", "Yes and no"):
            assert task("syllogism").check(problem, answer) == is_right("syllogism", problem, answer)
