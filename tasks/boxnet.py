"""Plan how agents on a grid move boxes to the targets of their colours.

    You are a central planner tasked with directing agents in a grid-like field to move colored boxes to their
    corresponding color-coded targets. [...] Please provide your final answer as a list of action dictionaries. [...]
    The current left boxes and agents are: Agent[0.5, 0.5]: I am in square[0.5, 0.5], I can observe ['box_red',
    'target_blue'], I can do ['move(box_red, square[0.5, 1.5])']
    Agent[0.5, 1.5]: I am in square[0.5, 1.5], I can observe ['target_red', 'box_blue', 'box_green', 'target_green'],
    I can do [...]

A plan is right when it brings every box to a target; it need not be short, and no reference is kept. The verifier
raises on JSON of another shape. The normaliser is that of the paper's appendix B.3: a code fence goes, a single step
becomes a list, what is no step is dropped, a nested action is taken out; a bare number stays and is rejected.
"""

import json
import re
from typing import cast

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_MAX_CHARS = 20_000
_NO_SPACE = re.compile(r"^move\(([^,\s]*),(?=\S)")


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


TASKS = (
    ReasoningGymTask(
        name="boxnet",
        dataset="boxnet",
        normaliser=normalise,
        paper_class="expansion",
        rejects=(AttributeError, IndexError, KeyError, TypeError),
    ),
)
