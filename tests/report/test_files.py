import polars as pl
import pytest
from polars.testing import assert_frame_equal

from report_frames import PROVENANCE, example, paper_analysis, paper_tables
from rgsupport import schemas
from rgsupport.errors import StoreError
from rgsupport.report import build_report, to_latex, to_markdown, write_reports
from rgsupport.report.files import wide_pass_at_k

NAMES = {
    *("tables.md", "classes.tex", "pass_at_k.tex", "intervals.tex", "support.tex", "verdicts.tex", "outcomes.tex"),
    *("tasks.csv", "outcomes.csv", "pass_at_k.csv", "pass_at_k_wide.csv", "support.csv", "shares.csv", "classes.csv"),
}


def test_the_files_are_those_returned_and_hold_the_reports(tmp_path):
    folder = tmp_path / "run" / "tables"
    paths = write_reports(example(), PROVENANCE, folder)
    assert set(paths) == set(folder.iterdir()) == {folder / name for name in NAMES}
    report = build_report(example(), PROVENANCE)
    assert (folder / "tables.md").read_text(encoding="utf-8") == to_markdown(report)
    support = [table for table in report.tables if table.name == "support"]
    assert (folder / "support.tex").read_text(encoding="utf-8") == to_latex(support, report.setting)


def test_writing_again_gives_the_same_bytes_and_replaces_what_was_there(tmp_path):
    first = {path.name: path.read_bytes() for path in write_reports(example(), PROVENANCE, tmp_path)}
    write_reports(paper_analysis(), PROVENANCE, tmp_path)
    assert {path.name: path.read_bytes() for path in write_reports(example(), PROVENANCE, tmp_path)} == first


@pytest.mark.parametrize("table", [schemas.TASKS, schemas.PASS_AT_K, schemas.SUPPORT, schemas.SHARES, schemas.CLASSES])
def test_a_long_table_reads_back_exactly(tmp_path, table):
    analysis = example()
    write_reports(analysis, PROVENANCE, tmp_path)
    found = pl.read_csv(tmp_path / f"{table.name}.csv", schema=table.columns)
    assert_frame_equal(found, getattr(analysis, table.name), check_exact=True)


def test_the_wide_table_has_k_down_and_a_pair_of_columns_per_task_in_printing_order():
    wide = wide_pass_at_k(example(), verdict="lenient")
    assert wide.columns == [
        *("k", "graph_color base", "graph_color rlvr", "dice base", "dice rlvr", "my_task base", "my_task rlvr"),
    ]
    assert wide["k"].to_list() == [1, 2, 4, 8]
    assert wide["graph_color base"].to_list() == [0.25, 0.4375, 0.9996, None]
    assert wide["my_task rlvr"].to_list() == [None] * 4


def test_the_wide_table_holds_the_published_numbers():
    wide = wide_pass_at_k(paper_analysis(), verdict="lenient")
    for (task, _), numbers in paper_tables().items():
        assert wide[f"{task} base"].to_list() == [float(base) for _, base, _ in numbers]
        assert wide[f"{task} rlvr"].to_list() == [float(rlvr) for _, _, rlvr in numbers]


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path):
    (tmp_path / "tables").write_text("a file")
    with pytest.raises(StoreError, match="cannot write"):
        write_reports(example(), PROVENANCE, tmp_path / "tables")
