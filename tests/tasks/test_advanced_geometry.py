"""advanced_geometry: angle, point or radius, as decimals or as LaTeX; the three are told apart by their form."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from task_under_test import assert_hedges_are_wrong, is_right, problems, task

NAMES = ("advanced_geometry", "advanced_geometry_hard")


def of_type(name, kind):
    pairs = [(problem, codec.decode(problem.entry)["metadata"]) for problem in problems(name)]
    return [(problem, metadata) for problem, metadata in pairs if metadata["task_type"] == kind]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "form",
    [
        "{}°",
        "{}",
        r"${}^\circ$",
        r"{}^{{\circ}}",
        "{} degrees",
        r"{} \text{{ degrees}}",
        "∠ABC = {}°",
        r"\angle B \approx {}°.",
    ],
)
def test_an_angle_is_right_in_every_form(name, form):
    found = of_type(name, "angle_measure")
    assert len(found) > 9
    for problem, _ in found:
        number = problem.reference.removesuffix("°")
        assert is_right(name, problem, form.format(number)), form.format(number)
        wrong = f"{float(number) + 0.01:.2f}"
        assert not is_right(name, problem, form.format(wrong)), form.format(wrong)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}°", "{}"])
def test_an_angle_with_many_decimals_is_rounded_once(name, form):
    for problem, metadata in of_type(name, "angle_measure"):
        assert is_right(name, problem, form.format(f"{metadata['angle_ABC_degrees']:.6f}"))


@given(units=st.integers(0, 180 * 10**5), digits=st.integers(4, 5))
def test_no_rounding_moves_an_angle_over_a_hundredth(units, digits):
    text = f"{units / 10**5:.{digits}f}"
    read = task("advanced_geometry").normalise(text)
    assert round(Fraction(read), 2) == round(Fraction(text), 2)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    "form",
    ["({}, {})", "{}, {}", r"\left({}, {}\right)", "H = ({},{}).", "(x, y) = ({}, {})", r"$$\left( {} , {} \right)$$"],
)
@pytest.mark.parametrize(
    "number", ["{}", r"\frac{{{0.numerator}}}{{{0.denominator}}}", "{0.numerator}/{0.denominator}", "{:.3f}", "{:.9f}"]
)
def test_a_point_is_right_in_every_form_and_another_is_not(name, form, number):
    found = of_type(name, "orthocenter")
    assert len(found) > 9
    for problem, metadata in found:
        x, y = map(Fraction, metadata["ortho"])
        values = [float(x), float(y)] if ":" in number else [x, y]
        text = form.format(*(number.format(value) for value in values))
        assert is_right(name, problem, text), text
        wrong = form.format(*(number.format(value) for value in (values[0], values[1] + 1)))
        assert not is_right(name, problem, wrong), wrong
        if values[0] != values[1]:
            swapped = form.format(*(number.format(value) for value in reversed(values)))
            assert not is_right(name, problem, swapped), swapped


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("form", ["{}", "r = {}", r"\boxed{{{}}}", r"r \approx {}", "{}."])
def test_a_radius_is_right_in_every_form_when_it_rounds_to_the_reference(name, form):
    found = of_type(name, "incircle_radius")
    assert len(found) > 9
    for problem, metadata in found:
        for number in (problem.reference, problem.reference.rstrip("0"), latex(metadata)):
            assert is_right(name, problem, form.format(number)), form.format(number)
        for off in (0.001, -0.001, 1):
            wrong = f"{float(problem.reference) + off:.3f}"
            assert not is_right(name, problem, form.format(wrong))


def latex(metadata):
    """Write the radius as twice the area over the perimeter, from the corners."""
    (ax, ay), (bx, by), (cx, cy) = ([int(number) for number in metadata[corner]] for corner in "ABC")
    twice_the_area = abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
    squares = [(ax - bx) ** 2 + (ay - by) ** 2, (bx - cx) ** 2 + (by - cy) ** 2, (cx - ax) ** 2 + (cy - ay) ** 2]
    return rf"\frac{{{twice_the_area}}}{{" + " + ".join(rf"\sqrt{{{square}}}" for square in squares) + "}"


@pytest.mark.parametrize("name", NAMES)
def test_two_answers_are_none(name):
    for kind, wrong in (("angle_measure", "5.55°"), ("incircle_radius", "5.555")):
        for problem, _ in of_type(name, kind)[:3]:
            assert_hedges_are_wrong(name, problem, problem.reference, wrong)


@pytest.mark.parametrize(
    "answer", ["(1, 2, 3)", "(1,)", "x", r"\arccos(0.5)", "1e5", "(1; 2)", "5 or 6", "1 000", "9^9^9"]
)
def test_what_is_no_number_or_pair_stays_as_it_is(answer):
    assert task("advanced_geometry").normalise(answer) == answer
