import re

from hypothesis import given
from hypothesis import strategies as st

from report_frames import PROVENANCE, TaskNumbers, build, example, paper_analysis
from rgsupport.report import build_report, to_latex
from rgsupport.report.latex import escape
from rgsupport.report.layout import plain

SETTING = (
    r"Base: org/base\_1.5B. RLVR: org/rlvr\_1.5B. Problems per task: 4; samples per problem and model: 4; "
    r"k: 1, 2, 4, 8. Sampling: temperature 0.6, top-p 0.95, at most 32768 new tokens, seed 45. Verdict: lenient."
)
GOLDEN = (
    r"""% Needs \usepackage{booktabs}.
\begin{table}[tp]
\centering
\caption{Pass@k. Mean over problems of the unbiased estimate, rounded: 0.9996 prints as 1.000. Dash: not every """
    r"""problem has k samples. Bold: the larger of Base and RLVR where the two differ as printed. """ + SETTING + r"""}
\label{tab:pass-at-k-1}
\footnotesize
\setlength{\tabcolsep}{4pt}
\begin{tabular}{@{}rrrrrrr@{}}
\toprule
\multicolumn{1}{c}{} & \multicolumn{2}{c}{preservation} & \multicolumn{2}{c}{shrinkage} & """
    r"""\multicolumn{2}{c}{no class} \\
\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(lr){6-7}
\multicolumn{1}{c}{} & \multicolumn{2}{c}{graph\_color} & \multicolumn{2}{c}{dice} & \multicolumn{2}{c}{my\_task} \\
\cmidrule(lr){2-3}\cmidrule(lr){4-5}\cmidrule(lr){6-7}
k & Base & RLVR & Base & RLVR & Base & RLVR \\
\midrule
1 & 0.250 & \textbf{0.900} & 0.100 & \textbf{0.200} & -- & -- \\
2 & 0.438 & \textbf{1.000} & 0.200 & \textbf{0.250} & -- & -- \\
4 & 1.000 & 1.000 & \textbf{0.350} & 0.250 & -- & -- \\
8 & -- & -- & -- & -- & -- & -- \\
\bottomrule
\end{tabular}
\end{table}
"""
)
COMMANDS = {
    r"\textbackslash{}": "\\",
    r"\textasciitilde{}": "~",
    r"\textasciicircum{}": "^",
    r"\textless{}": "<",
    r"\textgreater{}": ">",
    r"\textbar{}": "|",
    r"\textasciigrave{}": "`",
    "{[}": "[",
    "{*}": "*",
    "-{}": "-",
    **{f"\\{character}": character for character in "{}&%$#_"},
}
TOKEN = re.compile("|".join(map(re.escape, sorted(COMMANDS, key=len, reverse=True))) + r"|[^\\{}&%$#_~^<>|`\[*]")


def read_back(escaped):
    """Return the text that LaTeX sets, and fail on any character that would mean something else."""
    tokens = TOKEN.findall(escaped)
    assert "".join(tokens) == escaped
    return "".join(COMMANDS.get(token, token) for token in tokens)


def tables_of(report, name):
    return [table for table in report.tables if table.name == name]


def parsed(latex):
    """Return the cells below the labels of each table as they are in the report."""
    return [
        [
            [cell_text(cell) for cell in re.split(r"(?<!\\) & ", line.removesuffix(r" \\"))]
            for line in body.split("\\midrule\n", 1)[1].splitlines()
            if line.endswith(r"\\")
        ]
        for body in re.findall(r"\\begin\{tabular\}(.*?)\\bottomrule", latex, flags=re.DOTALL)
    ]


def cell_text(cell):
    bare = re.sub(r"^\\textbf\{(.*)\}$", r"\1", cell)
    return "-" if bare == "--" else read_back(bare.replace("$-$", "-"))


def test_the_pass_at_k_table():
    report = build_report(example(), PROVENANCE)
    assert to_latex(tables_of(report, "pass_at_k"), report.setting) == GOLDEN


def test_every_cell_of_the_report_is_in_its_place():
    for analysis in (example(), paper_analysis()):
        report = build_report(analysis, PROVENANCE)
        expected = [[[cell.text for cell in line] for line in table.lines] for table in report.tables]
        assert parsed(to_latex(report.tables, report.setting)) == expected


def test_a_class_spans_its_tasks():
    report = build_report(paper_analysis(), PROVENANCE)
    text = to_latex(tables_of(report, "pass_at_k"), report.setting)
    assert text.count(r"\multicolumn{6}{c}{preservation}") == 3
    assert text.count(r"\multicolumn{6}{c}{expansion}") == text.count(r"\multicolumn{6}{c}{shrinkage}") == 1
    assert text.count(r"\begin{table}") == text.count(r"\end{table}") == 5
    assert len(set(re.findall(r"\\label\{(.*)\}", text))) == 5


@given(st.text())
def test_any_text_is_escaped_and_reads_back(text):
    assert read_back(escape(text)) == text
    assert "--" not in escape(text)


@given(st.lists(st.text(min_size=1, max_size=20), min_size=1, max_size=4, unique=True))
def test_any_task_name_keeps_braces_balanced_and_lines_complete(names):
    tasks = [TaskNumbers(name, "expansion", (0.1, 0.2), (0.3, 0.4)) for name in names]
    report = build_report(build(tasks, (1, 2)), PROVENANCE)
    text = to_latex(report.tables, report.setting)
    depth = 0
    for brace in re.findall(r"(?<!\\)(?:\\\\)*([{}])", text):
        depth += 1 if brace == "{" else -1
        assert depth >= 0
    assert depth == 0
    (classes,) = tables_of(report, "classes")
    (lines,) = parsed(to_latex([classes], report.setting))
    assert [line[0] for line in lines] == [plain(name) for name in names]
    assert {len(line) for line in lines} == {5}
