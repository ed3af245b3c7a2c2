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
examples do not define a rule, so the checker has to take the reference for right; it compares the cells. What can be
told from the question alone is told by the doubter: it knows some simple rules, and where one of them explains all
examples, as it does in four questions of five, the reference has to be what such a rule makes of the test input.
The guesser writes the cells of the test input in any order.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import groupby
from random import Random

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_LABEL = re.compile(r"(?:test )?output(?: grid)?\s*:", re.IGNORECASE)
_ARRAY = re.compile(
    r"\\(?:begin|end)\s*\{(?:array|[bpvB]?matrix)\}(?:\s*\{[clr|\s]*\})?|\\left(?![a-z])|\\right(?![a-z])|\\\\|\\[,;: ]"
)
_SEPARATORS = re.compile(r"[\s,&\[\]()|]+")
_MAX_CHARS = 5000
_Row = tuple[int, ...]
_Rule = Callable[[_Row], _Row | None]
"""Makes the output row of an input row; None if it has nothing to say about it."""
_EXAMPLE = re.compile(r"Input:  ([0-9 ]+)\nOutput: ([0-9 ]+)\n")
_TEST = re.compile(r"\nInput:\n([0-9 ]+)\Z")
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
    if not cells or ".." in answer or any(len(cell) != 1 or cell not in "0123456789" for cell in cells):
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


def doubt(problem: Problem) -> str:
    """Return that simple rules explain every example and none of them gives the reference; empty otherwise.

    Raises:
        ValueError: The question has no examples and no test input.
    """
    test = _TEST.search(problem.question)
    examples = [(_row(one), _row(other)) for one, other in _EXAMPLE.findall(problem.question)]
    if not test or not examples or problem.reference is None:
        msg = "the question has no examples and no test input"
        raise ValueError(msg)
    given = _row(test.group(1))
    rules = [rule for rule in _rules(len(given)) if all(rule(one) == other for one, other in examples)]
    made = {rule(given) for rule in rules} - {None}
    if not made or _row(problem.reference) in made:
        return ""
    row = " ".join(map(str, min(row for row in made if row is not None)))
    return f"wrong reference: the rule that explains the examples gives {row}, not {problem.reference}"


def _row(text: str) -> _Row:
    return tuple(int(cell) for cell in text.split())


def _rules(size: int) -> Iterator[_Rule]:
    """Yield simple rules, each also as seen in a mirror."""
    plain: list[_Rule] = [_fall, _step, _reverse_blocks, _fill, _own_size, _sort, _by_size]
    plain += [partial(_turn, by=by) for by in range(1, size)]
    moves = (_touch, _stretch, _reflect, *(partial(_approach, by=by) for by in range(1, 5)))
    for colour in range(1, 10):
        plain += [partial(rule, colour=colour) for rule in (_paint, _count, _part, _first)]
        plain += [partial(_about_dot, colour=colour, move=move) for move in moves]
    for rule in plain:
        yield rule
        yield partial(_in_mirror, rule=rule)


def _in_mirror(row: _Row, rule: _Rule) -> _Row | None:
    made = rule(row[::-1])
    return None if made is None else made[::-1]


def _turn(row: _Row, by: int) -> _Row:
    return row[-by:] + row[:-by]


def _paint(row: _Row, colour: int) -> _Row | None:
    # Where most cells have the colour before, the others may be noise in a block of whatever colour.
    if 2 * row.count(colour) > sum(cell > 0 for cell in row):
        return None
    return tuple(colour if cell else 0 for cell in row)


def _count(row: _Row, colour: int) -> _Row:
    return _pad([colour] * sum(cell > 0 for cell in row), row)


def _first(row: _Row, colour: int) -> _Row:
    """Move everything to the left, one colour before the others."""
    return _pad(sorted((cell for cell in row if cell), key=lambda cell: cell != colour), row)


def _pad(cells: list[int], row: _Row) -> _Row:
    return (*cells, *[0] * (len(row) - len(cells)))


def _blocks(row: _Row) -> list[tuple[int, int]]:
    """Return start and end of every run of cells that are not empty."""
    runs = [(bool(full), list(places)) for full, places in groupby(range(len(row)), key=lambda at: row[at] > 0)]
    return [(places[0], places[-1] + 1) for full, places in runs if full]


def _fall(row: _Row) -> _Row:
    return _pad([cell for cell in row if cell], row)


