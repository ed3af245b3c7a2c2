"""An answer that is right, for every Reasoning Gym item, also where the dataset keeps no reference."""

import json
from collections import deque
from itertools import pairwise


def right_answer(entry):
    """Return a right answer to an item, which is a dictionary of Reasoning Gym."""
    if entry["answer"] is not None:
        return entry["answer"]
    return _FOUND[entry["metadata"]["source_dataset"]](entry)


def boxnet_plan(entry):
    """Move every box of a boxnet item along rows, then columns, to a target of its colour, one move a step."""
    squares = {
        tuple(map(float, name.split("_"))): list(items) for name, items in entry["metadata"]["initial_state"].items()
    }
    steps = []
    for start, items in squares.items():
        for box in [item for item in items if item.startswith("box_")]:
            target = box.replace("box_", "target_")
            goal = next(square for square in squares if target in squares[square])
            squares[goal].remove(target)
            path = _path(start, goal)
            steps += [{_agent(here): f"move({box}, square[{there[0]}, {there[1]}])"} for here, there in pairwise(path)]
            steps.append({_agent(goal): f"move({box}, {target})"})
    return json.dumps(steps)


def _agent(square):
    return f"Agent[{square[0]}, {square[1]}]"


def _path(start, goal):
    path = [start]
    while path[-1] != goal:
        x, y = path[-1]
        step = (x + (1 if goal[0] > x else -1), y) if x != goal[0] else (x, y + (1 if goal[1] > y else -1))
        path.append(step)
    return path


def rush_hour_moves(entry):
    """Search the moves of a rush hour item breadth first."""
    board = entry["metadata"]["board_config"]
    # The board names its cars A, B, ... in the order of the letters of its configuration.
    letters = {letter: chr(ord("A") + n) for n, letter in enumerate(sorted(set(board) - {"o", "x"}))}
    cells = {car: [at for at, sign in enumerate(board) if sign == letter] for letter, car in letters.items()}
    walls = frozenset(at for at, sign in enumerate(board) if sign == "x")
    strides = {car: at[1] - at[0] for car, at in cells.items()}
    lengths = {car: len(at) for car, at in cells.items()}
    start = tuple((car, at[0]) for car, at in cells.items())
    moves_to = {start: ""}
    queue = deque([start])
    while queue:
        state = queue.popleft()
        if dict(state)["A"] % 6 == 6 - lengths["A"]:
            return moves_to[state].strip()
        taken = walls | {at + strides[car] * i for car, at in state for i in range(lengths[car])}
        for n, (car, at) in enumerate(state):
            for steps in (1, -1):
                there = at + strides[car] * lengths[car] if steps > 0 else at - strides[car]
                same_row = strides[car] == 6 or there // 6 == at // 6
                if 0 <= there < 36 and same_row and there not in taken:
                    after = (*state[:n], (car, at + steps * strides[car]), *state[n + 1 :])
                    if after not in moves_to:
                        moves_to[after] = f"{moves_to[state]} {car}{steps:+d}"
                        queue.append(after)
    raise AssertionError(board)


_FOUND = {
    "boxnet": boxnet_plan,
    "graph_color": lambda entry: json.dumps(entry["metadata"]["possible_answer"]),
    "propositional_logic": lambda entry: entry["metadata"]["example_answer"],
    "rubiks_cube": lambda entry: entry["metadata"]["example_correct_answer"],
    "rush_hour": rush_hour_moves,
}
