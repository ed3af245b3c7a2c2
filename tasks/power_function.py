r"""Powers of a number to three significant figures.

    Your task is to compute an exponentiation of a number.

    Compute -261.8937^0. Return your final answer correct to 3 significant figures.
    Provide your answer in scientific notation using 'e' notation (e.g., 1.23e+4).

Reference: 1.0. In Reasoning Gym 0.1.25 the base is not put in brackets: -2^4 stands for (-2)^4. The normaliser turns
LaTeX's scientific notation into e-notation (the paper's appendix B.3). The checker computes the power exactly. By the
usual rule -2^4 is -(2^4); where the two readings differ, the question is doubted and the checker accepts either.
The guesser draws a sign, three figures and a power of ten from -24 to 24.
"""

import re
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, localcontext
from fractions import Fraction
from random import Random

from rgsupport.latex import approximate_part, plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 500
_SIGNED = r"([-+]?\s*[0-9]{1,4})"
_SCIENTIFIC = re.compile(
    r"([-+]?)\s*([0-9]{1,3}(?:(?:\{,\}|,)[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    rf"(?:\s*[*xX]\s*10\s*\^\s*(?:{_SIGNED}|\{{\s*{_SIGNED}\s*\}}|\(\s*{_SIGNED}\s*\))|\s*[eE]\s*(?:{_SIGNED}|\{{\s*{_SIGNED}\s*\}}))?"
)
_NUMBER = re.compile(r"([-+]?)([0-9]{1,400}(?:\.[0-9]{0,400})?|\.[0-9]{1,400})(?:e([-+]?[0-9]{1,4}))?")
_ASKED = re.compile(r"Compute (-?[0-9.]+(?:e-?[0-9]+)?)\^(-?[0-9]{1,3})\. Return")
_FIGURES = 3
_POWERS = 24


def normalise(answer: str) -> str:
    r"""Return a number in e-notation; the last side of an equation counts.

    >>> normalise(r"$1.23 \times 10^{4}$"), normalise("1.76 × 10⁻²²"), normalise("1,234"), normalise("large")
    ('1.23e4', '1.76e-22', '1234', 'large')
    """
    if len(answer) > _MAX_CHARS:
        return answer
    last = sides(plain(approximate_part(unwrap(answer))).replace("**", "^"))[-1]
    number = _SCIENTIFIC.fullmatch(unwrap(last))
    if not number:
        return answer
    sign, digits, *exponents = number.groups()
    exponent = next(filter(None, exponents), None)
    digits = digits.replace("{,}", "").replace(",", "")
    return f"{sign}{digits}" + (f"e{''.join(exponent.split())}" if exponent else "")


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer is the power of the question to three significant figures, or right to more.

    Of more figures, all that are given must be right, or the number must round to the three right ones.

    Raises:
        ValueError: The question names no power.
    """
    if len(answer) > _MAX_CHARS:
        return False
    said = _NUMBER.fullmatch(normalise(answer))
    if not said:
        return False
    sign, digits, exponent = said.groups()
    number = Decimal(f"{sign}{digits}e{exponent or 0}")
    return any(_is_right(number, exact) for exact in _readings(problem))


def doubt(problem: Problem) -> str:
    """Return that the question has two readings with different values; empty if it has one."""
    values = _readings(problem)
    if len(values) < 2:
        return ""
    asked = _ASKED.search(problem.question)
    assert asked is not None
    base, exponent = asked.groups()
    return f"ambiguous question: {base}^{exponent} is ({base})^{exponent} or -({base.removeprefix('-')}^{exponent})"


def _readings(problem: Problem) -> set[Fraction]:
    """Return the values that the question may stand for."""
    asked = _ASKED.search(problem.question)
    if not asked:
        msg = "the question does not name a number and the power it is to be raised to"
        raise ValueError(msg)
    base, exponent = Fraction(asked.group(1)), int(asked.group(2))
    return {base**exponent, -(abs(base) ** exponent) if base < 0 else base**exponent}


def _is_right(number: Decimal, exact: Fraction) -> bool:
    """Tell whether a number is the exact value rounded to three significant figures, or right to more figures."""
    if not exact or not number:
        return exact == number
    with localcontext(prec=2 * _MAX_CHARS, Emin=-99_999, Emax=99_999):
        value = Decimal(exact.numerator) / Decimal(exact.denominator)
        rounded = _rounded(value)
        off, figures = abs(number - value), len(number.as_tuple().digits)
        if number in rounded:
            return True
        last = number.adjusted() - figures + 1
        all_right = figures >= _FIGURES and off <= Decimal(5).scaleb(last - 1)
        near = off <= Decimal(5).scaleb(value.adjusted() - _FIGURES)
        return all_right or (figures > _FIGURES and near and bool(_rounded(number) & rounded))


def _rounded(number: Decimal) -> set[Decimal]:
    """Return a number to three significant figures; in the middle between two, both ways of rounding are right."""
    unit = Decimal(1).scaleb(number.adjusted() - _FIGURES + 1)
    return {number.quantize(unit, rounding=rounding) for rounding in (ROUND_HALF_EVEN, ROUND_HALF_UP)}


def guess(problem: Problem, rng: Random) -> str:  # noqa: ARG001 - it looks at no question
    """Return any number with three figures."""
    figures, power = rng.randint(100, 999), rng.randint(-_POWERS, _POWERS)
    return f"{rng.choice(('', '-'))}{figures / 100:.2f}e{power}"


def odds(problem: Problem) -> float:
    """Return one over the numbers there are, 0 where the reference, of a smaller or larger power of ten, is none."""
    power = Decimal(problem.reference or "NaN").adjusted()
    return 1 / (2 * 900 * (2 * _POWERS + 1)) if abs(power) < _POWERS else 0.0


TASKS = (
    ReasoningGymTask(
        name="power_function",
        dataset="power_function",
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        doubter=doubt,
        paper_class="shrinkage",
    ),
)
