"""Python values as JSON text and back without loss: tuples stay tuples, fractions fractions, integer keys integers.

What JSON has not is an object with one key that starts with `$`, such as `{"$tuple": [1, 2]}`. Types are taken exactly:
an instance of a subclass (an enum member, an ordered dict) is refused, not turned into its parent class silently.
"""

# Values of every type pass through here, so their parts have no static type.
# pyright: reportUnknownMemberType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import json
import math
from collections.abc import Callable
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

_JSON_INT_BITS = 4096  # Python reads and writes decimal integers of up to 4300 digits only.

# Type -> its tag, the parts it is made of (which are encoded in turn), and the way back from the parts.
_TAGGED: dict[type, tuple[str, Callable[[Any], Any], Callable[[Any], Any]]] = {
    tuple: ("$tuple", list, tuple),
    set: ("$set", list, set),
    frozenset: ("$frozenset", list, frozenset),
    dict: ("$dict", lambda value: [[key, item] for key, item in value.items()], dict),
    int: ("$int", hex, lambda text: int(text, 16)),
    float: ("$float", str, float),
    Fraction: ("$fraction", str, Fraction),
    Decimal: ("$decimal", str, Decimal),
    date: ("$date", date.isoformat, date.fromisoformat),
    np.ndarray: ("$array", lambda value: [value.dtype.str, value.tolist()], lambda parts: np.array(parts[1], parts[0])),
}
_NUMPY = "$numpy"
_BACK = {tag: back for tag, _, back in _TAGGED.values()}


class UnknownTypeError(TypeError):
    """A value holds something of a type that has no encoding."""


def encode(value: object) -> str:
    """Return a value as JSON text (ASCII) from which `decode` makes an equal one, type by type.

    >>> encode({"size": (2, 3), "odds": Fraction(1, 3)})
    '{"size": {"$tuple": [2, 3]}, "odds": {"$fraction": "1/3"}}'

    Raises:
        UnknownTypeError: The value, or something in it, is of another type; the message names it.
    """
    return json.dumps(_pack(value), allow_nan=False)


def decode(text: str) -> Any:  # noqa: ANN401 - the caller knows what it encoded
    """Return the value that was encoded.

    >>> decode('{"size": {"$tuple": [2, 3]}}')
    {'size': (2, 3)}
    """
    return _unpack(json.loads(text))


def same(left: Any, right: Any) -> bool:  # noqa: ANN401
    """Tell whether two values are equal down to the type of every part; NaN is the same as NaN, -0.0 is not 0.0.

    >>> same([1, (2,)], [1, (2,)]), same([1, (2,)], [1, [2]]), same(1, True)
    (True, False, False)
    """
    if type(left) is not type(right):
        return False
    if isinstance(left, dict):
        return same(list(left.items()), list(right.items()))
    if isinstance(left, list | tuple):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, set | frozenset):
        return left == right and sorted(map(_type_and_text, left)) == sorted(map(_type_and_text, right))
    if isinstance(left, np.ndarray):
        return left.dtype == right.dtype and left.shape == right.shape and same(left.tolist(), right.tolist())
    return _type_and_text(left) == _type_and_text(right)


def _type_and_text(value: object) -> tuple[str, str]:
    return type(value).__qualname__, hex(value) if type(value) is int else repr(value)


def _pack(value: Any) -> Any:  # noqa: ANN401
    kind = type(value)
    if _is_plain(value, kind):
        if kind is list:
            return [_pack(item) for item in value]
        return {key: _pack(item) for key, item in value.items()} if kind is dict else value
    if isinstance(value, np.generic):
        return {_NUMPY: [value.dtype.str, _pack(value.item())]}
    if kind not in _TAGGED:
        msg = f"no lossless encoding for {kind.__module__}.{kind.__qualname__} (value {value!r:.80})"
        raise UnknownTypeError(msg)
    tag, parts, _ = _TAGGED[kind]
    return {tag: _pack(parts(value))}


def _is_plain(value: Any, kind: type) -> bool:  # noqa: ANN401
    """Tell whether JSON itself has the value (for lists and objects: the container; the items are packed in turn)."""
    if kind is int:
        return value.bit_length() <= _JSON_INT_BITS
    if kind is float:
        return math.isfinite(value)
    if kind is dict:
        return all(type(key) is str and not key.startswith("$") for key in value)
    return kind in (str, bool, type(None), list)


def _unpack(value: Any) -> Any:  # noqa: ANN401
    if isinstance(value, list):
        return [_unpack(item) for item in value]
    if not isinstance(value, dict):
        return value
    tag = next(iter(value), "")
    if not tag.startswith("$"):
        return {key: _unpack(item) for key, item in value.items()}
    parts = _unpack(value[tag])
    if tag == _NUMPY:
        return np.array(parts[1], parts[0])[()]
    return _BACK[tag](parts)
