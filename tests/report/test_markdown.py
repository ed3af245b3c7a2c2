import re
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from report_frames import PROVENANCE, TaskNumbers, build, example, paper_analysis
from rgsupport.report import build_report, to_markdown
from rgsupport.report.layout import plain
from rgsupport.report.markdown import escape

GOLDEN_PASS_AT_K = """\
### Pass@k

| k | preservation<br>graph_color<br>Base | preservation<br>graph_color<br>RLVR | shrinkage<br>dice<br>Base \
| shrinkage<br>dice<br>RLVR | no class<br>my_task<br>Base | no class<br>my_task<br>RLVR |
| --: | --: | --: | --: | --: | --: | --: |
| 1 | 0.250 | **0.900** | 0.100 | **0.200** | - | - |
| 2 | 0.438 | **1.000** | 0.200 | **0.250** | - | - |
| 4 | 1.000 | 1.000 | **0.350** | 0.250 | - | - |
| 8 | - | - | - | - | - | - |

Mean over problems of the unbiased estimate, rounded: 0.9996 prints as 1.000. Dash: not every problem has k samples. \
Bold: the larger of Base and RLVR where the two differ as printed.

### Pass@1 and pass@K
"""


def parsed(text):
    """Return the cells below the labels of each table, unescaped and without bold."""
    tables = [
        [re.split(r"(?<!\\)\|", line)[1:-1] for line in block.splitlines()]
        for block in text.split("\n\n")
        if block.startswith("| ")
    ]
    return [[[unescaped(cell.strip()) for cell in line] for line in lines[2:]] for lines in tables]


def unescaped(cell):
    return re.sub(r"\\(.)", r"\1", re.sub(r"^\*\*(.*)\*\*$", r"\1", cell))


def test_the_report_starts_with_the_headline_and_the_setting():
    report = build_report(example(), PROVENANCE)
    first, second, _ = to_markdown(report).split("\n\n", 2)
    assert first == f"**{report.headline}**"
    assert second == report.setting


def test_the_pass_at_k_table():
    assert GOLDEN_PASS_AT_K in to_markdown(build_report(example(), PROVENANCE))


def test_every_cell_of_the_report_is_in_its_place():
    for analysis in (example(), paper_analysis()):
        report = build_report(analysis, PROVENANCE)
        expected = [[[cell.text for cell in line] for line in table.lines] for table in report.tables]
        assert parsed(to_markdown(report)) == expected


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=3, unique=True), st.text(max_size=20))
def test_any_name_keeps_the_table_in_shape(names, model):
    tasks = [TaskNumbers(name, "expansion", (0.1, 0.2), (0.3, 0.4)) for name in names]
    report = build_report(build(tasks, (1, 2)), replace(PROVENANCE, base=model))
    text = to_markdown(report)
    classes = next(lines for lines in parsed(text))
    assert [line[0] for line in classes] == [plain(name).strip() for name in names]
    assert {len(line) for line in classes} == {5}


def test_an_underscore_inside_a_word_stays_bare_and_any_other_is_escaped():
    assert escape("graph_color a__b") == "graph_color a__b"
    assert escape("_x_ y_ _") == r"\_x\_ y\_ \_"
