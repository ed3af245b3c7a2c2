"""The checkers of tasks whose answer is a map, a plan, a word or a verdict, against other ways to decide it."""

import itertools
import json
from collections import deque
from dataclasses import replace

import pytest
import reasoning_gym
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from rgsupport.types import Problem
from right_answers import boxnet_plan
from task_under_test import problems, task


def asked(name, question, reference=None):
    return Problem(name, "0" * 16, 0, question, reference, "{}")


def check(name, question, answer, reference=None):
    return task(name).check(asked(name, question, reference), answer)


# graph_color

GRAPH = "Vertices: [0, 1, 2, 3]\nEdges: [(0, 1), (1, 2), (2, 3), (0, 2)]\nPossible colors: [1, 2, 3]\n"


def test_of_all_maps_those_are_right_that_colour_properly():
    edges = [(0, 1), (1, 2), (2, 3), (0, 2)]
    for colours in itertools.product((1, 2, 3, 4), repeat=4):
        is_proper = 4 not in colours and all(colours[one] != colours[other] for one, other in edges)
        assert check("graph_color", GRAPH, json.dumps(dict(enumerate(colours)))) == is_proper


RIGHT_MAP = '{"0": 1, "1": 2, "2": 3, "3": 1}'


@pytest.mark.parametrize(
    "answer",
    [
        RIGHT_MAP,
        f"```json\n{RIGHT_MAP}\n```",
        "{0: 1, 1: 2, 2: 3, 3: 1}",
        RIGHT_MAP.replace('"', "'"),
        '{"0": "1", "1": "2", "2": "3", "3": "1"}',
        f'{{"coloring": {RIGHT_MAP}}}',
        RIGHT_MAP.replace("}", ', "3": 1}'),
    ],
)
def test_every_form_of_a_colouring_is_right(answer):
    assert check("graph_color", GRAPH, answer)


@pytest.mark.parametrize(
    "answer",
    [
        '{"0": 1, "1": 2, "2": 3}',
        RIGHT_MAP.replace("}", ', "4": 1}'),
        RIGHT_MAP.replace("}", ', "3": 2}'),
        RIGHT_MAP.replace('"0": 1', '"0": true'),
        RIGHT_MAP.replace('"0": 1', '"0": 1.5'),
        f"{RIGHT_MAP} {RIGHT_MAP}",
    ],
)
def test_a_map_that_lacks_a_vertex_adds_one_or_contradicts_itself_is_wrong(answer):
    assert not check("graph_color", GRAPH, answer)


# boxnet


def board(squares):
    seen = "".join(
        f"Agent[{x}, {y}]: I am in square[{x}, {y}], I can observe {items}, I can do []\n"
        for (x, y), items in squares.items()
    )
    return f"The current left boxes and agents are: {seen}\n"


def agent(square):
    return f"Agent[{square[0]}, {square[1]}]"


def moves(squares, place):
    """Return every single action that is possible with one red box at a place: (action, where the box is then)."""
    x, y = place
    found = [
        (f"move(box_red, square[{a}, {b}])", (a, b))
        for a, b in ((x + 1, y), (x - 1, y), (x, y + 1), (x, y - 1))
        if (a, b) in squares
    ]
    if "target_red" in squares[place]:
        found.append(("move(box_red, target_red)", None))
    return found


@given(st.integers(1, 3), st.integers(1, 3), st.data())
def test_every_plan_that_a_search_finds_is_right_and_no_beginning_of_one(rows, columns, data):
    places = [(i + 0.5, j + 0.5) for i in range(rows) for j in range(columns)]
    start, goal = data.draw(st.sampled_from(places)), data.draw(st.sampled_from(places))
    squares = {place: ["box_red"] * (place == start) + ["target_red"] * (place == goal) for place in places}
    queue, found = deque([(start, [])]), 0
    while queue and found < 20:
        place, plan = queue.popleft()
        if place is None:
            found += 1
            assert check("boxnet", board(squares), json.dumps(plan))
            assert not check("boxnet", board(squares), json.dumps([*plan, plan[-1]]))
            continue
        assert not check("boxnet", board(squares), json.dumps(plan))
        if len(plan) < 6:
            queue.extend((then, [*plan, {agent(place): action}]) for action, then in moves(squares, place))
    assert found


