"""Small mathematical texts are read as what they mean, or not at all."""

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.latex import (
    MAX_CHARS,
    approximate_part,
    exact_part,
    plain,
    sides,
    split_degrees,
    unfence,
    unwrap,
    value,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("60", 60),
        ("-7.50", Fraction(-15, 2)),
        ("−7.5", Fraction(-15, 2)),
        (".5", Fraction(1, 2)),
        (r"\frac{1}{60}", Fraction(1, 60)),
        (r"-\dfrac{1}{60}", Fraction(-1, 60)),
        (r"\frac12", Fraction(1, 2)),
        (r"\tfrac{1+2}{\frac{3}{4}}", 4),
        ("1 / 60", Fraction(1, 60)),
        ("1/2/2", Fraction(1, 4)),
        ("2 + 3 * 4 - 1", 13),
        (r"2 \times 3 \cdot 4", 24),
        ("2 × 3 · 4 ÷ 6", 4),
        ("2^10", 1024),
        ("-2^2", -4),
        ("(-2)^{2}", 4),
        ("2**-1", Fraction(1, 2)),
        (r"1.23 \times 10^{4}", 12300),
        ("1.5 × 10⁻²", Fraction(3, 200)),
        (r"\left(1 + 2\right)(3)", 9),
        (r"\sqrt{16}", 4),
        (r"\sqrt{\frac{1}{4}}", Fraction(1, 2)),
        ("√9", 3),
        (r"2\sqrt{4}", 4),
        (r"1\,000", None),  # a space between digits may part two numbers
        (r"2\frac{1}{2}", None),  # a product or a mixed number
        ("1,234", None),
        ("1 2", None),
        ("", None),
        ("x", None),
        ("1/0", None),
        ("0^-1", None),
        (r"\sqrt{-1}", None),
        ("2^0.5", None),
        ("2^", None),
        ("((1)", None),
        ("1)", None),
        (r"\frac{1}", None),
        ("9^9^9", None),
        ("9^999999", None),
        ("(10^999)^9", None),
        ("(1.5^99)^99", None),
        (f"{'(' * 60}1{')' * 60}", None),
        ("1+" * MAX_CHARS + "1", None),
        ("__import__('os')", None),
        ("٣", None),  # a digit of another script
    ],
)
def test_the_value_of_a_text(text, expected):
    result = value(text)
    assert result == expected
    assert expected is None or isinstance(result, Fraction)


def test_an_irrational_root_is_a_float():
    assert value(r"\frac{\sqrt{5}}{2}") == math.sqrt(5) / 2


def expressions(depth):
    """Texts with their values, computed beside the parser."""
    number = st.integers(0, 99).map(lambda n: (str(n), Fraction(n)))
    if depth == 0:
        return number
    inner = expressions(depth - 1)
    pairs = st.tuples(inner, inner)
    return (
        number
        | pairs.map(lambda p: (f"({p[0][0]} + {p[1][0]})", p[0][1] + p[1][1]))
        | pairs.map(lambda p: (rf"\left({p[0][0]} - {p[1][0]}\right)", p[0][1] - p[1][1]))
        | pairs.map(lambda p: (rf"({p[0][0]} \times {p[1][0]})", p[0][1] * p[1][1]))
        | pairs.filter(lambda p: p[1][1] != 0).map(lambda p: (rf"\frac{{{p[0][0]}}}{{{p[1][0]}}}", p[0][1] / p[1][1]))
        | inner.map(lambda p: (f"{{{p[0]}}}^2", p[1] ** 2))
    )


@given(expressions(3).filter(lambda pair: len(pair[0]) <= MAX_CHARS))
def test_the_value_is_that_of_the_same_calculation_with_fractions(pair):
    assert value(pair[0]) == pair[1]


@given(st.text() | st.text(alphabet="0123456789.+-*/^(){}[]\\frasqtimesleg$ √×⁻²=≈`'\"\n", max_size=60))
def test_no_text_makes_a_reader_raise(text):
    result = value(text)
    assert result is None or isinstance(result, Fraction) or math.isfinite(result)
    for reader in (unwrap, unfence, plain, exact_part, approximate_part):
        assert isinstance(reader(text), str)
    assert len(sides(text)) >= 1
    assert split_degrees(text)[1] in (True, False)
    assert unwrap(unwrap(text)) == unwrap(text) or text.count("`") > 3 or len(text) > 20


UNITS = ["(", "{", "```", "```a", r"\text{", "=", "$", " ", "\n", "≈", "¹", r"\left", "**", "."]


@pytest.mark.parametrize("unit", UNITS)
def test_a_long_text_is_read_in_no_time(unit):
    text = unit * 100_000
    for reader in (unwrap, plain, sides, exact_part, approximate_part, split_degrees, value):
        reader(text)


@pytest.mark.parametrize(
    ("text", "inner"),
    [
        ("60", "60"),
        (" 60. ", "60"),
        ("$60$", "60"),
        (r"\[ \boxed{60} \]", "60"),
        (r"\(60\).", "60"),
        ("**60**", "60"),
        ('"60."', "60"),
        ("`60`", "60"),
        ("```json\n{}\n```", "{}"),
        ("Here: ```\nhah\n``` Done.", "hah"),
        (r"\text{a} + \text{b}", r"\text{a} + \text{b}"),
        ("$a$ or $b$", "$a$ or $b$"),
        ("'a' or 'b'", "'a' or 'b'"),
        ("```1``` or ```2```", "```1``` or ```2```"),
        ("2.5", "2.5"),
        (".", "."),
    ],
)
def test_what_merely_surrounds_an_answer_goes_and_nothing_else(text, inner):
    assert unwrap(text) == inner


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("36 = 4 * 9 = 2*2*3*3", ["36", "4 * 9", "2*2*3*3"]),
        ("(x, y) = (1, 2)", ["(x, y)", "(1, 2)"]),
        ("x = 1, y = 2", ["x = 1, y = 2"]),
        ("x = 1 or x = 2", ["x = 1 or x = 2"]),
        ("1 = x, x = 2", ["1 = x, x = 2"]),
        ("x = 1; x = 2", ["x = 1; x = 2"]),
        ("x = 1\nx = 2", ["x = 1\nx = 2"]),
    ],
)
def test_only_a_chain_of_equations_has_sides(text, parts):
    assert sides(text) == parts


@pytest.mark.parametrize("mark", ["°", r"^\circ", r"^{\circ}", " degrees", r"\degree", " ° "])
def test_the_sign_of_degrees_is_split_off(mark):
    assert split_degrees(f"45.5{mark}") == ("45.5", True)