def _step(row: _Row) -> _Row:
    cells = list(row)
    for at in range(1, len(cells)):
        if cells[at] and not cells[at - 1]:
            cells[at - 1], cells[at] = cells[at], 0
    return tuple(cells)


def _reverse_blocks(row: _Row) -> _Row:
    cells = list(row)
    for start, end in _blocks(row):
        cells[start:end] = cells[start:end][::-1]
    return tuple(cells)


def _fill(row: _Row) -> _Row | None:
    ends = [at for at, cell in enumerate(row) if cell]
    if len(ends) != 2 or row[ends[0]] != row[ends[1]]:
        return None
    return tuple(row[ends[0]] if ends[0] <= at <= ends[1] else 0 for at in range(len(row)))


def _own_size(row: _Row) -> _Row | None:
    blocks = _blocks(row)
    if len(blocks) != 1:
        return None
    ((start, end),) = blocks
    cells = [0] * end + list(row[start:end])
    return _pad(cells, row) if len(cells) <= len(row) else None


def _sort(row: _Row) -> _Row | None:
    blocks = sorted((row[start:end] for start, end in _blocks(row)), key=len)
    cells = [cell for block in blocks for cell in (*block, 0)][:-1]
    return _pad(cells, row) if len(cells) <= len(row) else None


def _by_size(row: _Row) -> _Row | None:
    blocks = sorted(_blocks(row), key=lambda block: block[0] - block[1])
    if len(blocks) != 2:
        return None
    colours = {at: colour for colour, (start, end) in enumerate(blocks, start=1) for at in range(start, end)}
    return tuple(colours.get(at, 0) for at in range(len(row)))


def _part(row: _Row, colour: int) -> _Row:
    """Move one colour to the left end and everything else to the right."""
    left, right = [cell for cell in row if cell == colour], [cell for cell in row if cell not in (0, colour)]
    return (*left, *[0] * (len(row) - len(left) - len(right)), *right)


def _about_dot(row: _Row, colour: int, move: Callable[[int, int, int], range]) -> _Row | None:
    """Move the only block beside a dot of this colour, as `move(start, end, dot)` says; the dot stays uppermost."""
    dots = [at for at, cell in enumerate(row) if cell == colour]
    if len(dots) != 1:
        return None
    others = [at for at, cell in enumerate(row) if cell and at != dots[0]]
    if not others or len({row[at] for at in others}) > 1 or others != list(range(others[0], others[-1] + 1)):
        return None
    places = move(others[0], others[-1] + 1, dots[0])
    if places.start < 0 or places.stop > len(row):
        return None
    cells = [row[others[0]] if at in places else 0 for at in range(len(row))]
    cells[dots[0]] = cells[dots[0]] or colour
    return tuple(cells)


def _touch(start: int, end: int, dot: int) -> range:
    return range(dot - (end - start), dot) if end <= dot else range(dot + 1, dot + 1 + end - start)


def _approach(start: int, end: int, dot: int, by: int) -> range:
    near = _touch(start, end, dot)
    step = min(by, abs(near.start - start))
    moved = start + step if end <= dot else start - step
    return range(moved, moved + end - start)


def _stretch(start: int, end: int, dot: int) -> range:
    return range(start, dot + 1) if end <= dot else range(dot, end)


def _reflect(start: int, end: int, dot: int) -> range:
    return range(2 * dot - end + 1, 2 * dot - start + 1)


def guess(problem: Problem, rng: Random) -> str:
    """Return the cells of the test input in any order."""
    cells = list(_given(problem))
    rng.shuffle(cells)
    return " ".join(map(str, cells))


def odds(problem: Problem) -> float:
    """Return one over the orders of the cells, 0 where the reference has other cells."""
    counts = Counter(_given(problem))
    if problem.reference is None or counts != Counter(_row(problem.reference)):
        return 0.0
    return math.prod(map(math.factorial, counts.values())) / math.factorial(sum(counts.values()))


def _given(problem: Problem) -> _Row:
    test = _TEST.search(problem.question)
    if not test:
        msg = "the question has no test input"
        raise ValueError(msg)
    return _row(test.group(1))


TASKS = (
    ReasoningGymTask(
        name="arc_1d",
        dataset="arc_1d",
        normaliser=normalise,
        checker=check,
        doubter=doubt,
        guesser=guess,
        odds=odds,
        paper_class="expansion",
    ),
)
