"""boxnet: the plan, in whatever shape of JSON it comes; the simulation decides."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from right_answers import boxnet_plan
from task_under_test import is_right, problems, task

FORMS = (
    lambda plan: json.dumps(plan),
    lambda plan: f"```json\n{json.dumps(plan)}\n```",
    lambda plan: f"My plan:\n```\n{json.dumps(plan, indent=1)}\n```\nDone.",
    lambda plan: json.dumps([*plan, 5, None, "done", []]),
    lambda plan: json.dumps(plan).replace(", square", ",square").replace(", target", ",target"),
    lambda plan: json.dumps([{agent: {agent: action} for agent, action in step.items()} for step in plan]),
    lambda plan: json.dumps([{agent: {"action": action} for agent, action in step.items()} for step in plan]),
    lambda plan: json.dumps([{agent: [action] for agent, action in step.items()} for step in plan]),
)


@pytest.mark.parametrize("form", FORMS)
@given(at=st.integers(0, 49), left_out=st.none() | st.integers(0, 30))
def test_a_plan_is_right_when_every_box_reaches_a_target(form, at, left_out):
    problem = problems("boxnet")[at]
    plan = json.loads(boxnet_plan(codec.decode(problem.entry)))
    if left_out is not None and left_out < len(plan):  # a box is moved no more once a step of its way is left out
        del plan[left_out]
        assert not is_right("boxnet", problem, form(plan))
    else:
        assert is_right("boxnet", problem, form(plan))


def test_a_single_step_need_not_be_a_list():
    assert task("boxnet").normalise('{"Agent[0.5, 0.5]": "wait"}') == '[{"Agent[0.5, 0.5]": "wait"}]'


@pytest.mark.parametrize(
    ("answer", "read"),
    [
        ("5", "5"),
        ('"move"', '"move"'),
        ("null", "null"),
        ("[" * 3000, "[" * 3000),
        ("1" * 5000, "1" * 5000),
        ("[1, [2], {}]", "[{}]"),
        ('[{"Agent[0.5, 0.5]": 5}]', "[{}]"),
        ('[{"Agent[0.5, 0.5]": {}}]', "[{}]"),
        ('[{"a": {"b": "x", "a": "y"}}]', '[{"a": "y"}]'),
    ],
)
def test_a_plan_of_another_shape_becomes_steps_or_stays(answer, read):
    assert task("boxnet").normalise(answer) == read


@pytest.mark.parametrize(
    "answer",
    [
        '{"a":1}',
        "5",
        "null",
        "[[1]]",
        '[{"Agent[0.5, 0.5]": 5}]',
        '[{"x": "move(box_red, target_red)"}]',
        "[null]",
        "true",
    ],
)
def test_a_shape_at_which_the_verifier_raises_scores_nothing(answer):
    for problem in problems("boxnet"):
        assert task("boxnet").score(problem, answer) < 1
        assert not is_right("boxnet", problem, answer)


def test_a_move_off_the_grid_scores_nothing():
    for problem in problems("boxnet"):
        state = codec.decode(problem.entry)["metadata"]["initial_state"]
        square, items = next((square, items) for square, items in state.items() if any("box" in item for item in items))
        x, y = map(float, square.split("_"))
        box = next(item for item in items if item.startswith("box"))
        away = [{f"Agent[{x}, {y}]": f"move({box}, square[{x}, {y + step}])"} for step in (-1, 1)]
        assert not any(is_right("boxnet", problem, json.dumps([step])) for step in away)
