r"""Tables -> LaTeX: complete `table` environments for `\input`, with the rules of the booktabs package."""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rgsupport.report.layout import DASH, Cell, Group, Table, spans

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "`": r"\textasciigrave{}",
    # At the start of a line of a table these two would be read as arguments of the line break before it.
    "[": "{[}",
    "*": "{*}",
}


def escape(text: str) -> str:
    r"""Return text that LaTeX sets as it is.

    >>> escape("graph_color 50% [0.865, 0.989]")
    'graph\\_color 50\\% {[}0.865, 0.989]'
    """
    escaped = "".join(_SPECIAL.get(character, character) for character in text)
    return re.sub(r"-(?=-)", "-{}", escaped)  # two hyphens would become a dash


def to_latex(tables: Sequence[Table], setting: str) -> str:
    r"""Return the tables, each with a caption that ends with the setting and a label such as tab:pass-at-k-1."""
    parts = [_table(table, setting, number=number) for number, table in enumerate(tables, start=1)]
    return "\n".join(["% Needs \\usepackage{booktabs}.", *parts])


def _table(table: Table, setting: str, *, number: int) -> str:
    columns = "".join("l" if column.align == "left" else "r" for column in table.columns)
    label = f"tab:{table.name.replace('_', '-')}-{number}"
    lines = [
        r"\begin{table}[tp]",
        r"\centering",
        rf"\caption{{{escape(f'{table.title}. {table.notes} {setting}')}}}",
        rf"\label{{{label}}}",
        r"\footnotesize",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{@{{}}{columns}@{{}}}}",
        r"\toprule",
        *_headings(table.groups),
        _line(escape(column.label) for column in table.columns),
    ]
    for section in table.sections:
        lines += [r"\midrule", *(_line(map(_cell, line)) for line in section)]
    return "\n".join([*lines, r"\bottomrule", r"\end{tabular}", r"\end{table}", ""])


def _headings(groups: Sequence[Group]) -> Iterator[str]:
    """Return one line per level of headings, and the rules below its spans."""
    ends = list(accumulate((len(group.columns) for group in groups), initial=0))
    for level in spans(groups):
        bounds = [(span.heading, ends[span.start], ends[span.end]) for span in level]
        yield _line(rf"\multicolumn{{{end - start}}}{{c}}{{{escape(heading)}}}" for heading, start, end in bounds)
        yield "".join(rf"\cmidrule(lr){{{start + 1}-{end}}}" for heading, start, end in bounds if heading)


def _cell(cell: Cell) -> str:
    if cell.text == DASH:
        return "--"
    # The hyphen of a negative number becomes a minus sign.
    text = re.sub(r"^-(?=\d)", "$-$", escape(cell.text))
    return rf"\textbf{{{text}}}" if cell.strong else text


def _line(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"
