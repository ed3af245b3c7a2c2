"""Reports as files: Markdown, LaTeX and CSV."""

from itertools import groupby
from pathlib import Path

import polars as pl

from rgsupport.atomic import write_text
from rgsupport.report.latex import to_latex
from rgsupport.report.layout import Provenance
from rgsupport.report.markdown import to_markdown
from rgsupport.report.tables import build_report
from rgsupport.report.view import view
from rgsupport.support import Analysis
from rgsupport.types import ROLES, VerdictKind


def write_reports(analysis: Analysis, provenance: Provenance, folder: Path) -> list[Path]:
    r"""Write the tables of a run, each file whole or not at all, replacing those of an earlier report.

    `tables.md` holds every table; the `.tex` files, one per kind of table, are for \input in a paper; the `.csv` files
    hold the result tables in long form, and `pass_at_k_wide.csv` pass@k as it is printed, all with exact numbers.

    Args:
        analysis: Result tables of a run.
        provenance: Models and sampling, for captions.
        folder: Where the files go; made if it does not exist.

    Returns:
        The files, in order of writing.

    Raises:
        StoreError: A file cannot be written.
    """
    report = build_report(analysis, provenance)
    texts = {"tables.md": to_markdown(report)}
    for name, tables in groupby(report.tables, key=lambda table: table.name):
        texts[f"{name}.tex"] = to_latex(list(tables), report.setting)
    frames = {
        "tasks": analysis.tasks,
        "outcomes": analysis.outcomes,
        "pass_at_k": analysis.pass_at_k,
        "pass_at_k_wide": wide_pass_at_k(analysis, verdict=provenance.verdict),
        "support": analysis.support,
        "shares": analysis.shares,
        "classes": analysis.classes,
    }
    texts |= {f"{name}.csv": frame.write_csv() for name, frame in frames.items()}
    paths = [folder / name for name in texts]
    for path, text in zip(paths, texts.values(), strict=True):
        write_text(text, path)
    return paths


def wide_pass_at_k(analysis: Analysis, *, verdict: VerdictKind) -> pl.DataFrame:
    """Return pass@k with k down and the columns "TASK base" and "TASK rlvr" per task, in printing order."""
    seen = view(analysis, verdict)
    columns: dict[str, list[float | None]] = {}
    for task in seen.tasks:
        for model in ROLES:
            cells = (seen.pass_at(task, model=model, verdict=verdict, k=k) for k in seen.budgets)
            columns[f"{task} {model}"] = [cell.get("pass_at_k") for cell in cells]
    return pl.DataFrame({"k": seen.budgets, **columns}, schema={"k": pl.UInt32, **dict.fromkeys(columns, pl.Float64)})
