"""graph_color: a map of vertices to colours, as JSON, in a fence, or as Python writes it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport import codec
from task_under_test import is_right, problems, task

NAMES = ("graph_color", "graph_color_hard", "graph_color_vertex15", "graph_color_vertex20")
FORMS = (
    lambda colours: json.dumps(colours),
    lambda colours: json.dumps(colours, indent=2),
    lambda colours: f"```json\n{json.dumps(colours)}\n```",
    lambda colours: f"Here it is:\n```\n{json.dumps(colours)}\n```\nEvery edge is fine.",
    lambda colours: str(dict(colours)),
    lambda colours: str({str(vertex): colour for vertex, colour in colours.items()}),
    lambda colours: json.dumps({vertex: str(colour) for vertex, colour in colours.items()}),
    lambda colours: json.dumps({"coloring": colours}),
    lambda colours: json.dumps(colours).replace("}", ",}"),
)


def is_colouring(problem, colours):
    """Read the graph from the question itself."""
    metadata = codec.decode(problem.entry)["metadata"]["puzzle"]
    assert str(metadata["edges"]) in problem.question
    return all(colours.get(vertex) in metadata["color_options"] for vertex in metadata["vertices"]) and all(
        colours[one] != colours[other] for one, other in metadata["edges"]
    )


@pytest.mark.parametrize("form", FORMS)
@given(data=st.data(), name=st.sampled_from(NAMES), at=st.integers(0, 49))
def test_a_map_is_right_when_it_colours_the_graph(form, data, name, at):
    problem = problems(name)[at]
    colours = dict(codec.decode(problem.entry)["metadata"]["possible_answer"])
    for vertex in data.draw(st.sets(st.integers(0, 20), max_size=3)):
        colours[vertex] = data.draw(st.integers(0, 5))
    if data.draw(st.booleans()):
        del colours[data.draw(st.sampled_from(sorted(colours)))]
    assert is_right(name, problem, form(colours)) == is_colouring(problem, colours)


@pytest.mark.parametrize(
    ("name", "vertices"),
    [("graph_color", {10}), ("graph_color_vertex15", {15}), ("graph_color_vertex20", {20})],
)
def test_a_graph_has_exactly_the_vertices_of_its_variant(name, vertices):
    assert {codec.decode(problem.entry)["metadata"]["num_vertices"] for problem in problems(name)} == vertices


@pytest.mark.parametrize(
    "answer",
    [
        "0: 1",
        "{0: 1} {1: 2}",
        "{0: 1",
        "{'0': 'red'}",
        '{"0": [1]}',
        '{"0": 1.5}',
        '{"0": -1}',
        "```{0: 1}``` ```{0: 2}```",
    ],
)
def test_what_is_no_map_of_numbers_to_numbers_stays_as_it_is(answer):
    assert task("graph_color").normalise(answer) == answer
