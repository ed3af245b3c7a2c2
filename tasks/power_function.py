r"""Powers of a number to three significant figures.

    Your task is to compute an exponentiation of a number.

    Compute -261.8937^0. Return your final answer correct to 3 significant figures.
    Provide your answer in scientific notation using 'e' notation (e.g., 1.23e+4).

Reference: 1.0. In Reasoning Gym 0.1.25 the base is not put in brackets: -2^4 stands for (-2)^4. The normaliser turns
LaTeX's scientific notation into e-notation (the paper's appendix B.3).
"""

import re

from rgsupport.latex import approximate_part, plain, sides, unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_MAX_CHARS = 500
_SIGNED = r"([-+]?\s*[0-9]{1,4})"
_SCIENTIFIC = re.compile(
    r"([-+]?)\s*([0-9]{1,3}(?:(?:\{,\}|,)[0-9]{3})+(?:\.[0-9]*)?|[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
    rf"(?:\s*[*xX]\s*10\s*\^\s*(?:{_SIGNED}|\{{\s*{_SIGNED}\s*\}}|\(\s*{_SIGNED}\s*\))|\s*[eE]\s*(?:{_SIGNED}|\{{\s*{_SIGNED}\s*\}}))?"
)


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


TASKS = (
    ReasoningGymTask(
        name="power_function",
        dataset="power_function",
        normaliser=normalise,
        paper_class="shrinkage",
    ),
)
