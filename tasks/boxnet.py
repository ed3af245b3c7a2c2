"""Plan how agents on a grid move boxes to the targets of their colours.

    You are a central planner tasked with directing agents in a grid-like field to move colored boxes to their
    corresponding color-coded targets. [...] Please provide your final answer as a list of action dictionaries. [...]
    The current left boxes and agents are: Agent[0.5, 0.5]: I am in square[0.5, 0.5], I can observe ['box_red',
    'target_blue'], I can do ['move(box_red, square[0.5, 1.5])']
    Agent[0.5, 1.5]: I am in square[0.5, 1.5], I can observe ['target_red', 'box_blue', 'box_green', 'target_green'],
    I can do [...]

A plan is right when it brings every box to a target; it need not be short, and no reference is kept. The verifier
raises on JSON of another shape. The normaliser is that of the paper's appendix B.3: a code fence goes, a single step
becomes a list, what is no step is dropped, a nested action is taken out; a bare number stays and is rejected. The
checker plays the plan by the rules of the question; the verifier passes over moves that are impossible.
The guesser writes one step, in which every box takes
one of the moves that the question lists for it; that is right where all boxes are beside their targets.
"""

import json
import math
import re
from random import Random
from typing import cast

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 20_000
_NO_SPACE = re.compile(r"^move\(([^,\s]*),(?=\S)")
_Square = tuple[float, float]
_AT = r"\[\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*,\s*([0-9]{1,3}(?:\.[0-9]{1,3})?)\s*\]"
_AGENT = re.compile(rf"Agent{_AT}")
_MOVE = re.compile(rf"move\(\s*box_([^,()]{{1,40}}?)\s*,\s*(?:square{_AT}|target_([^,()]{{1,40}}?))\s*\)")
_SEEN = re.compile(rf"Agent{_AT}: I am in square\[[^\]]*\], I can observe \[([^\]]*)\], I can do ")


def normalise(answer: str) -> str:
    """Return a plan as a JSON list of steps, each a map of agents to actions.

    >>> normalise('```json {"Agent[0.5, 0.5]": "move(box_red,target_red)"} ```')
    '[{"Agent[0.5, 0.5]": "move(box_red, target_red)"}]'
    >>> normalise("5")
    '5'
    """
    text = unwrap(answer)
    if len(text) > _MAX_CHARS:
        return answer
    try:
        plan: object = json.loads(text)
    except (ValueError, RecursionError):
        return answer
    if not isinstance(plan, dict | list):
        return answer
    steps = [cast("object", plan)] if isinstance(plan, dict) else cast("list[object]", plan)
    maps = [cast("dict[str, object]", step) for step in steps if isinstance(step, dict)]
    return json.dumps([_actions(step) for step in maps])


def _actions(step: dict[str, object]) -> dict[str, str]:
    actions = {agent: _action(agent, value) for agent, value in step.items()}
    return {agent: _NO_SPACE.sub(r"move(\1, ", action) for agent, action in actions.items() if action is not None}


def _action(agent: str, value: object) -> str | None:
    """Return the action in a value: itself, that under the agent's own key, or the first one within."""
    if isinstance(value, dict):
        within = cast("dict[str, object]", value)
        value = within.get(agent, next(iter(within.values()), None))
    elif isinstance(value, list):
        value = next(iter(cast("list[object]", value)), None)
    return value if isinstance(value, str) else None


def check(problem: Problem, answer: str) -> bool:
    """Tell whether a plan brings every box to a target of its colour by possible moves alone.

    All agents of a step act at the same time, each in its own square: on a box that is there when the step begins.

    Raises:
        ValueError: The question describes no squares.
    """
    boxes: dict[_Square, list[str]] = {}
    targets: dict[_Square, list[str]] = {}
    for x, y, items in _SEEN.findall(problem.question):
        names = re.findall(r"'(box|target)_([^']*)'", items)
        boxes[float(x), float(y)] = [colour for kind, colour in names if kind == "box"]
        targets[float(x), float(y)] = [colour for kind, colour in names if kind == "target"]
    if not boxes:
        msg = "the question does not describe squares and what is in them"
        raise ValueError(msg)
    steps = _plan(answer) if len(answer) <= _MAX_CHARS else None
    if steps is None or not all(_play(step, boxes, targets) for step in steps):
        return False
    return not any(boxes.values())


def _plan(answer: str) -> list[dict[str, str]] | None:
    """Return the steps of a plan, each a map of agents to actions; None if the answer is something else."""
    try:
        plan: object = json.loads(unwrap(answer), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        return None
    steps = cast("list[object]", plan) if isinstance(plan, list) else [plan]
    for step in steps:
        if not isinstance(step, dict) or not all(isinstance(a, str) for a in cast("dict[str, object]", step).values()):
            return None
    return cast("list[dict[str, str]]", steps)


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    """Return a map, in which no agent may be named twice."""
    if len(dict(pairs)) < len(pairs):
        raise ValueError
    return dict(pairs)


def _play(step: dict[str, str], boxes: dict[_Square, list[str]], targets: dict[_Square, list[str]]) -> bool:
    """Move the boxes as the agents of one step say; tell whether every action is possible."""
    arrivals: list[tuple[_Square, str]] = []
    acting: set[_Square] = set()
    for agent, action in step.items():
        at, move = _AGENT.fullmatch(agent.strip()), _MOVE.fullmatch(action.strip())
        if not at or not move:
            return False
        square = (float(at.group(1)), float(at.group(2)))
        colour, x, y, target = move.groups()
        if square in acting or colour not in boxes.get(square, ()):
            return False
        acting.add(square)
        boxes[square].remove(colour)
        if target is None:
            there = (float(x), float(y))
            if there not in boxes or abs(there[0] - square[0]) + abs(there[1] - square[1]) != 1:
                return False
            arrivals.append((there, colour))
        elif target == colour and colour in targets[square]:
            targets[square].remove(colour)
        else:
            return False
    for there, colour in arrivals:
        boxes[there].append(colour)
    return True


def guess(problem: Problem, rng: Random) -> str:
    """Return one step, in which every agent takes any of the moves that are listed for its first box."""
    return json.dumps([{agent: rng.choice(moves[0]) for agent, moves in _listed(problem).items()}])


def odds(problem: Problem) -> float:
    """Return the chance that every box is moved to its target: 0 where one is elsewhere, or two share an agent."""
    boxes = list(_listed(problem).values())
    if any(len(moves) > 1 for moves in boxes):
        return 0.0
    return math.prod(sum("target_" in move for move in moves[0]) / len(moves[0]) for moves in boxes)


def _listed(problem: Problem) -> dict[str, list[list[str]]]:
    """Return each agent that sees a box, with the moves that are listed for each of its boxes."""
    found: dict[str, list[list[str]]] = {}
    for agent, listed in re.findall(r"(Agent\[[^\]]*\]): .*? I can do (\[.*\])", problem.question):
        moves: list[str] = re.findall(r"move\([^)]*\)", listed)
        boxes = dict.fromkeys(move.split(",")[0] for move in moves)
        if boxes:
            found[agent] = [[move for move in moves if move.startswith(f"{box},")] for box in boxes]
    return found


TASKS = (
    ReasoningGymTask(
        name="boxnet",
        dataset="boxnet",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="expansion",
        rejects=(AttributeError, IndexError, KeyError, TypeError),
    ),
)
