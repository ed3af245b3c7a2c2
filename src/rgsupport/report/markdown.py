"""Report -> Markdown with GitHub's tables."""

import re

from rgsupport.report.layout import Cell, Column, Group, Report, Table

# Inside a word an underscore is only itself, so that graph_color stays readable.
_SPECIAL = re.compile(r"[\\`*\[\]<>|~$&#]|(?<!\w)_+|_+(?!\w)")


def to_markdown(report: Report) -> str:
    """Return the headline, the setting and every table."""
    parts = [f"**{escape(report.headline)}**", escape(report.setting), *(_table(table) for table in report.tables)]
    return "\n\n".join(parts) + "\n"


def escape(text: str) -> str:
    r"""Return text that Markdown shows as it is.

    >>> escape("graph_color a|b *x*")
    'graph_color a\\|b \\*x\\*'
    """
    return _SPECIAL.sub(lambda match: "".join(f"\\{character}" for character in match[0]), text)


def _table(table: Table) -> str:
    lines = [
        _line([_label(group, column) for group in table.groups for column in group.columns]),
        _line([":--" if column.align == "left" else "--:" for column in table.columns]),
        *(_line([_cell(cell) for cell in line]) for line in table.lines),
    ]
    return "\n".join([f"### {escape(table.title)}", "", *lines, "", escape(table.notes)])


def _label(group: Group, column: Column) -> str:
    # A table of GitHub has one line of labels and no spans.
    return "<br>".join(escape(text) for text in (*group.headings, column.label))


def _cell(cell: Cell) -> str:
    return f"**{escape(cell.text)}**" if cell.strong else escape(cell.text)


def _line(cells: list[str]) -> str:
    return f"| {' | '.join(cells)} |"
