"""What every output format shares: a small model of a table, and one way of writing each kind of value."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Literal

from rgsupport.types import BASE, RLVR, ROLES, ModelRole, VerdictKind

DASH = "-"
"""Stands for a value that is undefined; nothing else prints as it."""

LABELS: dict[ModelRole, str] = {BASE: "Base", RLVR: "RLVR"}
"""What the models are called in print."""

STRONG_NOTE = "Bold: the larger of Base and RLVR where the two differ as printed."


_LISTED = 10


@dataclass(frozen=True, slots=True)
class Suspects:
    """Questions of one task that cannot be judged as they stand, for one kind of reason."""

    task: str
    kind: str
    indices: tuple[int, ...]
    """Indices in the task's source, ascending."""


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where the numbers come from, as far as a reader of a table has to know."""

    base: str
    """Name of the base model, with its revision if one was asked for."""
    rlvr: str
    temperature: float
    top_p: float
    max_tokens: int
    problems: int
    """Problems per task."""
    samples: int
    """Samples per problem and model."""
    seed: int
    verdict: VerdictKind
    """The headline verdict: which one the tables show where they show only one."""
    missing: int = 0
    """Planned samples that have no verdict yet; a number that would need them is not given."""
    unequal: tuple[str, ...] = ()
    """Facts of the engine in which the two models differ, accepted with `--allow-unequal`."""
    suspects: tuple[Suspects, ...] = ()
    """Questions of the plan that cannot be judged as they stand."""
    excluded: bool = False
    """Whether the tables leave them out."""


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its label and the side its cells are set to."""

    label: str
    align: Literal["left", "right"] = "right"


@dataclass(frozen=True, slots=True)
class Group:
    """Columns that belong together, such as Base and RLVR of one task."""

    columns: tuple[Column, ...]
    headings: tuple[str, ...] = ()
    """Lines above the labels, top first, each spanning the group."""


def base_and_rlvr(*headings: str) -> Group:
    """Return the pair of columns of the two models under some headings."""
    return Group(tuple(Column(LABELS[model]) for model in ROLES), headings)


@dataclass(frozen=True, slots=True)
class Cell:
    """A value as it is printed."""

    text: str
    strong: bool = False
    """Set in bold."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table ready to print. Each line has one cell per column of all groups, in order."""

    name: str
    """Tables of one name share a file."""
    title: str
    caption: str
    groups: tuple[Group, ...]
    """The first group names the line; a table too wide for its page may be cut between the others."""
    sections: tuple[tuple[tuple[Cell, ...], ...], ...]
    """Lines, with a rule between sections."""

    @property
    def columns(self) -> tuple[Column, ...]:
        """All columns, in order."""
        return tuple(column for group in self.groups for column in group.columns)

    @property
    def lines(self) -> tuple[tuple[Cell, ...], ...]:
        """All lines, in order."""
        return tuple(line for section in self.sections for line in section)

    @property
    def notes(self) -> str:
        """The caption, and what bold means if anything is bold."""
        has_strong = any(cell.strong for line in self.lines for cell in line)
        return f"{self.caption} {STRONG_NOTE}" if has_strong else self.caption


@dataclass(frozen=True, slots=True)
class Span:
    """A heading above neighbouring groups that share it and all headings above it."""

    heading: str
    """Empty where the groups have none at this level."""
    start: int
    """Place of the first group."""
    end: int
    """One past the place of the last group."""


def spans(groups: Sequence[Group]) -> list[list[Span]]:
    """Return the headings level by level, top first; those of a group with fewer levels stand at the bottom."""
    depth = max(len(group.headings) for group in groups)
    padded = [("",) * (depth - len(group.headings)) + group.headings for group in groups]
    levels: list[list[Span]] = []
    for level in range(1, depth + 1):
        runs = [list(places) for _, places in groupby(range(len(groups)), key=lambda place: padded[place][:level])]
        levels.append([Span(padded[run[0]][level - 1], run[0], run[-1] + 1) for run in runs])
    return levels


@dataclass(frozen=True, slots=True)
class Report:
    """All that is printed about a run."""

    headline: str
    """One line: how many tasks of which class, at which budget."""
    setting: str
    """Models, numbers of problems and samples, budgets, sampling parameters."""
    tables: tuple[Table, ...]


def plain(name: str) -> str:
    r"""Return a name that takes one line and cannot steer a terminal.

    >>> plain("my\nmodel\x1b[31m")
    'my model?[31m'
    """
    return "".join(character if character.isprintable() else "?" for character in " ".join(name.split()))


def fixed(value: float | None, *, digits: int = 3) -> str:
    """Return the number rounded to so many decimals, a dash for None, and never a minus before zero.

    >>> fixed(0.1574), fixed(0.9996), fixed(-0.0004), fixed(None)
    ('0.157', '1.000', '0.000', '-')
    """
    if value is None:
        return DASH
    text = f"{value:.{digits}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def whole(value: int | None) -> str:
    """Return the integer, a dash for None."""
    return DASH if value is None else str(value)


def listed(indices: Sequence[int]) -> str:
    """Return the first ten indices, and how many more there are.

    >>> listed([2, 31]), listed(range(12))
    ('2, 31', '0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 2 more')
    """
    shown = ", ".join(str(index) for index in indices[:_LISTED])
    return f"{shown} and {len(indices) - _LISTED} more" if len(indices) > _LISTED else shown


def tokens(value: float | None) -> str:
    """Return a mean number of tokens: one decimal below a thousand, else none.

    >>> tokens(7.25), tokens(9412.4)
    ('7.2', '9412')
    """
    return fixed(value, digits=1 if value is not None and value < 999.95 else 0)


def interval(value: float | None, *, low: float | None, high: float | None) -> str:
    """Return a value with its interval, alone where it has none, a dash for None.

    >>> interval(0.96, low=0.8654, high=0.989), interval(0.96, low=None, high=None)
    ('0.960 [0.865, 0.989]', '0.960')
    """
    if value is None or low is None or high is None:
        return fixed(value)
    return f"{fixed(value)} [{fixed(low)}, {fixed(high)}]"


def pair(base: str, rlvr: str) -> tuple[Cell, Cell]:
    """Return two numbers as cells, the larger in bold if they differ as printed.

    >>> [cell.strong for cell in pair("0.140", "1.000")], [cell.strong for cell in pair("-", "1.000")]
    ([False, True], [False, False])
    """
    if DASH in (base, rlvr):
        return Cell(base), Cell(rlvr)
    return Cell(base, strong=float(base) > float(rlvr)), Cell(rlvr, strong=float(rlvr) > float(base))