@pytest.mark.parametrize("at", range(50))
def test_a_plan_that_lacks_a_step_or_repeats_one_is_wrong(at):
    problem = problems("boxnet")[at]
    plan = json.loads(boxnet_plan(codec.decode(problem.entry)))
    assert task("boxnet").check(problem, json.dumps(plan))
    assert not task("boxnet").check(problem, json.dumps(plan[1:]))
    assert not task("boxnet").check(problem, json.dumps([plan[0], *plan]))


TWO = board({(0.5, 0.5): ["box_red", "box_blue"], (0.5, 1.5): ["target_red", "target_blue", "box_red", "target_red"]})


def plan_of(*steps):
    return json.dumps(list(steps))


HERE, THERE = "Agent[0.5, 0.5]", "Agent[0.5, 1.5]"
RED, BLUE = ({HERE: f"move(box_{colour}, square[0.5, 1.5])"} for colour in ("red", "blue"))
RED_IN, BLUE_IN = ({THERE: f"move(box_{colour}, target_{colour})"} for colour in ("red", "blue"))


def test_agents_act_at_the_same_time_each_once_and_on_what_is_there_when_the_step_begins():
    assert check("boxnet", TWO, plan_of(RED | RED_IN, BLUE | RED_IN, BLUE_IN))
    assert check("boxnet", TWO, plan_of({}, RED, BLUE, RED_IN, RED_IN, BLUE_IN).replace(", square", ",square"))
    assert check("boxnet", TWO, "```json\n" + plan_of(RED, RED_IN, RED_IN, BLUE, BLUE_IN) + "\n```")
    # The blue box is not yet there when the second step begins.
    assert not check("boxnet", TWO, plan_of(RED | RED_IN, RED_IN, BLUE | BLUE_IN))
    assert not check("boxnet", TWO, plan_of(RED | RED_IN, BLUE | RED_IN, BLUE_IN, BLUE_IN))
    assert not check("boxnet", TWO, plan_of(RED | RED_IN, BLUE | {THERE: "move(box_red, target_blue)"}, BLUE_IN))
    twice = plan_of(RED, RED_IN, RED_IN, BLUE, BLUE_IN).replace("{", f'{{"{HERE}": "move(box_blue, target_blue)", ', 1)
    assert not check("boxnet", TWO, twice)


@pytest.mark.parametrize(
    "plan", ["[]", "{}", "[[1]]", "null", "[5]", '[{"a": 1}]', '[{"Agent[9.5, 9.5]": "move(box_red, target_red)"}]']
)
def test_a_plan_of_another_shape_is_wrong(plan):
    assert not check("boxnet", TWO, plan)


@pytest.mark.parametrize("there", ["[1.5, 0.5]", "[0.5, 2.5]", "[1.5, 1.5]", "[0.5, 0.5]", "[-0.5, 0.5]", "[nan, 0.5]"])
def test_a_move_off_the_grid_or_further_than_one_square_is_wrong(there):
    plan = plan_of({HERE: f"move(box_red, square{there})"}, RED_IN, RED_IN, BLUE, BLUE_IN)
    assert not check("boxnet", TWO, plan)


# palindrome_generation


def letters(text):
    return f"Now, form a valid palindrome using the following letters: {', '.join(text)}\n"


@given(st.text("abc", min_size=1, max_size=6))
def test_of_all_orders_of_the_letters_the_palindromes_are_right(text):
    for order in set(itertools.permutations(text)):
        word = "".join(order)
        assert check("palindrome_generation", letters(text), word) == (word == word[::-1])
    can = any(order == order[::-1] for order in itertools.permutations(text))
    assert bool(task("palindrome_generation").doubt(asked("palindrome_generation", letters(text)))) != can


@pytest.mark.parametrize(
    "answer", ["hah", "HAH", '"hah"', "h a h", "h, a, h", "h-a-h", "hah.", "Answer: hah", "**hah**"]
)
def test_every_form_of_a_palindrome_is_right(answer):
    assert check("palindrome_generation", letters("hha"), answer)


