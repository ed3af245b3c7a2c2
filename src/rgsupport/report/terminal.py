"""Report -> the terminal, within 100 columns: what matters first, then the tables."""

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate, pairwise

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from rgsupport.report.layout import Cell, Column, Group, Report, Table, spans

WIDTH = 100
"""Most columns used; exactly those planned for where the output is no terminal, so that it never depends on where."""

STYLES = {"preservation": "green", "expansion": "blue", "shrinkage": "red"}
"""Colour of each class, wherever its name stands alone."""

WITHIN = "  "
BETWEEN = "   "


@dataclass(frozen=True, slots=True)
class Block:
    """A group of columns with its part of every line."""

    group: Group
    lines: tuple[tuple[Cell, ...], ...]
    widths: tuple[int, ...]
    """Of its columns."""

    @property
    def width(self) -> int:
        """Of the block: its columns, or its longest heading above them."""
        columns = sum(self.widths) + len(WITHIN) * (len(self.widths) - 1)
        return max(columns, *(cell_len(heading) for heading in self.group.headings), 0)


def print_report(report: Report, console: Console) -> None:
    """Print the headline, the setting and every table.

    Output that goes to a file or a pipe is the same bytes for the same report. In a terminal narrower than a table the
    table is cut between groups of columns; a line that is still too long is left for the terminal to wrap.
    """
    width = min(max(console.width, 20), WIDTH) if console.is_terminal else WIDTH
    rule = "-" if console.options.ascii_only else "─"
    for line in _report_lines(report, width=width, rule=rule):
        console.print(line, soft_wrap=True, highlight=False)


def _report_lines(report: Report, *, width: int, rule: str) -> Iterator[Text]:
    yield from _paragraph(report.headline, style="bold", width=width)
    yield from _paragraph(report.setting, style="dim", width=width)
    captions: set[str] = set()
    for table in report.tables:
        yield Text()
        yield Text(table.title, style="bold")
        if table.caption not in captions:
            captions.add(table.caption)
            yield from _paragraph(table.caption, style="dim", width=width)
        for blocks in _parts(table, width=width):
            yield Text()
            yield from _grid(blocks, section_sizes=[len(section) for section in table.sections], rule=rule)


def _paragraph(text: str, *, style: str, width: int) -> Iterator[Text]:
    for line in textwrap.wrap(text, width, break_on_hyphens=False):
        yield Text(line, style=style)


def _parts(table: Table, *, width: int) -> Iterator[list[Block]]:
    """Cut a table into parts that fit, each starting with the names of its lines; a part has at least one group."""
    names, *rest = _blocks(table)
    part = [names]
    for block in rest:
        taken = sum(other.width + len(BETWEEN) for other in part)
        if len(part) > 1 and taken + block.width > width:
            yield part
            part = [names]
        part.append(block)
    yield part


def _blocks(table: Table) -> list[Block]:
    ends = accumulate((len(group.columns) for group in table.groups), initial=0)
    blocks: list[Block] = []
    for group, (start, end) in zip(table.groups, pairwise(ends), strict=True):
        lines = tuple(line[start:end] for line in table.lines)
        texts = [(column.label, *(line[at].text for line in lines)) for at, column in enumerate(group.columns)]
        blocks.append(Block(group, lines, tuple(max(map(cell_len, column)) for column in texts)))
    return blocks


def _grid(blocks: list[Block], *, section_sizes: list[int], rule: str) -> Iterator[Text]:
    """Return headings, labels, a rule, then the lines with a rule between sections."""
    *upper, lowest = spans([block.group for block in blocks]) or [[]]
    for level in upper:
        # These span several groups: a line on both sides shows how far.
        yield _joined([_banner(span.heading, _width(blocks[span.start : span.end]), rule=rule) for span in level])
    if lowest:
        yield _joined([_centred(Text(span.heading), _width(blocks[span.start : span.end])) for span in lowest])
    yield _joined([_line(block, tuple(Cell(column.label) for column in block.group.columns)) for block in blocks])
    starts = {0, *accumulate(section_sizes[:-1])}
    for at in range(sum(section_sizes)):
        if at in starts:
            yield Text(rule * _width(blocks))
        yield _joined([_line(block, block.lines[at]) for block in blocks])


def _width(blocks: list[Block]) -> int:
    return sum(block.width for block in blocks) + len(BETWEEN) * (len(blocks) - 1)


def _banner(heading: str, width: int, *, rule: str) -> Text:
    if not heading or width < cell_len(heading) + 4:
        return _centred(_styled(Cell(heading)), width)
    left = (width - cell_len(heading) - 2) // 2
    text = Text.assemble(rule * left, " ", _styled(Cell(heading)), " ")
    return Text.assemble(text, rule * (width - text.cell_len))


def _line(block: Block, cells: tuple[Cell, ...]) -> Text:
    padded = [
        _aligned(_styled(cell), column=column, width=width)
        for cell, column, width in zip(cells, block.group.columns, block.widths, strict=True)
    ]
    return _centred(Text(WITHIN).join(padded), block.width)


def _styled(cell: Cell) -> Text:
    return Text(cell.text, style=STYLES.get(cell.text, "bold" if cell.strong else ""))


def _aligned(text: Text, *, column: Column, width: int) -> Text:
    missing = " " * (width - text.cell_len)
    return Text.assemble(text, missing) if column.align == "left" else Text.assemble(missing, text)


def _centred(text: Text, width: int) -> Text:
    missing = width - text.cell_len
    return Text.assemble(" " * (missing // 2), text, " " * (missing - missing // 2))


def _joined(parts: list[Text]) -> Text:
    line = Text(BETWEEN).join(parts)
    line.rstrip()
    return line
