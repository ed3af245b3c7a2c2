"""What a person sees while a stage works: one line of progress with an ETA, in samples and tokens, and notes."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import TaskID


class Bar(Protocol):
    """The progress of one stage."""

    def advance(self, items: int, tokens: int = 0) -> None:
        """Count finished items and the tokens they took."""
        ...

    def skip(self, items: int) -> None:
        """Take items off the total that need not be done."""
        ...


class Watcher(Protocol):
    """Where the pipeline tells how it goes."""

    def note(self, line: str) -> None:
        """Show a line that stays."""
        ...

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Generator[Bar]:
        """Show the progress of a stage of `total` items for as long as the context lasts."""
        ...


class Silent:
    """A watcher for scripts: says nothing."""

    def note(self, line: str) -> None:
        """Drop the line."""

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Generator[Bar]:  # noqa: ARG002 - the protocol's names
        """Count nothing."""
        yield self

    def advance(self, items: int, tokens: int = 0) -> None:
        """Count nothing."""

    def skip(self, items: int) -> None:
        """Count nothing."""


class Terminal:
    """A watcher that draws on a rich console; on a console that is not a terminal only the notes appear."""

    def __init__(self, console: "Console") -> None:
        self._console = console

    def note(self, line: str) -> None:
        """Print the line, as it is."""
        self._console.print(line, markup=False, highlight=False, soft_wrap=True)

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Generator[Bar]:
        """Draw a bar with counts, rate and ETA."""
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = (
            TextColumn("{task.description}"),
            BarColumn(bar_width=24),
            TextColumn("{task.completed:,.0f}/{task.total:,.0f} {task.fields[unit]}{task.fields[tokens]}"),
            TextColumn("ETA"),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self._console, transient=True, disable=not self._console.is_terminal) as drawn:
            yield _RichBar(drawn, drawn.add_task(title, total=total, unit=unit, tokens=""), total)


class _RichBar:
    def __init__(self, progress: "object", task: "TaskID", total: int) -> None:
        from rich.progress import Progress

        assert isinstance(progress, Progress)
        self._progress, self._task, self._total = progress, task, total
        self._items = self._tokens = 0

    def advance(self, items: int, tokens: int = 0) -> None:
        self._items += items
        self._tokens += tokens
        tokens_so_far = ""
        if self._tokens:
            elapsed = self._progress.tasks[self._task].elapsed or 0.0
            rate = f", {self._tokens / elapsed:,.0f}/s" if elapsed > 1 else ""
            expected = self._tokens / self._items * self._total
            tokens_so_far = f", {_short(self._tokens)} of about {_short(expected)} tokens{rate}"
        self._progress.update(self._task, advance=items, tokens=tokens_so_far)

    def skip(self, items: int) -> None:
        self._total -= items
        self._progress.update(self._task, total=self._total)


def _short(count: float) -> str:
    """Return a count in at most five characters.

    >>> _short(950), _short(12_345), _short(98_700_000_000)
    ('950', '12.3k', '98.7G')
    """
    for unit in ("", "k", "M", "G"):
        if count < 1000:
            return f"{count:.0f}" if unit == "" else f"{count:.1f}{unit}"
        count /= 1000
    return f"{count:.1f}T"