@pytest.mark.parametrize("answer", ["aha", "ahh", "hh", "haah", "hah hah", "hah, hah", "h.a.h!", "", "hah or hah"])
def test_another_word_is_wrong(answer):
    assert not check("palindrome_generation", letters("hha"), answer)


# arc_1d


@pytest.mark.parametrize(
    "answer", ["0 1 2", "[0, 1, 2]", "0  1 2", "012", "Output: 0 1 2", r"\begin{array}{ccc} 0 & 1 & 2 \end{array}"]
)
def test_every_form_of_the_row_is_right(answer):
    assert check("arc_1d", "Find", answer, reference="0 1 2")


@pytest.mark.parametrize(
    "answer", ["0 1 2 0", "0 1", "0 1 3", "2 1 0", "0 1 2 ...", "0 1 2 or 0 1 2", "12", "0.1.2", "0 1 -2", ""]
)
def test_another_row_is_wrong(answer):
    assert not check("arc_1d", "Find", answer, reference="0 1 2")


@pytest.mark.parametrize("seed", [45, 1000])
def test_a_changed_reference_is_doubted_where_a_simple_rule_explains_the_examples_and_a_true_one_never(seed):
    noticed = 0
    for problem in task("arc_1d").problems(count=100, seed=seed):
        assert task("arc_1d").doubt(problem) == ""
        first, rest = problem.reference.split(" ", 1)
        changed = replace(problem, reference=f"{(int(first) + 1) % 10} {rest}")
        noticed += task("arc_1d").doubt(changed).startswith("wrong reference: the rule that explains")
    assert noticed >= 70


# syllogism


def test_every_question_of_reasoning_gym_is_judged_as_a_search_for_counterexamples_judges_it():
    dataset = reasoning_gym.create_dataset("syllogism", seed=0, size=500)
    found = {"ambiguous": 0, "wrong": 0}
    for index in range(500):
        question, reference = dataset[index]["question"], dataset[index]["answer"]
        modern, classical = (follows(question, may_be_empty=empty) for empty in (True, False))
        doubt = task("syllogism").doubt(asked("syllogism", question, reference))
        right = {answer for answer in ("Yes", "No") if check("syllogism", question, answer)}
        assert right == {"Yes" if value else "No" for value in (modern, classical)}
        if modern != classical:
            assert doubt.startswith("ambiguous question: ")
            found["ambiguous"] += 1
        else:
            assert doubt.startswith("wrong reference: ") == (reference not in right)
            found["wrong"] += bool(doubt)
    assert found == {"ambiguous": 75, "wrong": 59}


def follows(question, *, may_be_empty):
    """Search three subsets of {0..4} in which the premises hold and the conclusion does not."""
    lines = [line.removeprefix("1. ").removeprefix("2. ").rstrip("?") for line in question.split("\n")]
    statements = [line for line in lines if " are " in line]
    names = sorted({word for line in statements for word in (line.split()[1], line.split()[-1])})
    for places in itertools.combinations_with_replacement(range(8), 4):
        sets = {name: {at for at, place in enumerate(places) if place >> bit & 1} for bit, name in enumerate(names)}
        if not may_be_empty and not all(sets.values()):
            continue
        *premises, conclusion = (holds(line, sets) for line in statements)
        if all(premises) and not conclusion:
            return False
    return True


def holds(statement, sets):
    quantifier, subject, *_, predicate = statement.split()
    one, other = sets[subject], sets[predicate]
    if quantifier == "All":
        return one <= other
    if quantifier == "No":
        return not one & other
    return bool(one - other) if " are not " in statement else bool(one & other)


ANTS = "1. All ants are bees\n2. All bees are cats\n\nDoes it logically follow that:\nAll ants are cats?\n"


@pytest.mark.parametrize("answer", ["Yes", "yes.", "**Yes**", "Yes, it follows", "Yes, it does follow"])
def test_every_form_of_a_right_verdict_is_right(answer):
    assert check("syllogism", ANTS, answer)


@pytest.mark.parametrize(
    "answer", ["No", "Yes and no", "Yes or No", "", "maybe", "Yes, it does not follow", "No, it does follow"]
)
def test_another_verdict_is_wrong(answer):
    assert not check("syllogism", ANTS, answer)
