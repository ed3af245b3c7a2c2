"""What `rgsupport run --plan` prints."""

from typing import TYPE_CHECKING

from rgsupport.planning import ASSUMED_SPEED, BYTES_PER_TOKEN, Forecast, Part, smallest_detectable, total
from rgsupport.types import BASE, RLVR, ROLES, ModelRole

if TYPE_CHECKING:
    from rich.console import Console

_LABELS: dict[ModelRole, str] = {BASE: "base", RLVR: "RLVR"}


def print_forecast(console: "Console", forecast: Forecast) -> None:
    """Print what is owed and what it will cost, the length of responses by task, and what the budget can detect."""
    _print_table(console, ["", *_LABELS.values(), "total"], _cost_lines(forecast))
    for note in _notes(forecast):
        console.print(note, markup=False, highlight=False)
    if any(part.seen for part in forecast.parts):
        console.print()
        headings = ["task", *(f"{label} {what}" for label in _LABELS.values() for what in ("tokens/sample", "cut"))]
        _print_table(console, headings, _task_lines(forecast))
    console.print()
    detected = [[f"{k:,}", f"{smallest_detectable(k):.3g}"] for k in forecast.ks]
    _print_table(console, ["k", "smallest success probability detected (95% confidence)"], detected)


def _print_table(console: "Console", headings: list[str], lines: list[list[str]]) -> None:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for place, heading in enumerate(headings):
        table.add_column(heading, justify="right" if place else "left", no_wrap=place == 0)
    for line in lines:
        table.add_row(*line)
    console.print(table, markup=False, highlight=False)


def _cost_lines(forecast: Forecast) -> list[list[str]]:
    columns = [*(forecast.of(role) for role in ROLES), list(forecast.parts)]
    of_server = forecast.engine == "openai"
    hours = [None if of_server else forecast.hours(role) for role in ROLES]
    expected = "expected" if forecast.is_measured else "at most"
    unit = "process-hours" if forecast.is_timed and not (forecast.on_gpu or of_server) else "GPU-hours"
    return [
        ["samples wanted", *(f"{sum(part.wanted for part in parts):,}" for parts in columns)],
        ["samples on disk", *(f"{sum(part.wanted - part.owed for part in parts):,}" for parts in columns)],
        ["samples owed", *(f"{sum(part.owed for part in parts):,}" for parts in columns)],
        ["tokens at most", *(f"{sum(part.tokens_at_most for part in parts):,}" for parts in columns)],
        ["tokens expected", *map(_expected_tokens, columns)],
        [f"{unit} {expected}", *(_amount(value) for value in (*hours, total(hours)))],
        [f"GB on disk {expected}", *(_amount(_gigabytes(forecast, parts)) for parts in columns)],
    ]


def _expected_tokens(parts: list[Part]) -> str:
    expected = total(part.expected_tokens for part in parts) if any(part.seen for part in parts) else None
    return "-" if expected is None else f"{expected:,.0f}"


def _gigabytes(forecast: Forecast, parts: list[Part]) -> float | None:
    size = total(part.expected_bytes if forecast.is_measured else part.bytes_at_most for part in parts)
    return None if size is None else size / 1e9


def _notes(forecast: Forecast) -> list[str]:
    notes: list[str] = []
    if forecast.is_measured:
        seen = sum(part.seen for part in forecast.parts)
        notes.append(f"Expected: as long as the {seen:,} samples on disk, {forecast.seen_share:.1%} of the plan.")
    else:
        notes.append(
            "At most: every response takes all the room it has; --plan --pilot samples 1% and tells what to expect."
        )
        notes.append(f"On disk: {BYTES_PER_TOKEN} bytes per token.")
    if forecast.engine == "openai":
        notes.append("Hours are a matter of the server.")
    elif forecast.is_timed:
        notes.append(_speed_note(forecast))
    else:
        notes.append(f"GPU-hours: at an assumed {ASSUMED_SPEED:,} tokens/s per GPU (a 1.5B model on an H200).")
    notes.append(f"Free on the disk of the run: {_amount(forecast.free_bytes / 1e9)} GB.")
    return notes


def _speed_note(forecast: Forecast) -> str:
    speeds = " and ".join(f"{_LABELS[role]} {speed:,.0f}" for role, speed in forecast.speeds.items())
    gpus = forecast.gpus_per_process if forecast.on_gpu else 1
    wall = sum(map(forecast.hours, ROLES)) / (forecast.processes * gpus)
    return (
        f"Speed of this pilot, tokens/s per process: {speeds}. With {forecast.processes} at a time that is "
        f"{_amount(wall)} hours; a long run, whose batch stays full, is rather faster."
    )


def _task_lines(forecast: Forecast) -> list[list[str]]:
    of = {(part.task, part.role): part for part in forecast.parts}
    lines: list[list[str]] = []
    for task in dict.fromkeys(part.task for part in forecast.parts):
        cells: list[str] = []
        for role in ROLES:
            tokens, cut = of[task, role].tokens_per_sample, of[task, role].truncated_share
            cells += ["-" if tokens is None else f"{tokens:,.1f}", "-" if cut is None else f"{cut:.1%}"]
        lines.append([task, *cells])
    return lines


def _amount(value: float | None) -> str:
    """Return a number of hours or gigabytes; a dash for none.

    >>> [_amount(value) for value in (None, 0, 0.0004, 0.0234, 7.26, 1234.5)]
    ['-', '0', '<0.001', '0.023', '7.3', '1,234']
    """
    if value is None:
        return "-"
    if value == 0:
        return "0"
    if value < 0.001:
        return "<0.001"
    return f"{value:.3f}" if value < 1 else f"{value:,.1f}" if value < 100 else f"{value:,.0f}"
