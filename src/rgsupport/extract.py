"""Find the answer in a completion: Reasoning Gym's way (`strict`) and the paper's order of fallbacks (`lenient`).

Both read the thought first. A thought is open when the last `<think>` has no `</think>` after it, or when the prompt
itself opened one (`thinking`) and the text holds no `</think>`. An open thought never became a response: it has no
answer, whatever stands in it.

Every function here takes time linear in the length of the text, whatever the text is: it is a model's.
"""

import re
from dataclasses import dataclass

from rgsupport.types import Found

_OPEN = "<answer>"
_CLOSE = "</answer>"
_THINK = "<think>"
_END_THINK = "</think>"

# Neither pattern can backtrack over more than the blanks that follow one `\boxed`.
_ANSWER_TAG = re.compile(r"</?answer>")
_BRACE = re.compile(r"\\(?:boxed|fbox)\s*\{|\\[{}]|[{}]")


@dataclass(frozen=True, slots=True)
class Extracted:
    """An answer and where it stood."""

    answer: str
    """Never empty, no white space around it."""
    found: Found


def strict(text: str, *, thinking: bool) -> str | None:
    """Return what `reasoning_gym.utils.extract_answer` finds, None where that is nothing or empty.

    It is the last pair of tags, read from left to right: a pair opens at the first `<answer>` and ends at the next
    `</answer>`, so a mention of the opening tag before the real one is part of the answer, an empty last pair hides
    the pairs before it, and a pair inside a closed thought counts. Only an open thought is treated otherwise:
    Reasoning Gym would take an answer from it.

    Args:
        text: A completion.
        thinking: Whether the prompt ended inside a thought.

    >>> strict("<answer>4</answer> no, <answer> 5 </answer>", thinking=False)
    '5'
    >>> strict("I put it in <answer> tags. <answer>5</answer>", thinking=False)
    'tags. <answer>5'
    """
    if _after_thought(text, thinking=thinking) is None:
        return None
    answer = ""
    position = 0
    while (start := text.find(_OPEN, position)) >= 0 and (end := text.find(_CLOSE, start)) >= 0:
        answer = text[start + len(_OPEN) : end]
        position = end + len(_CLOSE)
    return answer.strip() or None


def lenient(text: str, *, thinking: bool, cut: bool) -> Extracted | None:
    r"""Return the answer by the paper's order of preference (paper B.3), None where there is none.

    What is searched is the response: the text after the last `</think>`, or the whole text when there is none. So an
    answer that stands only inside the thought is none.

    1. The last pair of answer tags with something in it. A pair is an opening tag and the closing tag that follows it
       with no other tag between them.
    2. The last `\boxed{...}` or `\fbox{...}` with something in it and balanced braces; of nested ones the innermost,
       as in Lighteval. `\{` and `\}` are text, not braces.
    3. The whole response, when a `</think>` precedes it and the token limit did not cut it: a cut response may be
       missing exactly the answer, while tags and braces prove that theirs is complete.

    What stands inside the tags or braces is left as it is; rewriting it is the work of a task's `normalise`.

    Args:
        text: A completion.
        thinking: Whether the prompt ended inside a thought.
        cut: Whether the token limit ended the text.

    >>> lenient("I put it in `<answer>` tags. `<answer>5</answer>`", thinking=False, cut=False)
    Extracted(answer='5', found=<Found.TAG: 'tag'>)
    >>> lenient(r"so \boxed{\frac{1}{2}}, as asked in \boxed{}", thinking=False, cut=False).answer
    '\\frac{1}{2}'
    >>> lenient("hm </think> 5", thinking=True, cut=False)
    Extracted(answer='5', found=<Found.AFTER_THINK: 'after_think'>)
    """
    response = _after_thought(text, thinking=thinking)
    if response is None:
        return None
    if answer := _last_tagged(response):
        return Extracted(answer, Found.TAG)
    if answer := _last_boxed(response):
        return Extracted(answer, Found.BOXED)
    if _END_THINK in text and not cut and (answer := response.strip()):
        return Extracted(answer, Found.AFTER_THINK)
    return None


def _after_thought(text: str, *, thinking: bool) -> str | None:
    """Return the text after the last `</think>`, all of it when there is none, None when a thought is open."""
    end = text.rfind(_END_THINK)
    is_open = text.rfind(_THINK) > end or (thinking and end < 0)
    if is_open:
        return None
    return text if end < 0 else text[end + len(_END_THINK) :]


def _last_tagged(text: str) -> str:
    """Return what the last non-empty pair of tags holds, empty when there is none."""
    answer = ""
    start: int | None = None
    for tag in _ANSWER_TAG.finditer(text):
        if tag.group() == _OPEN:
            start = tag.end()
        elif start is not None:
            answer = text[start : tag.start()].strip() or answer
            start = None
    return answer


def _last_boxed(text: str) -> str:
    """Return what the last non-empty balanced box holds, empty when there is none."""
    answer = ""
    answer_start = -1
    # Where the content of each open brace starts, and whether the brace is a box.
    opened: list[tuple[int, bool]] = []
    for brace in _BRACE.finditer(text):
        token = brace.group()
        if token == "}":
            start, is_box = opened.pop() if opened else (-1, False)
            # A box that encloses a later one ends after it but started before it: the later start wins. Its content
            # is stripped only then, so nested boxes cost no copies of each other.
            if is_box and start > answer_start and (content := text[start : brace.start()].strip()):
                answer, answer_start = content, start
        elif token not in (r"\{", r"\}"):
            opened.append((brace.end(), token != "{"))
    return answer
