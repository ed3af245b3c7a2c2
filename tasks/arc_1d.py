r"""A rule between rows of cells, from three examples.

    Find the common rule that maps an input grid to an output grid, given the examples below.

    Example 1:
    Input:  0 0 0 2 9 2 3 4 4 0
    Output: 2 9 2 3 4 4 0 0 0 0
    [...]
    Your final answer should be just the test output grid itself.

    Input:
    0 0 0 0 0 1 5 0 0 0

Reference: 0 0 1 5 0 0 0 0 0 0. Every cell is one digit. The verifier compares texts; the normaliser writes the digits
of a list, of a LaTeX array or of a run without spaces with one space between them (the paper's appendix B.3).
"""

import re

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask

_LABEL = re.compile(r"(?:test )?output(?: grid)?\s*:", re.IGNORECASE)
_ARRAY = re.compile(
    r"\\(?:begin|end)\s*\{(?:array|[bpvB]?matrix)\}(?:\s*\{[clr|\s]*\})?|\\left(?![a-z])|\\right(?![a-z])|\\\\|\\[,;: ]"
)
_SEPARATORS = re.compile(r"[\s,&\[\]()|]+")


def normalise(answer: str) -> str:
    r"""Return a row of digits with one space between them.

    >>> normalise("[0, 1,2]"), normalise(r"\begin{array}{ccc} 0 & 1 & 2 \end{array}"), normalise("12 3")
    ('0 1 2', '0 1 2', '12 3')
    """
    text = _ARRAY.sub(" ", unwrap(answer))
    label = _LABEL.match(text)
    cells = _SEPARATORS.split(text[label.end() :] if label else text)
    cells = [cell for cell in cells if cell]
    if len(cells) == 1:
        cells = list(cells[0])
    if not cells or any(len(cell) != 1 or cell not in "0123456789" for cell in cells):
        return answer
    return " ".join(cells)


TASKS = (ReasoningGymTask(name="arc_1d", dataset="arc_1d", normaliser=normalise, paper_class="expansion"),)
