"""Findings as lines for a person, or as one JSON object."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from rgsupport.doctor._check import Check, Level

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {Level.OK: "green", Level.NOTE: "yellow", Level.PROBLEM: "bold red"}
_LEVEL_WIDTH = max(map(len, Level)) + 2
_TOPIC_WIDTH = 16


def print_checks(console: "Console", checks: Iterable[Check]) -> bool:
    """Print findings as they come, and how many there were of each level; tell whether none is a problem."""
    from rich.text import Text

    counts = dict.fromkeys(Level, 0)
    for check in checks:
        counts[check.level] += 1
        line = Text.assemble(
            (f"{check.level:<{_LEVEL_WIDTH}}", _STYLES[check.level]), f"{check.topic:<{_TOPIC_WIDTH}}{check.found}"
        )
        console.print(line, soft_wrap=True, highlight=False)
        if check.remedy:
            console.print(Text(f"{'':<{_LEVEL_WIDTH}}{'to do:':<{_TOPIC_WIDTH}}{check.remedy}"), soft_wrap=True)
    told = ", ".join(
        f"{counts[level]} {level}{'s' if counts[level] != 1 else ''}" for level in (Level.PROBLEM, Level.NOTE)
    )
    console.print(Text(told, style="bold"))
    return counts[Level.PROBLEM] == 0


def as_json(checks: Sequence[Check]) -> str:
    """Return findings as a JSON object with the number of problems and the list `checks`."""
    problems = sum(check.level is Level.PROBLEM for check in checks)
    return json.dumps({"problems": problems, "checks": [asdict(check) for check in checks]}, indent=2)
