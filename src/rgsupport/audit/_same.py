"""Whether two answers say the same, whatever the task."""

import json
from fractions import Fraction


def same(one: str, other: str) -> bool:
    """Tell whether two answers are the same text but for case and white space, the same number or the same JSON.

    >>> same(" Yes", "yes"), same("1/2", "0.50"), same("[1,2]", "[1, 2]"), same("1", "2")
    (True, True, True, False)
    """
    if _plain(one) == _plain(other):
        return True
    numbers = _number(one), _number(other)
    if None not in numbers:
        return numbers[0] == numbers[1]
    values = _value(one), _value(other)
    return None not in values and values[0] == values[1]


def _plain(text: str) -> str:
    return " ".join(text.split()).casefold()


def _number(text: str) -> Fraction | None:
    if len(text) > 60 or "e" in text.lower():  # an exponent may ask for any amount of memory
        return None
    try:
        return Fraction(text.strip())
    except (ValueError, ZeroDivisionError):
        return None


def _value(text: str) -> object:
    """Return what a short JSON list or map holds."""
    if not text.strip().startswith(("[", "{")):
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
