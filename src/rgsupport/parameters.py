"""A configuration object from the parameters a user gave: names and types checked, one line when something is wrong."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from datetime import date, time
from enum import Enum
from typing import Any, cast

from rgsupport.errors import UsageError, nearest, one_line


def resolve(config_class: Any, given: Mapping[str, object], *, task: str, fixed: Mapping[str, object]) -> Any:  # noqa: ANN401
    """Return a validated configuration: the given parameters over the defaults of a dataclass.

    Args:
        config_class: Dataclass whose fields all have defaults; `validate()` is called where it has one.
        given: Parameters by name, as a command line or TOML can write them: a date may be text, a tuple a list.
        task: What messages call the owner of the parameters.
        fixed: Parameters that are not the user's to give.

    Raises:
        UsageError: A name is unknown, a value is of the wrong type or is refused by the dataclass.
    """
    defaults = config_class()
    types: dict[str, object] = {item.name: item.type for item in fields(config_class) if item.name not in fixed}
    values: dict[str, object] = {}
    for name, value in given.items():
        if name not in types:
            known = ", ".join(types) or "none"
            msg = f"task {task!r} has no parameter {name!r}{nearest(name, types)}; its parameters: {known}"
            raise UsageError(msg)
        default = getattr(defaults, name)
        try:
            values[name] = _like(value, default, is_integer=types[name] in (int, "int"))
        except (TypeError, ValueError) as error:
            kind = type(default).__name__
            msg = f"parameter {name!r} of task {task!r} is of type {kind}, like {as_plain(default)!r}, not {value!r}"
            raise UsageError(msg) from error
    try:
        config = config_class(**values, **fixed)
        if hasattr(config, "validate"):
            config.validate()
    except Exception as error:
        shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
        msg = f"task {task!r} refuses its parameters ({shown}): {one_line(error)}"
        raise UsageError(msg) from error
    return config


def as_plain(value: object) -> object:
    """Return a parameter's value in the types JSON and TOML have: the form in which it can be given again."""
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        return as_plain(asdict(value))
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, list | tuple):
        return [as_plain(item) for item in cast("Sequence[object]", value)]
    if isinstance(value, dict):
        return {str(key): as_plain(item) for key, item in cast("dict[object, object]", value).items()}
    return value


def _like(value: Any, default: Any, *, is_integer: bool) -> object:  # noqa: ANN401
    """Return the value in the type of the default; a default of None takes anything.

    Raises:
        TypeError, ValueError: It cannot be read as that type.
    """
    kind = cast("type[object]", type(default))
    make = cast("Callable[..., object]", kind)
    if default is None or type(value) is kind:
        return value
    if kind in (int, float) and not isinstance(value, bool) and isinstance(value, int | float):
        if kind is int and is_integer:
            raise TypeError
        return value if kind is int else float(value)
    if kind in (list, tuple) and isinstance(value, list | tuple):
        return make(cast("Sequence[object]", value))
    if issubclass(kind, date | time) and isinstance(value, str):
        return kind.fromisoformat(value)
    if issubclass(kind, Enum):
        return make(value)
    if is_dataclass(default) and isinstance(value, dict):
        return make(**value)
    raise TypeError
