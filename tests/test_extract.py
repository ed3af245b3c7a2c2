import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reasoning_gym.utils import extract_answer

from rgsupport.extract import Extracted, lenient, strict
from rgsupport.types import Found

PIECES = st.sampled_from(
    [
        "<answer>",
        "</answer>",
        "<answer",
        "answer>",
        "<think>",
        "</think>",
        "\\boxed{",
        "\\fbox {",
        "\\boxed",
        "{",
        "}",
        "\\{",
        "\\}",
        " ",
        "\n",
        "\u2003",
        "\x1c",
        "5",
        "b",
        "\ud800",
        "\0",
    ]
)
TEXTS = st.lists(PIECES, max_size=14).map("".join)


def is_open(text, thinking):
    tail = text.rsplit("</think>", 1)[-1]
    return "<think>" in tail or (thinking and "</think>" not in text)


@settings(max_examples=500)
@given(TEXTS, st.booleans())
def test_strict_is_reasoning_gyms_extraction_except_in_an_open_thought(text, thinking):
    expected = None if is_open(text, thinking) else extract_answer(text) or None
    assert strict(text, thinking=thinking) == expected


@settings(max_examples=500)
@given(TEXTS, st.booleans(), st.booleans())
def test_lenient_follows_the_order_of_a_plain_reading_of_its_rules(text, thinking, cut):
    assert lenient(text, thinking=thinking, cut=cut) == slow_lenient(text, thinking, cut)


def slow_lenient(text, thinking, cut):
    """The rules of `lenient` again, by trying every start and every end."""
    if is_open(text, thinking):
        return None
    response = text.rsplit("</think>", 1)[-1]
    pairs = [
        response[start + 8 : end].strip()
        for end in occurrences(response, "</answer>")
        for start in occurrences(response, "<answer>")
        if start < end and not any(tag in response[start + 8 : end] for tag in ("<answer>", "</answer>"))
    ]
    if answer := next(filter(None, reversed(pairs)), None):
        return Extracted(answer, Found.TAG)
    if answer := next(filter(None, reversed(slow_boxes(response))), None):
        return Extracted(answer, Found.BOXED)
    if "</think>" in text and not cut and response.strip():
        return Extracted(response.strip(), Found.AFTER_THINK)
    return None


def occurrences(text, part):
    return [at for at in range(len(text)) if text.startswith(part, at)]


def slow_boxes(text):
    boxes = []
    for name in ("\\boxed", "\\fbox"):
        for at in occurrences(text, name):
            rest = text[at + len(name) :]
            if not rest.lstrip().startswith("{"):
                continue
            start = at + len(name) + rest.index("{")
            depth = 0
            for end in range(start, len(text)):
                is_escaped = text[end - 1] == "\\"
                depth += 0 if is_escaped else (text[end] == "{") - (text[end] == "}")
                if depth == 0:
                    boxes.append((start, text[start + 1 : end].strip()))
                    break
    return [content for _, content in sorted(boxes)]


def answer_of(text, *, thinking=False, cut=False):
    extracted = lenient(text, thinking=thinking, cut=cut)
    return extracted and extracted.answer


def test_a_mention_of_the_tag_does_not_become_part_of_the_answer():
    assert answer_of("I put it in `<answer>` tags. `<answer>5</answer>`") == "5"


def test_an_empty_later_pair_or_box_does_not_hide_an_earlier_answer():
    assert answer_of("<answer>2</answer>, that is in <answer> </answer>") == "2"
    assert answer_of(r"\boxed{2}, that is in \boxed{ }") == "2"
    assert strict("<answer>2</answer>, that is in <answer></answer>", thinking=False) is None


def test_a_stray_closing_tag_ends_no_second_pair():
    assert answer_of("<answer>5</answer> and more </answer>") == "5"


def test_tags_win_over_a_later_box_and_a_box_over_the_rest_of_the_response():
    assert lenient(r"</think> <answer>1</answer> \boxed{2}", thinking=True, cut=False) == Extracted("1", Found.TAG)
    assert lenient(r"</think> so \boxed{2}.", thinking=True, cut=False) == Extracted("2", Found.BOXED)
    assert lenient("</think> so 3.", thinking=True, cut=False) == Extracted("so 3.", Found.AFTER_THINK)


def test_braces_inside_a_box_are_balanced_and_the_innermost_last_box_counts():
    assert answer_of(r"\boxed{\frac{1}{2}}") == r"\frac{1}{2}"
    assert answer_of(r"\boxed{\left\{1, 2\right.}") == r"\left\{1, 2\right."
    assert answer_of(r"\boxed{a \fbox{b} c}") == "b"
    assert answer_of(r"\boxed{1} then \boxed{2") == "1"
    assert answer_of(r"{ \boxed{1}") == "1"


def test_an_answer_inside_a_closed_thought_with_nothing_after_it_is_none():
    assert answer_of("<think><answer>5</answer></think>") is None
    assert answer_of("<think><answer>5</answer></think> 6") == "6"


def test_an_open_thought_has_no_answer_of_either_kind():
    for text, thinking in [
        ("<think> <answer>5</answer>", False),
        ("<answer>5</answer> <think> hm", False),
        ("<answer>5</answer>", True),
        ("a </think> b <think> <answer>5</answer>", True),
    ]:
        assert answer_of(text, thinking=thinking) is None
        assert strict(text, thinking=thinking) is None


def test_a_cut_response_gives_its_complete_pair_or_box_but_never_its_text():
    assert answer_of("</think> <answer>5</answer> and", cut=True) == "5"
    assert answer_of(r"</think> \boxed{5} and", cut=True) == "5"
    assert answer_of("</think> The answer is 1", cut=True) is None


def test_a_response_without_a_thought_is_not_itself_an_answer():
    assert answer_of("The answer is 5") is None


@pytest.mark.parametrize(
    ("piece", "answer"),
    [
        ("<answer>", None),
        ("</answer>", None),
        ("<answer></answer>", None),
        ("\\boxed{", None),
        ("\\boxed{}", None),
        ("\\boxed ", None),
        ("{", None),
        ("}", None),
        ("</think>", "x"),
        ("<think></think>", "x"),
    ],
)
def test_a_megabyte_of_hostile_text_is_read_in_one_pass(piece, answer):
    # Anything worse than linear would take hours.
    text = piece * 200_000 + "x"
    assert answer_of(text) == answer
    assert strict(text, thinking=False) is None


def test_an_answer_among_a_megabyte_of_openings_is_found():
    many = 200_000
    assert answer_of("\\boxed{" * many + "5" + "}" * many) == "5"
    assert answer_of("<answer>" * many + "5</answer>") == "5"
    assert answer_of("\\boxed" + " " * many + "{5}") == "5"
