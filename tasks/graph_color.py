"""Colour a random graph so that no edge joins two vertices of the same colour.

    Please provide a coloring for this graph such that every vertex is not connected to a vertex of the same color. The
    graph has these properties:

    Vertices: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]
    Edges: [(0, 6), (1, 7), (2, 7), (4, 9)]
    Possible colors: [1, 2, 3]

    Return your solution as a JSON map of vertices to colors. (For example: {"0": 1, "1": 2, "2": 3}.)

Any valid colouring is right; no reference is kept. The paper does not define its vertex15 and vertex20: here they have
exactly 15 and 20 vertices, everything else as in the default. The normaliser takes the map out of a code fence and
writes it as JSON where it was a Python map, or its colours were texts. The checker wants every vertex of the graph, no
other and none in two colours, and looks at every edge.
The guesser draws a colour for every vertex.
"""

import json
import re
from random import Random

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 5000
_MAX_STATES = 50_000
_Parts = tuple[tuple[int, ...], ...]
_PAIR = r"""\s*["']?([0-9]{1,3})["']?\s*:\s*["']?([0-9]{1,3})["']?\s*"""
_MAP = re.compile(rf"\{{{_PAIR}(?:,{_PAIR})*(?:,\s*)?\}}")
_WRAPPED = re.compile(r"""\{\s*["'][A-Za-z_ ]{1,40}["']\s*:\s*(\{[^{}]*\})\s*\}""")
_ASKED = re.compile(r"Vertices: \[([0-9, ]*)\]\s+Edges: \[([0-9, ()]*)\]\s+Possible colors: \[([0-9, ]*)\]")


def normalise(answer: str) -> str:
    """Return a map of vertices to colours as JSON.

    >>> normalise("```json {0: '1', 1: 2} ```"), normalise('{"coloring": {"0": 1}}'), normalise("red")
    ('{"0": 1, "1": 2}', '{"0": 1}', 'red')
    """
    text = unwrap(answer)
    if len(text) > _MAX_CHARS:
        return answer
    wrapped = _WRAPPED.fullmatch(text)
    text = wrapped.group(1) if wrapped else text
    if not _MAP.fullmatch(text):
        return text if text.startswith("{") else answer
    pairs = re.findall(_PAIR, text)
    return json.dumps({str(int(vertex)): int(colour) for vertex, colour in pairs})


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer gives every vertex one of the colours, and the ends of every edge different ones.

    Raises:
        ValueError: The question describes no graph.
    """
    vertices, edges, colours = _graph(problem)
    text = unwrap(answer[: _MAX_CHARS + 1])
    wrapped = _WRAPPED.fullmatch(text) if len(answer) <= _MAX_CHARS else None
    text = wrapped.group(1) if wrapped else text
    if len(answer) > _MAX_CHARS or not _MAP.fullmatch(text):
        return False
    pairs = {(int(vertex), int(colour)) for vertex, colour in re.findall(_PAIR, text)}
    colour_of = dict(pairs)
    return (
        len(pairs) == len(colour_of)
        and colour_of.keys() == set(vertices)
        and set(colour_of.values()) <= set(colours)
        and all(colour_of[one] != colour_of[other] for one, other in zip(edges[::2], edges[1::2], strict=True))
    )


def guess(problem: Problem, rng: Random) -> str:
    """Return any colour for every vertex."""
    vertices, _, colours = _graph(problem)
    return json.dumps({str(vertex): rng.choice(colours) for vertex in vertices})


def odds(problem: Problem) -> float:
    """Return the share of colourings that are proper.

    Vertices are coloured one after the other; of those before it only the colours of its neighbours matter, and of
    colours only which are the same. So what is kept is how many ways there are to part the vertices that have
    neighbours still to come into such of one colour.

    Raises:
        ValueError: The graph is so large and dense that these are too many.
    """
    vertices, edges, colours = _graph(problem)
    pairs = list(zip(edges[::2], edges[1::2], strict=True))
    last = {vertex: max([vertex, *(max(pair) for pair in pairs if vertex in pair)]) for vertex in vertices}
    ways: dict[_Parts, int] = {(): 1}
    for vertex in sorted(vertices):
        neighbours = {min(pair) for pair in pairs if max(pair) == vertex} - {vertex}
        coloured: dict[_Parts, int] = {}
        for parts, count in ways.items():
            fitting = [(place, 1) for place, part in enumerate(parts) if not neighbours.intersection(part)]
            for place, times in [*fitting, (len(parts), len(colours) - len(parts))]:
                kept = _with(parts, place, vertex, {v for v in last if last[v] > vertex})
                coloured[kept] = coloured.get(kept, 0) + count * times
        ways = {parts: count for parts, count in coloured.items() if count}
        if len(ways) > _MAX_STATES:
            msg = "the graph is too large and dense to count its colourings"
            raise ValueError(msg)
    return sum(ways.values()) / len(colours) ** len(vertices)


def _with(parts: _Parts, place: int, vertex: int, needed: set[int]) -> _Parts:
    """Return the parts with a vertex added to one of them, or as a new one, without the vertices not needed."""
    grown = [*parts[:place], (*(parts[place] if place < len(parts) else ()), vertex), *parts[place + 1 :]]
    return tuple(sorted(left for part in grown if (left := tuple(v for v in part if v in needed))))


def _graph(problem: Problem) -> tuple[list[int], list[int], list[int]]:
    """Return vertices, ends of edges (two and two), and colours."""
    graph = _ASKED.search(problem.question)
    if not graph:
        msg = "the question does not describe a graph and colours"
        raise ValueError(msg)
    vertices, edges, colours = ([int(digits) for digits in re.findall("[0-9]+", part)] for part in graph.groups())
    return vertices, edges, colours


def _task(name: str, *, paper_class: str = "preservation", **overrides: int) -> ReasoningGymTask:
    return ReasoningGymTask(
        name=name,
        dataset="graph_color",
        overrides=overrides,
        normaliser=normalise,
        checker=check,
        guesser=guess,
        odds=odds,
        paper_class=paper_class,
    )


TASKS = (
    _task("graph_color"),
    _task("graph_color_hard", min_num_vertices=10, max_num_vertices=20, num_colors=4),
    _task("graph_color_vertex15", min_num_vertices=15, max_num_vertices=15),
    _task("graph_color_vertex20", min_num_vertices=20, max_num_vertices=20, paper_class="expansion"),
)
