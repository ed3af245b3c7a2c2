import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.store import Plan
from rgsupport.typed import build
from rgsupport.types import Completion, FinishReason

PLAN = {"tasks": ["dice"], "problems": 2, "ks": [1, 2], "samples": 2}
ENTRY = {
    "problem_id": "p",
    "sample_index": 0,
    "seed": 1,
    "text": "t",
    "finish_reason": "stop",
    "n_tokens": 3,
    "logprobs": None,
}


def test_a_value_of_the_declared_types_is_built_with_its_tuples_and_enums():
    assert build(Plan, PLAN) == Plan(("dice",), 2, (1, 2), 2)
    assert build(Completion, ENTRY).finish_reason is FinishReason.STOP


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"problems": "2"}, "problems is '2'"),
        ({"problems": None}, "problems is None"),
        ({"problems": True}, "problems is True"),
        ({"problems": 2.0}, "problems is 2.0"),
        ({"tasks": "dice"}, "tasks is 'dice'"),
        ({"tasks": [1]}, "an item of tasks is 1"),
        ({"ks": ["a"]}, "an item of ks is 'a'"),
        ({"shards": 3}, "'shards' is unknown"),
    ],
)
def test_a_part_of_another_type_is_named_with_its_value(change, words):
    with pytest.raises(TypeError, match=words):
        build(Plan, {**PLAN, **change})


def test_a_missing_part_and_an_unknown_word_are_named():
    with pytest.raises(TypeError, match="'samples' is missing"):
        build(Plan, {key: value for key, value in PLAN.items() if key != "samples"})
    with pytest.raises(TypeError, match="finish_reason is 'tired'"):
        build(Completion, {**ENTRY, "finish_reason": "tired"})


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


@given(key=st.sampled_from(sorted(ENTRY)), value=json_values)
def test_whatever_stands_in_a_field_it_is_built_or_refused_with_a_type_error(key, value):
    try:
        made = build(Completion, {**ENTRY, key: value})
    except TypeError:
        return
    assert type(getattr(made, key)) in (str, int, FinishReason, type(None))
    assert key == "logprobs" or getattr(made, key) is not None
