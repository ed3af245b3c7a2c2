r"""Chances with dice, as reduced fractions.

    I have these dice: 1d20, 1d17, 1d15, 1d10. What are the odds of rolling 31 or higher? (Assume that all dice are
    rolled at once, and that '1d6' represents one roll of a 6-sided dice.) Please respond with a reduced fraction
    representing the probability [ex., 1/60].

Reference: 1229/2040. The verifier compares texts; the normaliser reduces the fraction and reads `\frac{1}{60}` (the
paper's appendix B.3). A decimal number stays as it is: it may be rounded, and a fraction is asked for.
"""

import re
from fractions import Fraction

from rgsupport.latex import exact_part, plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_RATIO = re.compile(
    r"\s*(?:\\frac\s*\{\s*([0-9]{1,40})\s*\}\s*\{\s*([0-9]{1,40})\s*\}|([0-9]{1,40})\s*/\s*([0-9]{1,40}))\s*"
)


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


TASKS = (ReasoningGymTask(name="dice", dataset="dice", normaliser=normalise, paper_class="preservation"),)
