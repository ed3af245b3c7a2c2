import io
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from rich.console import Console

from report_frames import PROVENANCE, TaskNumbers, build, example, paper_analysis
from rgsupport.report import build_report, print_report

GOLDEN = """\
3 tasks: 1 preservation, 1 shrinkage, 1 without class at K=4 (nominal; see the intervals)
Base: org/base_1.5B. RLVR: org/rlvr_1.5B. Problems per task: 4; samples per problem and model: 4; k:
1, 2, 4, 8. Sampling: temperature 0.6, top-p 0.95, at most 32768 new tokens, seed 45. Verdict:
lenient.

Class of each task
Nominal class by the two pass@k curves up to K, the largest budget that every problem covers under
both models. Paper: the class in the paper. Dash: none.

task          class          because                        K   paper
────────────────────────────────────────────────────────────────────────────
graph_color   preservation   both reach 1.000 at K          4   preservation
dice          shrinkage      RLVR ahead at k=1, Base at K   4   preservation
my_task       no class       -                              -   -

Pass@k
Mean over problems of the unbiased estimate, rounded: 0.9996 prints as 1.000. Dash: not every
problem has k samples.

    preservation    shrinkage      no class
    graph_color        dice        my_task
k    Base   RLVR    Base   RLVR   Base  RLVR
────────────────────────────────────────────
1   0.250  0.900   0.100  0.200      -     -
2   0.438  1.000   0.200  0.250      -     -
4   1.000  1.000   0.350  0.250      -     -
8       -      -       -      -      -     -

Pass@1 and pass@K
In brackets the 95% interval over the population of questions; where the two overlap widely, the
class may be chance. Dash: no K.

                    pass@1                        pass@K
task         K    Base   RLVR                   Base                  RLVR
──────────────────────────────────────────────────────────────────────────
graph_color  4   0.250  0.900   1.000 [0.900, 1.000]  1.000 [0.900, 1.000]
dice         4   0.100  0.200   0.350 [0.250, 0.450]  0.250 [0.150, 0.350]
my_task      -       -      -                      -                     -

Support
Problems solved by both models (P), by RLVR alone (E), by Base alone (S), by neither (O), with k
samples each. Realised: k is the number of samples. Expected: k is smaller, mean over all choices of
k. SRR = P/(P+S), NDR = E/(P+E), SDS their harmonic mean, NSCR = (E-S)/(P+E+S). Pooled lines add the
counts, at the largest k that all their problems cover. Dash: 0/0, or no such k.

task              k  counts       P    E    S    O     SRR    NDR    SDS    NSCR
────────────────────────────────────────────────────────────────────────────────
graph_color       4  expected   4.0  0.0  0.0  0.0   1.000  0.000      -   0.000
dice              4  realised     1    0    1    2   0.500  0.000  0.000  -0.500
my_task           -  -            -    -    -    -       -      -      -       -
────────────────────────────────────────────────────────────────────────────────
graphs (2 tasks)  -  -            -    -    -    -       -      -      -       -
all (3 tasks)     2  expected   5.0  0.2  1.0  5.8   0.833  0.048  0.090  -0.120

Pass@1 by verdict
Lenient finds the answer as the paper does; strict is Reasoning Gym's own extraction and scorer;
checked asks the task's own checker about the answer that lenient found. If answered: correct among
the answers found. Dash: no answer, or no checker.

                lenient      lenient if answered      strict        checked
task           Base   RLVR       Base   RLVR        Base   RLVR    Base   RLVR
──────────────────────────────────────────────────────────────────────────────
graph_color   0.250  0.900      0.400  0.960       0.125  0.450       -      -
dice          0.100  0.200      0.400  0.960       0.050  0.100   0.050  0.100
my_task           -      -          -      -           -      -       -      -

Pass@K by verdict
K as in the classes. Dash: no K, or no checker.

                lenient         strict        checked
task           Base   RLVR    Base   RLVR    Base   RLVR
────────────────────────────────────────────────────────
graph_color   1.000  1.000   0.500  0.500       -      -
dice          0.350  0.250   0.175  0.125   0.175  0.125
my_task           -      -       -      -       -      -

What became of the samples
Shares of all samples (lenient verdict); none is left out of pass@k. Cut: by the token limit, before
an answer. Too long: the prompt did not fit the context. Timeout, error: of the verifier, or of the
engine. Tokens: mean new tokens. Same: share of responses, after a problem's first, that repeat one
before. Dash: no samples.

task         model   samples   no answer    cut  too long   timeout  error   tokens   same
──────────────────────────────────────────────────────────────────────────────────────────
graph_color  Base         16       0.312  0.062     0.000     0.000  0.000     9412  0.000
graph_color  RLVR         16       0.000  0.000     0.000     0.000  0.000     87.2  0.125
dice         Base         16       0.312  0.062     0.000     0.000  0.000     9412  0.000
dice         RLVR         16       0.000  0.000     0.000     0.000  0.000     87.2  0.125
my_task      Base         16           -      -         -         -      -        -      -
my_task      RLVR         16           -      -         -         -      -        -      -
"""


