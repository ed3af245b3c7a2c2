r"""Chances with dice, as reduced fractions.

    I have these dice: 1d20, 1d17, 1d15, 1d10. What are the odds of rolling 31 or higher? (Assume that all dice are
    rolled at once, and that '1d6' represents one roll of a 6-sided dice.) Please respond with a reduced fraction
    representing the probability [ex., 1/60].

Reference: 1229/2040. The verifier compares texts; the normaliser reduces the fraction and reads `\frac{1}{60}` (the
paper's appendix B.3). A decimal number stays as it is: it may be rounded, and a fraction is asked for. The checker
counts the throws, and accepts every fraction, decimal or percentage of exactly that value.
The guesser knows how many throws there are, and draws how many of them are good.
"""

import math
import re
from fractions import Fraction
from random import Random

from rgsupport.latex import exact_part, plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_RATIO = re.compile(
    r"\s*(?:\\frac\s*\{\s*([0-9]{1,40})\s*\}\s*\{\s*([0-9]{1,40})\s*\}|([0-9]{1,40})\s*/\s*([0-9]{1,40}))\s*"
)
_DECIMAL = re.compile(r"\s*([0-9]{1,40}(?:\.[0-9]{0,40})?|\.[0-9]{1,40})\s*(\\?%)?\s*")
_DICE = re.compile(r"([0-9]{1,3})d([0-9]{1,4})")
_ASKED = re.compile(r"I have these dice: ([0-9d, ]+)\. What are the odds of rolling ([0-9]+) or higher\?")
_MAX_CHARS = 500


def normalise(answer: str) -> str:
    r"""Return a ratio of two whole numbers as a reduced fraction; the last side of an equation counts.

    >>> normalise("2 / 120"), normalise(r"$P = \frac{2}{120} = \frac{1}{60} \approx 0.0167$"), normalise("0.0167")
    ('1/60', '1/60', '0.0167')
    """
    ratio = _RATIO.fullmatch(unwrap(sides(plain(exact_part(unwrap(answer))))[-1]))
    if not ratio:
        return answer
    top, bottom = (int(digits) for digits in ratio.groups() if digits is not None)
    if bottom == 0:
        return answer
    reduced = Fraction(top, bottom)
    return f"{reduced.numerator}/{reduced.denominator}"


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is exactly the chance that the dice of the question show at least the number it names.

    Raises:
        ValueError: The question names no dice and no number.
    """
    asked = _ASKED.match(problem.question)
    if not asked:
        msg = "the question does not name dice and the number they are to reach"
        raise ValueError(msg)
    if len(answer) > _MAX_CHARS:
        return False
    said = _chance(unwrap(sides(plain(exact_part(unwrap(answer))))[-1]))
    dice = [(int(count), int(faces)) for count, faces in _DICE.findall(asked.group(1))]
    return said is not None and said == _at_least(dice, int(asked.group(2)))


def _chance(text: str) -> Fraction | None:
    """Return the value of a ratio of whole numbers, a decimal or a percentage."""
    ratio, decimal = _RATIO.fullmatch(text), _DECIMAL.fullmatch(text)
    if ratio:
        top, bottom = (int(digits) for digits in ratio.groups() if digits is not None)
        return Fraction(top, bottom) if bottom else None
    return Fraction(decimal.group(1)) / (100 if decimal.group(2) else 1) if decimal else None


def _at_least(dice: list[tuple[int, int]], target: int) -> Fraction:
    """Return the chance that the dice, as (how many, faces), show a sum of at least `target`."""
    ways = {0: 1}
    for faces in [faces for count, faces in dice for _ in range(count)]:
        thrown: dict[int, int] = {}
        for total, number in ways.items():
            for face in range(1, faces + 1):
                thrown[total + face] = thrown.get(total + face, 0) + number
        ways = thrown
    return Fraction(sum(number for total, number in ways.items() if total >= target), sum(ways.values()))


def guess(problem: Problem, rng: Random) -> str:
    """Return any of 1 to all throws, over all throws."""
    throws = _throws(problem)
    return f"{rng.randint(1, throws)}/{throws}"


def odds(problem: Problem) -> float:
    """Return one over the number of throws."""
    return 1 / _throws(problem)


def _throws(problem: Problem) -> int:
    return math.prod(int(faces) ** int(count) for count, faces in _DICE.findall(problem.question.split(". What")[0]))


TASKS = (
    ReasoningGymTask(
        name="dice",
        dataset="dice",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="preservation",
    ),
)
