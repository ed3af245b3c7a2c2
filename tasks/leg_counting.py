"""How many legs some animals have together.

    Your task is to count how many legs there are in total when given a list of animals.

    Now, how many legs are there in total if you have 3 sea slugs, 12 deers, 2 giraffes, 11 elephants?

Reference: 100. The verifier compares texts; the normaliser takes away a unit, a full stop and commas between thousands.
The checker adds up the legs itself.
The guesser knows that no animal here has more than 14 legs, and draws a number up to 14 for each of them.
"""

import re
from random import Random

from rgsupport.latex import plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_COUNT = re.compile(
    r"(?:(?:the )?(?:total|answer)(?: number of legs)?(?: is|:)\s*)?"
    r"([0-9]{1,3}(?:,[0-9]{3}){1,4}|[0-9]{1,12})(?:\.0{1,3})?(?:\s*(?:total )?legs?(?: in total)?)?",
    re.IGNORECASE,
)
_MAX_CHARS = 500
_ASKED = re.compile(r"if you have (.+)\?\s*\Z")
_ANIMALS = re.compile(r"([0-9]+) ([a-z ]+)")
_LEGS = {
    0: "snake, sea slug, jellyfish, flatworm, leech",
    2: "chicken, bird, human, duck",
    4: "dog, cat, cow, horse, lion, elephant, giraffe, tiger, deer, sheep",
    5: "starfish",  # its arms, on which it walks
    6: "insect, ant, butterfly, beetle, bee, wasp, grasshopper, cricket, cockroach, praying mantis, firefly",
    8: "spider, scorpion",
    10: "crab, lobster, shrimp",
    14: "woodlouse",
}
_LEGS_OF = {animal: legs for legs, animals in _LEGS.items() for animal in animals.split(", ")}


def normalise(answer: str) -> str:
    """Return a count of legs as digits; the last side of an equation counts.

    >>> normalise("1,234 legs."), normalise("12 + 48 = 60"), normalise("about 60")
    ('1234', '60', 'about 60')
    """
    count = _COUNT.fullmatch(unwrap(sides(plain(unwrap(answer)))[-1]))
    return str(int(count.group(1).replace(",", ""))) if count else answer


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is the number of legs of all animals of the question.

    Raises:
        ValueError: The question names no animals, or one that is not known here.
    """
    asked = _ASKED.search(problem.question)
    herds = [_ANIMALS.fullmatch(part) for part in asked.group(1).split(", ")] if asked else [None]
    total = 0
    for herd in herds:
        # Reasoning Gym makes every plural with an s, as in "2 sheeps".
        legs = herd and _LEGS_OF.get(herd.group(2), _LEGS_OF.get(herd.group(2).removesuffix("s")))
        if herd is None or legs is None:
            msg = f"the question lists no animals, or one that is not known here: {problem.question!r}"
            raise ValueError(msg)
        total += int(herd.group(1)) * legs
    said = normalise(answer[: _MAX_CHARS + 1]).strip()
    return len(answer) <= _MAX_CHARS and said.isascii() and said.isdigit() and said == str(total)


def guess(problem: Problem, rng: Random) -> str:
    """Return any number of legs that so many animals may have."""
    return str(rng.randint(0, _most_legs(problem)))


def odds(problem: Problem) -> float:
    """Return one over the numbers there are."""
    return 1 / (_most_legs(problem) + 1)


def _most_legs(problem: Problem) -> int:
    asked = _ASKED.search(problem.question)
    return max(_LEGS) * sum(int(count) for count in re.findall("[0-9]+", asked.group(1) if asked else ""))


TASKS = (
    ReasoningGymTask(
        name="leg_counting",
        dataset="leg_counting",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="shrinkage",
    ),
)
