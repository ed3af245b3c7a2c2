"""The checkers of tasks whose answer is a number, against other ways to compute it."""

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import pytest
import sympy
from hypothesis import assume, example, given
from hypothesis import strategies as st
from reasoning_gym.arithmetic.leg_counting import ANIMALS

from rgsupport.types import Problem
from task_under_test import problems, task


def asked(name, question):
    return Problem(name, "0" * 16, 0, question, None, "{}")


def check(name, question, answer):
    return task(name).check(asked(name, question), answer)


# dice


@given(st.lists(st.integers(2, 6), min_size=1, max_size=4), st.integers(0, 26), st.integers(1, 50))
def test_a_fraction_is_right_when_counting_every_throw_gives_its_value(dice, target, times):
    throws = list(itertools.product(*(range(1, faces + 1) for faces in dice)))
    good = sum(sum(throw) >= target for throw in throws)
    listed = ", ".join(f"1d{faces}" for faces in dice)
    text = f"I have these dice: {listed}. What are the odds of rolling {target} or higher? (Assume"
    assert check("dice", text, f"{good * times}/{len(throws) * times}")
    assert not check("dice", text, f"{good * times + 1}/{len(throws) * times}")


COIN = "I have these dice: 2d2. What are the odds of rolling 4 or higher? (Assume"


@pytest.mark.parametrize("answer", ["1/4", "2 / 8", r"\frac{1}{4}", "0.25", "25%", r"$P = \frac{2}{8}$", "1/4 ≈ 0.3"])
def test_every_form_of_the_exact_chance_is_right(answer):
    assert check("dice", COIN, answer)


@pytest.mark.parametrize("answer", ["0.2500001", "25", "1/5", "4/1", "-1/4", "1/0", "1 - 3/4", "1/4 or 1/5", "1:4"])
def test_a_rounded_unevaluated_or_hedged_chance_is_wrong(answer):
    assert not check("dice", COIN, answer)


# leg_counting


def test_every_animal_of_the_generator_has_the_legs_it_counts():
    for animal, legs in ANIMALS.items():
        for count, name in ((1, animal), (3, f"{animal}s")):
            question = f"Now, how many legs are there in total if you have {count} {name}?\n"
            assert check("leg_counting", question, str(count * legs))
            assert not check("leg_counting", question, str(count * legs + 1))


LEGS = "Now, how many legs are there in total if you have 300 cows, 17 humans?\n"


@pytest.mark.parametrize("answer", ["1234", "1,234", "1234 legs", "1234.", "Total: 1234", "1200 + 34 = 1234", "1234.0"])
def test_every_form_of_the_number_of_legs_is_right(answer):
    assert check("leg_counting", LEGS, answer)


@pytest.mark.parametrize("answer", ["-1234", "12340", "123", "1200 + 34", "1234 or 1235", "1.234", "1 234 5"])
def test_another_number_of_legs_is_wrong(answer):
    assert not check("leg_counting", LEGS, answer)


def test_an_animal_nobody_knows_is_a_defect():
    with pytest.raises(ValueError, match="not known here"):
        check("leg_counting", "how many legs are there in total if you have 3 unicorns?\n", "12")


# prime_factorization


def factorise(number):
    return f"Find the prime factorization of {number}. Write the factors separated by ×"


@given(st.integers(2, 5000), st.randoms(use_true_random=False))
def test_a_product_is_right_in_any_order_and_form_when_sympy_has_the_same_factors(number, random):
    factors = [prime for prime, times in sympy.factorint(number).items() for _ in range(times)]
    random.shuffle(factors)
    powers = " · ".join(f"{prime}^{{{times}}}" for prime, times in sympy.factorint(number).items())
    for answer in (" × ".join(map(str, factors)), "*".join(map(str, factors)), f"{number} = {powers}"):
        assert check("prime_factorization", factorise(number), answer)
    for wrong in ([*factors, 1], [*factors, 2], factors[1:], [-factors[0], *factors[1:]]):
        assert not check("prime_factorization", factorise(number), " × ".join(map(str, wrong)))
    assert check("prime_factorization", factorise(number), str(number)) == sympy.isprime(number)


@pytest.mark.parametrize("answer", ["6 × 6", "36", "2 × 2 × 3 × 3 or 6 × 6", "2^2 + 3^2", "", "-2 × -2 × 3 × 3"])
def test_what_is_no_product_of_primes_is_wrong(answer):
    assert not check("prime_factorization", factorise(36), answer)


# power_function


def power(base, exponent):
    return f"Compute {base}^{exponent}. Return your final answer"


def test_the_questions_with_two_readings_are_those_with_a_negative_base_and_an_even_exponent():
    ambiguous = [problem for problem in problems("power_function", count=101) if task("power_function").doubt(problem)]
    assert len(ambiguous) == 32
    assert all("Compute -" in p.question and int(p.question.split("^")[1].split(".")[0]) % 2 == 0 for p in ambiguous)


@given(st.integers(-(10**7), 10**7), st.integers(-8, 8), st.integers(3, 9), st.sampled_from(["f", "e", "E"]))
@example(base=99_995, exponent=1, figures=3, form="e")
def test_the_exact_power_rounded_to_three_figures_or_more_is_right(base, exponent, figures, form):
    assume(base)
    shown = f"{base / 10**4}"
    exact = Fraction(Decimal(shown)) ** exponent
    rounded = Decimal(f"{Decimal(exact.numerator) / Decimal(exact.denominator):.{figures - 1}e}")
    assert check("power_function", power(shown, exponent), f"{rounded:{form}}")
    unit = Decimal(1).scaleb(rounded.adjusted() - 2)
    for wrong in (rounded + 2 * unit, rounded - 2 * unit, rounded * 10, rounded / 10):
        assert not check("power_function", power(shown, exponent), f"{wrong:{form}}")


