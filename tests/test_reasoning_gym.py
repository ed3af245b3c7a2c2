"""Reasoning Gym's datasets as tasks: the questions are Reasoning Gym's own, distinct, and the same for ever."""

import random

import numpy as np
import pytest
import reasoning_gym
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from rgsupport.errors import UsageError
from rgsupport.reasoning_gym import SIZE, ReasoningGymTask, dataset_names, default_task, system_prompt, system_prompts
from rgsupport.seeds import problem_id

SEED = 45


def test_the_first_problem_is_the_datasets_first_item():
    (problem,) = default_task("leg_counting").problems(count=1, seed=SEED)
    item = reasoning_gym.create_dataset("leg_counting", seed=SEED, size=1)[0]
    assert (problem.index, problem.question, problem.reference) == (0, item["question"], item["answer"])
    assert codec.same(codec.decode(problem.entry), item)
    assert problem.id == problem_id(task="leg_counting", question=item["question"])


@pytest.mark.parametrize("name", ["tower_of_hanoi", "coin_flip", "prime_factorization"])
def test_repeated_questions_are_passed_over_and_their_indices_left_out(name):
    problems = default_task(name).problems(count=60, seed=SEED)
    dataset = reasoning_gym.create_dataset(name, seed=SEED, size=SIZE)
    asked = [dataset[index]["question"] for index in range(problems[-1].index + 1)]
    assert [problem.question for problem in problems] == list(dict.fromkeys(asked))
    assert [asked.index(problem.question) for problem in problems] == [problem.index for problem in problems]
    assert len(asked) > 60


@given(few=st.integers(0, 12), many=st.integers(0, 12), seed=st.integers(0, 1000))
def test_a_smaller_count_gives_the_first_problems_of_a_larger_one(few, many, seed):
    task = default_task("prime_factorization").with_params({"max_value": 60})
    few, many = sorted((few, many))
    assert task.problems(count=many, seed=seed)[:few] == task.problems(count=few, seed=seed)


@pytest.mark.parametrize("name", ["list_functions", "dice", "pool_matrix"])
def test_global_random_generators_do_not_matter(name):
    made = []
    for state in (1, 2):
        random.seed(state)
        np.random.seed(state)
        made.append(default_task(name).problems(count=30, seed=SEED))
    assert made[0] == made[1]


def test_an_index_at_which_a_generator_raises_is_passed_over():
    problems = default_task("pool_matrix").problems(count=3, seed=-2)  # it raises for a negative seed + index
    assert [problem.index for problem in problems] == [2, 3, 4]


def test_a_generator_that_raises_at_every_index_is_given_up():
    with pytest.raises(UsageError, match="task 'pool_matrix' cannot make problems with its parameters: Seed must be"):
        default_task("pool_matrix").problems(count=1, seed=2**32)


@pytest.mark.parametrize(
    ("dataset", "overrides", "message"),
    [
        ("prime_factorization", {"max_value": 9}, "has only 8 distinct questions within reach of seed 45, and 50 were"),
        ("graph_color", {"min_num_vertices": 30}, "cannot make problems with its parameters: empty range"),
        ("composite", {"datasets": [{"name": "no_such"}]}, "cannot be made with its parameters: Dataset 'no_such' not"),
        ("composite", {"datasets": 3}, "parameter 'datasets' of task 'composite' is of type list, like"),
        (
            "composite",
            {"datasets": [{"nme": "dice"}]},
            "parameter 'datasets' of task 'composite' is of type list, like",
        ),
        (
            "word_sorting",
            {"transformation": "sideways"},
            "is of type TextTransformation, like 'original', not 'sideways'",
        ),
        ("time_intervals", {"min_date": "yesterday"}, "is of type date, like '1900-01-01', not 'yesterday'"),
        ("graph_color", {"num_colors": True}, "is of type int, like 3, not True"),
        (
            "graph_color",
            {"edge_probability": 1},
            "refuses its parameters (edge_probability=1): edge_probability must be",
        ),
    ],
)
def test_parameters_that_give_no_problems_are_refused_in_one_line(dataset, overrides, message):
    with pytest.raises(UsageError) as error:
        default_task(dataset).with_params(overrides).problems(count=50, seed=SEED)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("dataset", "overrides", "shown"),
    [
        ("word_sorting", {"transformation": "uppercase"}, {"transformation": "uppercase"}),
        ("time_intervals", {"min_date": "2001-02-03"}, {"min_date": "2001-02-03"}),
        ("number_filtering", {"min_value": -5}, {"min_value": -5.0}),
        ("arc_agi", {"board_format_opts": {"col_delimiter": ","}}, {}),
        ("basic_arithmetic", {"operators": ["+", "-"]}, {"operators": ["+", "-"]}),
        ("composite", {"datasets": [{"name": "gcd", "weight": 2}]}, {}),
        ("codeio", {"difficulty": 7}, {"difficulty": 7}),
    ],
)
def test_parameters_can_be_given_as_text_and_json_write_them(dataset, overrides, shown):
    task = default_task(dataset).with_params(overrides)
    assert task.params.items() >= shown.items()
    assert task.with_params(task.params).params == task.params


def test_every_datasets_parameters_can_be_given_again():
    for name in dataset_names():
        task = default_task(name)
        assert task.with_params(task.params).params == task.params


def test_an_answer_is_scored_with_the_parameters_the_problem_was_made_with():
    # word_ladder's verifier knows only the word lengths of its own parameters.
    task = default_task("word_ladder").with_params({"min_word_length": 5, "max_word_length": 5})
    (problem,) = task.problems(count=1, seed=SEED)
    assert task.score(problem, problem.reference) == 1.0


def test_what_a_verifier_rejects_by_raising_scores_zero_if_the_task_says_so():
    task = default_task("prime_factorization")
    (problem,) = task.problems(count=1, seed=SEED)
    with pytest.raises(ValueError, match="invalid literal"):
        task.score(problem, "two")
    lenient = ReasoningGymTask(name="p", dataset="prime_factorization", rejects=(ValueError,))
    assert lenient.score(problem, "two") == 0.0


def test_a_verifier_that_writes_into_the_item_does_not_change_the_problem():
    task = default_task("knight_swap")
    (problem,) = task.problems(count=1, seed=SEED)
    assert [task.score(problem, problem.reference) for _ in range(3)] == [1.0] * 3


def test_an_item_of_bundled_programs_is_the_same_when_made_again(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some of them write files
    task = default_task("codeio")
    assert task.problems(count=3, seed=SEED) == task.problems(count=3, seed=SEED)


def test_system_prompts_are_found_by_name_or_file(tmp_path):
    assert system_prompts().keys() >= {"default", "DeepSeekZero", "simple", "direct", "chain_of_draft"}
    assert "<answer>" in system_prompt("default")
    assert system_prompt("none") is None
    (tmp_path / "mine.txt").write_text("Answer like a pirate.", encoding="utf-8")
    assert system_prompt(str(tmp_path / "mine.txt")) == "Answer like a pirate."
    with pytest.raises(
        UsageError, match=r"no system prompt 'defalt': neither one of .*default, .*, none, nor a text file"
    ):
        system_prompt("defalt")
