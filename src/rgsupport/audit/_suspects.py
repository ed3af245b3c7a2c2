"""Faults that a question or its reference shows by itself, and references that are kept elsewhere in an item."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import cast

from rgsupport import codec
from rgsupport.types import Problem

# What numpy prints of a large array: "[[0 0 0 ... 0 0 0]", and a line of dots in place of the middle.
_ELIDED = re.compile(r"[0-9] \.\.\. [0-9]|\n\s*\.\.\.\s*\n\s*\[")
_DEGENERATE = ("", "null", "None", "{}")


def fault(problem: Problem) -> tuple[str, str] | None:
    """Return kind and detail of what is wrong with a problem as it stands; None if nothing shows."""
    if _ELIDED.search(problem.question):
        return "elided question", "a part of what is shown is left out, as ..."
    if problem.reference is not None and problem.reference.strip() in _DEGENERATE:
        return "degenerate reference", f"it is {problem.reference!r}, which is no answer"
    return None


def candidates(problem: Problem) -> Iterator[str]:
    """Yield the reference, or where there is none whatever else an item holds, as text."""
    if problem.reference is not None:
        yield problem.reference
        return
    if not problem.entry:
        return
    entry: object = codec.decode(problem.entry)
    if not isinstance(entry, dict):
        return
    kept = cast("dict[str, object]", entry).get("metadata")
    values = cast("Mapping[str, object]", kept).values() if isinstance(kept, dict) else ()
    yield from dict.fromkeys(value if isinstance(value, str) else json.dumps(value, default=str) for value in values)