@pytest.mark.parametrize("answer", ["1.23e4", "1.23E+4", r"$1.23 \times 10^{4}$", "12,300", "1.2321e4", "1.23 × 10⁴."])
def test_every_form_of_a_power_is_right(answer):
    assert check("power_function", power("111.0", 2), answer)


@pytest.mark.parametrize("answer", ["1.2e4", "1.24e4", "111^2", "1.2399e4", "-1.23e4", "inf", "1e999999999", "0"])
def test_another_power_is_wrong(answer):
    assert not check("power_function", power("111.0", 2), answer)


def test_either_reading_of_an_ambiguous_power_is_right():
    for answer, right in (("4.00", True), ("-4.00", True), ("4", True), ("2.00", False)):
        assert check("power_function", power("-2.0", 2), answer) == right
    assert not check("power_function", power("-2.0", 3), "8.00")


# advanced_geometry

TEXTS = {
    "orthocentre": "find the coordinates of its orthocenter.",
    "radius": "Compute the radius of its incircle.",
    "angle": "find the measure (in degrees) of angle ABC. For all",
}
points = st.tuples(st.integers(-20, 20), st.integers(-20, 20))


def triangle(kind, a, b, c):
    return f"In triangle ABC with coordinates A={a}, B={b}, and C={c}, {TEXTS[kind]}"


@given(points, points, points)
def test_the_orthocentre_is_where_both_altitudes_pass(a, b, c):
    assume((b[0] - a[0]) * (c[1] - a[1]) != (c[0] - a[0]) * (b[1] - a[1]))
    # h = a + b + c - 2 * circumcentre
    d = 2 * (a[0] * (b[1] - c[1]) + b[0] * (c[1] - a[1]) + c[0] * (a[1] - b[1]))
    squares = [p[0] ** 2 + p[1] ** 2 for p in (a, b, c)]
    ux = Fraction(squares[0] * (b[1] - c[1]) + squares[1] * (c[1] - a[1]) + squares[2] * (a[1] - b[1]), d)
    uy = Fraction(squares[0] * (c[0] - b[0]) + squares[1] * (a[0] - c[0]) + squares[2] * (b[0] - a[0]), d)
    x, y = a[0] + b[0] + c[0] - 2 * ux, a[1] + b[1] + c[1] - 2 * uy
    question = triangle("orthocentre", a, b, c)
    for answer in (f"({x}, {y})", f"({float(x):.3f}, {float(y):.3f})", f"{float(x):.4f}, {float(y):.4f}"):
        assert check("advanced_geometry", question, answer)
    for answer in (f"({x + Fraction(1, 100)}, {y})", f"({float(x):.3f}, {float(y) + 0.002:.3f})", f"({x}, {y}, 0)"):
        assert not check("advanced_geometry", question, answer)


@given(points, points, points, st.integers(3, 6))
def test_the_radius_is_the_area_by_half_the_perimeter_and_the_angle_that_of_the_law_of_cosines(a, b, c, decimals):
    assume((b[0] - a[0]) * (c[1] - a[1]) != (c[0] - a[0]) * (b[1] - a[1]))
    sides = math.dist(b, c), math.dist(c, a), math.dist(a, b)
    half = sum(sides) / 2
    radius = math.sqrt(max(0, half * math.prod(half - side for side in sides))) / half
    cosine = (sides[0] ** 2 + sides[2] ** 2 - sides[1] ** 2) / (2 * sides[0] * sides[2])
    angle = math.degrees(math.acos(max(-1, min(1, cosine))))
    assume(radius > 1e-3)
    assume(1e-2 < angle < 180 - 1e-2)
    for kind, value, wrong in (("radius", radius, radius + 0.0021), ("angle", angle, angle + 0.021)):
        # The oracle's own rounding decides only beyond the seventh decimal.
        assume(abs(value * 10**decimals % 1 - 0.5) > 1e-3)
        assert check("advanced_geometry", triangle(kind, a, b, c), f"{value:.{decimals}f}")
        assert not check("advanced_geometry", triangle(kind, a, b, c), f"{wrong:.{decimals}f}")


RIGHT = ((0, 3), (0, 0), (4, 0))


@pytest.mark.parametrize("answer", ["90°", "90", "90.00°", r"$90^\circ$", "90 degrees", "∠ABC = 90.000°"])
def test_every_form_of_an_angle_is_right(answer):
    assert check("advanced_geometry", triangle("angle", *RIGHT), answer)


@pytest.mark.parametrize("answer", ["1", "1.000", "r = 1.000", r"\frac{2}{2}", r"\sqrt{1}"])
def test_every_form_of_a_radius_is_right(answer):
    assert check("advanced_geometry", triangle("radius", *RIGHT), answer)


@pytest.mark.parametrize("kind", sorted(TEXTS))
@pytest.mark.parametrize("answer", ["", "89.9°", "0, 1", "9^999", "90 or 91", "(0, 0) or (1, 1)", "45+45", "(1-1, 0)"])
def test_another_answer_about_a_triangle_is_wrong(kind, answer):
    assert not check("advanced_geometry", triangle(kind, *RIGHT), answer)
