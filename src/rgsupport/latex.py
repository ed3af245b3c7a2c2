"""The small mathematical forms in which models write an answer: what wraps it, the sides of an equation, its value.

Everything here is a reading, not an evaluation: texts are parsed by hand within fixed bounds, in time linear in their
length, and what cannot be read with certainty is None.
"""

import math
import re
from fractions import Fraction

MAX_CHARS = 200
"""A longer text is no small form; its value is None."""

_MAX_DEPTH = 20
_MAX_EXPONENT = 999
_MAX_BITS = 8192

_WRAPPERS = (
    ("$$", "$$"),
    ("$", "$"),
    (r"\(", r"\)"),
    (r"\[", r"\]"),
    ("**", "**"),
    ("`", "`"),
    ('"', '"'),
    ("'", "'"),
    ("“", "”"),
    *((rf"\{command}{{", "}") for command in ("boxed", "text", "textbf", "mathrm", "mathbf")),
)
_FENCE = re.compile(r"```(?:json\b|python\b|[A-Za-z]*[ \t]*\n)?([^`]*)```")
_OFFERS = re.compile(r"\b(?:or|and)\b|[;?\n]", re.IGNORECASE)
_APPROXIMATELY = re.compile(r"≈|\\approx(?![A-Za-z])")
_DEGREES = re.compile(r"(?:\^\s*(?:\\circ|\{\s*\\circ\s*\})|°|\\degree|\bdegrees?)$")

