r"""Geometry of a triangle: orthocentre, radius of the incircle, angle; coordinates to 10, or to 100 if hard.

    In triangle ABC with coordinates A=(-7, -10), B=(-2, -3), and C=(-3, -6), find the measure (in degrees) of angle
    ABC. For all geometry problems: 1. Give coordinates in the form (x, y) 2. Round decimal answers to 3 decimal places
    3. Use the degree symbol ° for angles 4. Return only the angle, coordinates, or radius as your answer.

Reference: 17.10°. The verifier reads plain decimal numbers only, and compares a radius as text with three decimals. The
normaliser turns LaTeX numbers, fractions and roots into decimals (the paper's appendix B.3) and `^\circ` into °. It
cannot mend that the question asks for three decimals of an angle and the verifier rounds to two. The checker computes
the triangle itself, and accepts exact forms, and decimals that are right as far as they go, if there are two of an
angle, or three of anything else.
The guesser draws an angle in hundredths of a degree, a radius in
thousandths and whole coordinates, the latter up to the largest coordinate of the question.
"""

import math
import re
from decimal import ROUND_HALF_EVEN, Decimal
from fractions import Fraction
from random import Random

from rgsupport.latex import approximate_part, plain, sides, split_degrees, unwrap, value
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 500
_DECIMAL = re.compile(r"-?[0-9]{1,15}(?:\.[0-9]{0,15})?")
_THOUSANDTH = Decimal("0.001")
_FEWEST = {"angle": 2, "radius": 3, "orthocentre": 3}  # decimals that an answer must have, unless it is exact
_ROUNDING = 1e-9
_LARGEST = 10**15  # no triangle of the question has anything larger; what is compared must fit into a float
_POINT = r"\((-?[0-9]{1,9}), (-?[0-9]{1,9})\)"
_TRIANGLE = re.compile(rf"A={_POINT}, B={_POINT}, and C={_POINT}")
_KIND = re.compile(r"(orthocenter)|(incircle)|(angle ABC\.|angle at B)")


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


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is what the question asks for about its triangle.

    Raises:
        ValueError: The question names no triangle, or nothing of it.
    """
    triangle, kind = _TRIANGLE.search(problem.question), _KIND.search(problem.question)
    if not triangle or not kind:
        msg = "the question does not ask for the orthocenter, incircle or angle of a triangle ABC"
        raise ValueError(msg)
    if len(answer) > _MAX_CHARS:
        return False
    numbers = [int(digits) for digits in triangle.groups()]
    text = unwrap(sides(plain(approximate_part(unwrap(answer))))[-1])
    a, b, c = zip(numbers[::2], numbers[1::2], strict=True)
    if kind.group(1):
        inner = text[1:-1] if text.startswith("(") and text.endswith(")") else text
        said, true = inner.split(","), _orthocentre(a, b, c)
        return len(said) == 2 and all(_agrees(s, t, "orthocentre") for s, t in zip(said, true, strict=True))
    if kind.group(2):
        return _agrees(text, _incircle_radius(a, b, c), "radius")
    return _agrees(split_degrees(text)[0], _angle_at_b(a, b, c), "angle")


def _agrees(text: str, true: Fraction | float, kind: str) -> bool:
    """Tell whether a text is a number that is the true one, exactly or rounded to the decimals it has."""
    text = text.strip()
    decimal = _DECIMAL.fullmatch(text)
    said = Fraction(text) if decimal else value(text)
    if said is None or abs(said) > _LARGEST or (not decimal and kind != "radius" and re.search(r"[+*]|.-", text)):
        return False  # a sum is no coordinate and no angle; a radius may be one, of roots
    decimals = len(text.partition(".")[2])
    off = abs(said - true)
    return off <= _ROUNDING or (bool(decimal) and decimals >= _FEWEST[kind] and off <= 0.5 * 10**-decimals + _ROUNDING)


_Point = tuple[int, int]


def _orthocentre(a: _Point, b: _Point, c: _Point) -> tuple[Fraction, Fraction]:
    """Return where the altitudes meet: h with (h - a)(b - c) = 0 and (h - b)(c - a) = 0."""
    (ux, uy), (vx, vy) = (b[0] - c[0], b[1] - c[1]), (c[0] - a[0], c[1] - a[1])
    p, q = a[0] * ux + a[1] * uy, b[0] * vx + b[1] * vy
    determinant = ux * vy - uy * vx
    return Fraction(p * vy - uy * q, determinant), Fraction(ux * q - p * vx, determinant)


def _incircle_radius(a: _Point, b: _Point, c: _Point) -> float:
    twice_area = abs((b[0] - a[0]) * (c[1] - a[1]) - (c[0] - a[0]) * (b[1] - a[1]))
    return twice_area / (math.dist(a, b) + math.dist(b, c) + math.dist(c, a))


def _angle_at_b(a: _Point, b: _Point, c: _Point) -> float:
    (ux, uy), (vx, vy) = (a[0] - b[0], a[1] - b[1]), (c[0] - b[0], c[1] - b[1])
    return math.degrees(math.atan2(abs(ux * vy - uy * vx), ux * vx + uy * vy))


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


def guess(problem: Problem, rng: Random) -> str:
    """Return any angle, radius or point."""
    kind, largest = _asked(problem)
    if kind == "orthocentre":
        return f"({rng.randint(-largest, largest)}, {rng.randint(-largest, largest)})"
    if kind == "radius":
        return f"{rng.randint(0, 1000 * largest) / 1000:.3f}"
    return f"{rng.randint(0, 18_000) / 100:.2f}°"


def odds(problem: Problem) -> float:
    """Return one over the angles, radii or points there are, 0 where the reference is none of them."""
    kind, largest = _asked(problem)
    numbers = [Decimal(digits) for digits in re.findall(r"-?[0-9.]+", problem.reference or "")]
    if kind == "orthocentre":
        is_possible = all(number == int(number) and abs(number) <= largest for number in numbers)
        return is_possible / (2 * largest + 1) ** 2
    if kind == "radius":
        return (numbers[0] <= largest) / (1000 * largest + 1)
    return 1 / 18_001


def _asked(problem: Problem) -> tuple[str, int]:
    """Return what is asked for, and the largest coordinate of the triangle, at least 1."""
    triangle, kind = _TRIANGLE.search(problem.question), _KIND.search(problem.question)
    if not triangle or not kind:
        msg = "the question does not ask for the orthocenter, incircle or angle of a triangle ABC"
        raise ValueError(msg)
    largest = max(1, *(abs(int(digits)) for digits in triangle.groups()))
    return ("orthocentre" if kind.group(1) else "radius" if kind.group(2) else "angle"), largest


def _task(name: str, **overrides: int) -> ReasoningGymTask:
    return ReasoningGymTask(
        name=name,
        dataset="advanced_geometry",
        overrides=overrides,
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class="preservation",
    )


TASKS = (
    _task("advanced_geometry"),
    _task("advanced_geometry_hard", min_coord=-100, max_coord=100),
)
