r"""Geometry of a triangle: orthocentre, radius of the incircle, angle; coordinates to 10, or to 100 if hard.

    In triangle ABC with coordinates A=(-7, -10), B=(-2, -3), and C=(-3, -6), find the measure (in degrees) of angle
    ABC. For all geometry problems: 1. Give coordinates in the form (x, y) 2. Round decimal answers to 3 decimal places
    3. Use the degree symbol ° for angles 4. Return only the angle, coordinates, or radius as your answer.

Reference: 17.10°. The verifier reads plain decimal numbers only, and compares a radius as text with three decimals. The
normaliser turns LaTeX numbers, fractions and roots into decimals (the paper's appendix B.3) and `^\circ` into °. It
cannot mend that the question asks for three decimals of an angle and the verifier rounds to two.
"""

import re
from decimal import ROUND_HALF_EVEN, Decimal

from rgsupport.latex import approximate_part, plain, sides, split_degrees, unwrap, value
from rgsupport.reasoning_gym import ReasoningGymTask

_MAX_CHARS = 500
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,15})?")
_THOUSANDTH = Decimal("0.001")


def normalise(answer: str) -> str:
    r"""Return an angle with its sign, a point as decimals in brackets, a radius with three decimals.

    >>> normalise(r"$17.1^\circ$"), normalise(r"\left(\frac{1}{2}, -3\right)"), normalise(r"r = \frac{\sqrt{5}}{2}")
    ('17.1°', '(0.5, -3)', '1.118')
    """
    if len(answer) > _MAX_CHARS:
        return answer
    text = unwrap(sides(plain(approximate_part(unwrap(answer))))[-1])
    read = _point(text) if "," in text else _angle(text) if split_degrees(text)[1] else _length(text)
    return answer if read is None else read


def _angle(text: str) -> str | None:
    number = _decimal(split_degrees(text)[0])
    return None if number is None else f"{number}°"


def _point(text: str) -> str | None:
    """Read a pair of numbers in brackets, or bare."""
    inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
    x, y, *more = (_decimal(part) for part in inner.split(","))
    return None if more or x is None or y is None else f"({x}, {y})"


def _length(text: str) -> str | None:
    """Read a radius, or an angle without its sign: the verifier compares them to three and to two decimals."""
    number = _decimal(text)
    if number is None:
        return None
    rounded = Decimal(number).quantize(_THOUSANDTH, rounding=ROUND_HALF_EVEN)
    # An angle rounded to ...5 here would be rounded once more by the verifier, perhaps the wrong way. No angle in
    # degrees is written with roots.
    may_be_angle = not isinstance(value(text), float)
    is_between = Decimal(number) != rounded and str(rounded).endswith("5")
    return number if may_be_angle and is_between else str(rounded)


def _decimal(text: str) -> str | None:
    """Return a number as decimal digits: unchanged if it is one, else computed."""
    text = text.strip()
    if _DECIMAL.fullmatch(text):
        return text
    number = value(text)
    if number is None or abs(number) >= 10**15:
        return None
    return format(Decimal(repr(float(number))), "f")


def _task(name: str, **overrides: int) -> ReasoningGymTask:
    return ReasoningGymTask(
        name=name,
        dataset="advanced_geometry",
        overrides=overrides,
        normaliser=normalise,
        paper_class="preservation",
    )


TASKS = (
    _task("advanced_geometry"),
    _task("advanced_geometry_hard", min_coord=-100, max_coord=100),
)