_SAME = str.maketrans(
    {"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "∗": "*", "÷": "/", "\u00a0": " ", "\u202f": " "}
)
_COMMANDS = re.compile(
    r"\\(?:left|right|displaystyle|quad|[,;:! ])(?![A-Za-z])|\\(times|cdot|ast|div|[dtc]frac)(?![A-Za-z])"
)
_UPRIGHT = re.compile(r"\\(?:text|textbf|mathrm|mathbf)\s*\{([^{}]*)\}")
_MEANING = {"times": "*", "cdot": "*", "ast": "*", "div": "/", "dfrac": r"\frac", "tfrac": r"\frac", "cfrac": r"\frac"}
_SUPERSCRIPT = re.compile("[⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_LOWERED = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "+-0123456789")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]*)?|\.[0-9]+")
_DIGIT = re.compile(r"[0-9]")


def unwrap(text: str) -> str:
    r"""Return a text without what merely surrounds it: space, math signs, quotes, bold, a code fence, a full stop.

    >>> unwrap(" $\\boxed{60}$. ")
    '60'
    """
    text = unfence(text).strip()
    for _ in range(8):
        inner = text.removesuffix(".").strip() if len(text) > 1 else text
        for opening, closing in _WRAPPERS:
            if len(inner) > len(opening) + len(closing) and inner.startswith(opening) and inner.endswith(closing):
                middle = inner[len(opening) : -len(closing)]
                if _is_one(middle, closing):
                    inner = middle.strip()
                    break
        if inner == text:
            break
        text = inner
    return text


def unfence(text: str) -> str:
    """Return the content of a text's only code fence, or the text if it has none or several.

    >>> unfence('Here it is: ```json [1] ```')
    '[1]'
    """
    blocks = _FENCE.findall(text)
    return blocks[0].strip() if len(blocks) == 1 else text


def plain(text: str) -> str:
    r"""Return a text with one spelling per sign (`-`, `*`, `/`, `^{...}`, `\frac`), upright text and spacing undone.

    >>> plain(r"1.5 \times 10⁻⁴")
    '1.5 * 10^{-4}'
    """
    text = _UPRIGHT.sub(r"\1", text.translate(_SAME))
    text = _COMMANDS.sub(lambda match: _MEANING.get(match.group(1) or "", " "), text)
    return _SUPERSCRIPT.sub(lambda match: f"^{{{match.group().translate(_LOWERED)}}}", text)


def sides(text: str) -> list[str]:
    """Return the sides of a chain of equations, stripped; one, the whole text, if it is none or offers several answers.

    >>> sides("P = 2/120 = 1/60"), sides("x = 1 or x = 2")
    (['P', '2/120', '1/60'], ['x = 1 or x = 2'])
    """
    parts = [part.strip() for part in text.split("=")]
    # A name may hold a comma, such as (x, y); between two equations a comma parts answers.
    names, between = parts[:-1][:1], parts[1:-1]
    parted = any("," in part for part in between) or any("," in part and _DIGIT.search(part) for part in names)
    if parted or any(_OFFERS.search(part) for part in parts[:-1]):
        return [text.strip()]
    return parts


def exact_part(text: str) -> str:
    """Return what stands before the first sign of approximation, or the text.

    >>> exact_part("1/60 ≈ 0.0167")
    '1/60 '
    """
    return _APPROXIMATELY.split(text, maxsplit=1)[0]


def approximate_part(text: str) -> str:
    """Return what stands after the last sign of approximation, or the text.

    >>> approximate_part("√2 ≈ 1.414")
    ' 1.414'
    """
    return _APPROXIMATELY.split(text)[-1]


def split_degrees(text: str) -> tuple[str, bool]:
    r"""Return a text without the sign of degrees at its end, and whether it had one.

    >>> split_degrees(r"45^\circ"), split_degrees("45")
    (('45', True), ('45', False))
    """
    text = text.rstrip()
    found = _DEGREES.search(text, max(0, len(text) - 20))
    return (text[: found.start()].rstrip(), True) if found else (text, False)


def value(text: str) -> Fraction | float | None:
    r"""Return the value of an arithmetic text, exact as long as no irrational root is taken; None if it has none.

    Numbers, `+ - * /`, fractions, square roots, small whole powers, brackets and juxtaposition are read, in LaTeX or
    plain; signs of degrees are not.

    >>> value(r"\frac{2}{120}"), value("1.5 × 10^{-2}"), value("9^9^9"), value("two")
    (Fraction(1, 60), Fraction(3, 200), None, None)
    """
    if len(text) > MAX_CHARS:
        return None
    reader = _Reader(plain(text))
    try:
        result = reader.sum(depth=0)
    except (_UnreadableError, ZeroDivisionError, OverflowError, ValueError):
        return None
    if reader.peek() or (isinstance(result, float) and not math.isfinite(result)):
        return None
    return result


def _is_one(middle: str, closing: str) -> bool:
    """Tell whether an opening sign before `middle` is closed by the sign after it, not within."""
    if closing != "}":
        return closing not in middle
    depth = 0
    for sign in middle:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


class _UnreadableError(Exception):
    """The text is not of the grammar, or beyond the bounds."""


class _Reader:
    """Recursive descent over one text; every method reads from `self.at` on."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    def peek(self) -> str:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, sign: str) -> bool:
        self.peek()
        found = self.text.startswith(sign, self.at)
        self.at += len(sign) * found
        return found

    def sum(self, depth: int) -> Fraction | float:
        if depth > _MAX_DEPTH:
            raise _UnreadableError
        total = self.product(depth)
        while sign := self.peek():
            if sign not in "+-":
                break
            self.at += 1
            term = self.product(depth)
            total = total + term if sign == "+" else total - term
        return total

    def product(self, depth: int) -> Fraction | float:
        result = self.signed(depth)
        while sign := self.peek():
            if self.take("*"):
                result = result * self.signed(depth)
            elif self.take("/"):
                result = result / self.signed(depth)
            elif sign in "(√" or self.text.startswith(
                r"\sqrt", self.at
            ):  # 2(3), 2√3; not 2\frac{1}{2}, which may be 2.5
                result = result * self.power(depth)
            else:
                break
        return result

    def signed(self, depth: int) -> Fraction | float:
        if self.take("-"):
            return -self.power(depth)
        self.take("+")
        return self.power(depth)

    def power(self, depth: int) -> Fraction | float:
        base = self.atom(depth)
        if not (self.take("^") or self.take("**")):
            return base
        exponent = self.signed(depth + 1) if self.peek() in "+-" else self.atom(depth)
        if isinstance(exponent, float) or exponent.denominator != 1 or abs(exponent) > _MAX_EXPONENT:
            raise _UnreadableError
        if isinstance(base, Fraction) and _bits(base) * abs(exponent) > _MAX_BITS:
            raise _UnreadableError
        return base ** int(exponent)

    def atom(self, depth: int) -> Fraction | float:
        if self.take(r"\frac"):
            top = self.argument(depth)
            return top / self.argument(depth)
        if self.take(r"\sqrt") or self.take("√"):
            return _root(self.argument(depth))
        for opening, closing in (("(", ")"), ("{", "}")):
            if self.take(opening):
                inner = self.sum(depth + 1)
                if not self.take(closing):
                    raise _UnreadableError
                return inner
        return self.number(_NUMBER)

    def argument(self, depth: int) -> Fraction | float:
        # Without a group LaTeX takes a single digit: \frac12 is a half.
        return self.atom(depth) if self.peek() in ("{", "(") else self.number(_DIGIT)

    def number(self, pattern: re.Pattern[str]) -> Fraction:
        self.peek()
        found = pattern.match(self.text, self.at)
        if not found:
            raise _UnreadableError
        self.at = found.end()
        return Fraction(found.group())


def _bits(number: Fraction) -> int:
    return max(number.numerator.bit_length(), number.denominator.bit_length())


def _root(number: Fraction | float) -> Fraction | float:
    """Return the square root, exact where it is rational."""
    if isinstance(number, Fraction) and number >= 0:
        top, bottom = math.isqrt(number.numerator), math.isqrt(number.denominator)
        if top * top == number.numerator and bottom * bottom == number.denominator:
            return Fraction(top, bottom)
    return math.sqrt(number)
