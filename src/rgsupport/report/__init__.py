"""Result tables of a run in the terminal, as Markdown, LaTeX and CSV: one layout, one way of writing numbers."""

from rgsupport.report.files import write_reports
from rgsupport.report.latex import to_latex
from rgsupport.report.layout import Provenance, Report, Suspects, listed
from rgsupport.report.markdown import to_markdown
from rgsupport.report.tables import build_report
from rgsupport.report.terminal import print_report

__all__ = [
    "Provenance",
    "Report",
    "Suspects",
    "build_report",
    "listed",
    "print_report",
    "to_latex",
    "to_markdown",
    "write_reports",
]
