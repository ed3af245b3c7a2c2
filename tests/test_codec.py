"""What `codec` writes is what it reads, down to the type of every part."""

import json
import math
from collections import OrderedDict
from datetime import date, datetime
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.codec import UnknownTypeError, decode, encode, same

SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(width=64)
    | st.text()
    | st.fractions()
    | st.decimals(allow_nan=False)
    | st.dates()
    | st.floats(width=64).map(np.float64)
    | st.integers(0, 255).map(np.uint8)
    | st.text(alphabet="ab", min_size=1).map(np.str_)
)
KEYS = st.text(max_size=4) | st.sampled_from(["$tuple", "$"]) | st.integers() | st.tuples(st.integers(), st.booleans())
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.dictionaries(KEYS, inner, max_size=4)
        | st.frozensets(st.integers() | st.text(max_size=3), max_size=4)
        | st.sets(st.fractions(), max_size=4)
    ),
    max_leaves=12,
)


@given(VALUES)
def test_a_decoded_value_is_the_encoded_one(value):
    text = encode(value)
    assert text.isascii()
    assert same(decode(text), value)


@pytest.mark.parametrize(
    "array",
    [np.arange(6).reshape(2, 3), np.array([True]), np.array([np.nan, -0.0]), np.array("word"), np.array([[]], np.int8)],
    ids=str,
)
def test_a_decoded_array_has_the_type_and_shape_of_the_encoded_one(array):
    back = decode(encode(array))
    assert (back.dtype, back.shape) == (array.dtype, array.shape)
    assert same(back, array)


ODD = [math.nan, math.inf, -math.inf, -0.0, 10**5000, -(2**4097), {"$tuple": 1}, {1: 2, "1": 3}]


@pytest.mark.parametrize("value", ODD, ids=lambda value: type(value).__name__)
def test_what_json_has_not_or_means_otherwise_survives(value):
    json.loads(encode(value), parse_constant=pytest.fail)  # no NaN, which is no JSON
    assert same(decode(encode(value)), value)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (1, True),
        (1, 1.0),
        (0.0, -0.0),
        ((1,), [1]),
        ({1: 2}, {"1": 2}),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}),  # a verifier may walk through it
        ({1}, {True}),
        ({1}, frozenset({1})),
        (np.float64(1), 1.0),
        (np.float64(1), np.float32(1)),
        (np.array([1]), np.array([1.0])),
        (datetime(2020, 1, 1), date(2020, 1, 1)),
        (Fraction(1, 2), Decimal("0.5")),
        ([1], [1, 2]),
        ("a", "b"),
    ],
)
def test_values_that_differ_in_a_type_or_a_part_are_not_the_same(left, right):
    assert not same(left, right)
    assert same(left, left)
    assert same(right, right)


class Colour(StrEnum):
    RED = "red"


@pytest.mark.parametrize("value", [object(), Colour.RED, OrderedDict(), {"a": [Colour.RED]}, datetime.min, 1j])
def test_a_type_without_an_encoding_is_named(value):
    with pytest.raises(UnknownTypeError, match=r"no lossless encoding for \w+\.\w+"):
        encode(value)