def printed(analysis, *, width=80, terminal=False, no_color=False, encoding="utf-8"):
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, newline="")
    environment = {"NO_COLOR": "1"} if no_color else {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    console = Console(file=file, width=width, force_terminal=terminal, _environ=environment)
    print_report(build_report(analysis, PROVENANCE), console)
    file.flush()
    return raw.getvalue().decode(encoding)


def without_styles(text):
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_the_printed_report():
    assert printed(example()) == GOLDEN


def test_what_goes_to_a_file_does_not_depend_on_the_terminal():
    assert printed(example(), width=23) == printed(example(), width=300) == GOLDEN


def test_the_tables_of_the_paper_fit_into_100_columns_uncut():
    text = printed(paper_analysis())
    assert max(cell_len(line) for line in text.splitlines()) <= 100
    # Once in each of classes, pass@k, intervals, support and twice in verdicts, and once per model in the last table.
    assert text.count("graph_color_hard") == 8
    assert len(re.findall(r"^ *k +Base", text, flags=re.MULTILINE)) == 5


def test_a_terminal_shows_the_same_text_with_the_colour_of_each_class():
    text = printed(example(), width=100, terminal=True)
    assert without_styles(text) == GOLDEN
    assert "\x1b[32mpreservation" in text
    assert "\x1b[31mshrinkage" in text


def test_no_color_leaves_no_colour():
    text = printed(example(), width=100, terminal=True, no_color=True)
    assert without_styles(text) == GOLDEN
    assert not re.search(r"\x1b\[[0-9;]*3[0-7]m", text)


@pytest.mark.parametrize("width", [1, 20, 41, 60, 79])
def test_a_narrow_terminal_gets_every_cell_in_parts_that_repeat_the_names(width):
    text = without_styles(printed(example(), width=width, terminal=True))
    for table in build_report(example(), PROVENANCE).tables:
        for line in table.lines:
            assert all(cell.text in text for cell in line)
    # A part is at least the names and one group; where that fits, nothing is wider than the terminal.
    if width >= 60:
        assert max(map(cell_len, text.splitlines())) <= width
    assert text.count("graph_color") > GOLDEN.count("graph_color")


def test_a_terminal_without_unicode_gets_plain_rules():
    text = printed(example(), encoding="ascii")
    assert text == GOLDEN.replace("─", "-")


NAMES = st.text(st.characters(codec="utf-8"), min_size=1, max_size=60)


@given(st.lists(NAMES, min_size=1, max_size=4, unique=True), st.booleans())
def test_any_name_prints_without_steering_the_terminal(names, terminal):
    tasks = [TaskNumbers(name, "expansion", (0.1, 0.2), (0.3, 0.4)) for name in names]
    text = printed(build(tasks, (1, 2)), terminal=terminal, no_color=True)
    bare = re.sub(r"\x1b\[[0-9;]*m", "", text) if terminal else text
    assert all(character.isprintable() for character in bare.replace("\n", ""))
