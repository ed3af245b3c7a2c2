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
of a list, of a LaTeX array or of a run without spaces with one space between them (the paper's appendix B.3). Three
examples do not define a rule, so the checker, too, has to take the reference for right; it compares the cells.
"""

import re

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_LABEL = re.compile(r"(?:test )?output(?: grid)?\s*:", re.IGNORECASE)
_ARRAY = re.compile(
    r"\\(?:begin|end)\s*\{(?:array|[bpvB]?matrix)\}(?:\s*\{[clr|\s]*\})?|\\left(?![a-z])|\\right(?![a-z])|\\\\|\\[,;: ]"
)
_SEPARATORS = re.compile(r"[\s,&\[\]()|]+")
_MAX_CHARS = 5000
_ROW = re.compile(r"[0-9](?: [0-9])*")


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


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer has exactly the cells of the reference.

    Raises:
        ValueError: The reference is no row of cells.
    """
    if problem.reference is None or not _ROW.fullmatch(problem.reference):
        msg = f"the reference {problem.reference!r} is not a row of cells"
        raise ValueError(msg)
    if len(answer) > _MAX_CHARS:
        return False
    said = normalise(answer)
    return _ROW.fullmatch(said) is not None and said.split() == problem.reference.split()


TASKS = (
    ReasoningGymTask(name="arc_1d", dataset="arc_1d", normaliser=normalise, checker=check, paper_class="expansion"),
)
