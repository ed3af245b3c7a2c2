"""How many legs some animals have together.

    Your task is to count how many legs there are in total when given a list of animals.

    Now, how many legs are there in total if you have 3 sea slugs, 12 deers, 2 giraffes, 11 elephants?

Reference: 100. The verifier compares texts; the normaliser takes away a unit, a full stop and commas between thousands.
"""

import re

from rgsupport.latex import plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_COUNT = re.compile(
    r"(?:(?:the )?(?:total|answer)(?: number of legs)?(?: is|:)\s*)?"
    r"([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})(?:\.0{1,3})?(?:\s*(?:total )?legs?(?: in total)?)?",
    re.IGNORECASE,
)


def normalise(answer: str) -> str:
    """Return a count of legs as digits; the last side of an equation counts.

    >>> normalise("1,234 legs."), normalise("12 + 48 = 60"), normalise("about 60")
    ('1234', '60', 'about 60')
    """
    count = _COUNT.fullmatch(unwrap(sides(plain(unwrap(answer)))[-1]))
    return str(int(count.group(1).replace(",", ""))) if count else answer


TASKS = (
    ReasoningGymTask(
        name="leg_counting",
        dataset="leg_counting",
        normaliser=normalise,
        paper_class="shrinkage",
    ),
)
