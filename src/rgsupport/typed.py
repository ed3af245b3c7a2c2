"""Build a value of a type from what JSON gave, or say which part of it does not fit."""

import types
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")


def build(kind: type[T], value: object) -> T:
    """Return a dataclass made from a JSON object with exactly its fields, each of the type it is declared with.

    Args:
        kind: A dataclass whose fields are plain types, enums, tuples, dicts, unions, or dataclasses of those.
        value: What `json.loads` returned.

    Raises:
        TypeError: Names the part that does not fit, and its value.
    """
    return cast("T", _build(kind, value, "it"))


def _build(kind: Any, value: object, name: str) -> object:  # noqa: ANN401 - any annotation
    if kind is Any:
        return value
    origin, arguments = get_origin(kind), get_args(kind)
    if origin in (Union, types.UnionType):
        plain = type(None) in arguments and value is None
        return None if plain else _build(next(a for a in arguments if a is not type(None)), value, name)
    if origin is Literal:
        return _fitting(value, name, fits=value in arguments)
    if origin is dict:
        table = cast("dict[str, object]", _fitting(value, name, fits=isinstance(value, dict)))
        return {_build(arguments[0], k, name): _build(arguments[1], v, f"{name}[{k!r}]") for k, v in table.items()}
    if origin is tuple:
        items = cast("list[object]", _fitting(value, name, fits=isinstance(value, list)))
        return tuple(_build(arguments[0], item, f"an item of {name}") for item in items)
    if is_dataclass(kind):
        return _build_dataclass(cast("type", kind), value, name)
    if issubclass(kind, Enum):
        return kind(_fitting(value, name, fits=value in [member.value for member in kind]))
    accepted = (int, float) if kind is float else kind
    return _fitting(
        value, name, fits=isinstance(value, accepted) and not (isinstance(value, bool) and kind is not bool)
    )


def _build_dataclass(kind: type, value: object, name: str) -> object:
    table = cast("dict[str, object]", _fitting(value, name, fits=isinstance(value, dict)))
    hints = get_type_hints(kind)
    names = [field.name for field in fields(kind)]
    for strange in sorted(table.keys() ^ set(names)):
        msg = f"{strange!r} is missing" if strange in names else f"{strange!r} is unknown"
        raise TypeError(msg)
    return kind(**{field: _build(hints[field], table[field], field) for field in names})


def _fitting(value: object, name: str, *, fits: bool) -> object:
    if not fits:
        msg = f"{name} is {repr(value)[:60]}"
        raise TypeError(msg)
    return value
