"""What a verifier is asked in an audit: wrong answers of several kinds, none of them made for one dataset."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from rgsupport.audit._same import same

_LINES = 15
_LONGEST_LINE = 2000


class Kind(StrEnum):
    """Kinds of wrong answers."""

    EMPTY = "empty"
    """Nothing, or white space."""
    NONSENSE = "nonsense"
    """A word, a number or an empty container that has nothing to do with the question."""
    LONG = "long"
    """Thousands of characters, some deeply nested."""
    ECHO = "echo"
    """The question itself."""
    LINE = "line"
    """A line or sentence of the question."""
    SWAP = "swap"
    """The reference of another question."""
    PERTURBED = "perturbed"
    """The reference with a digit, a sign, a word or its end changed."""
    HEDGE = "hedge"
    """The reference together with another answer."""
    UNEVALUATED = "unevaluated"
    """An expression of the question, left for the verifier to work out."""
    WORDS = "words"
    """The reference among other words."""
    CODE = "code"
    """A Python expression that does something."""
    ENDLESS = "endless"
    """A number that takes for ever to compute."""


ONCE = (Kind.LONG, Kind.CODE, Kind.ENDLESS)
"""Kinds asked about one question of a task only: what they show depends on the verifier alone."""

_NONSENSE = ("banana", "None", "null", "NaN", "inf", "True", "{}", "[]", "()", "0", "1", "-1", "?", "I don't know")
_LONG = (
    *(
        "9" * 5000,
        "a b " * 2400,
        "[" * 2000 + "]" * 2000,
        "(" * 2000 + "1" + ")" * 2000,
        '{"a":' * 900 + "1" + "}" * 900,
    ),
    *("1\n" * 4000, "U " * 4000),
)
_CODE = ('__import__("os").system("true")', '__import__("os")._exit(7)')
_ENDLESS = ("9**9**9", "factorial(10**8)", "1e999999999")
_WORDS = {"yes": "No", "no": "Yes", "true": "False", "false": "True"}
_TOKEN = r"[0-9]+(?:\.[0-9]+)?|\b[a-zA-Z]\b|\b(?:sin|cos|tan|exp|log|sqrt)\b|\*\*|[-+*/^()]|[ \t]"
_EXPRESSION = re.compile(rf"(?:{_TOKEN})+")
_NUMBERING = re.compile(r"^\s*(?:[0-9]{1,3}[.)]|[-*•]|\w{1,20}:)\s+")


@dataclass(frozen=True, slots=True)
class Probe:
    """A wrong answer."""

    kind: Kind
    answer: str


def probes(question: str, reference: str | None, others: Sequence[str], *, is_first: bool) -> Iterator[Probe]:
    """Yield wrong answers to a question; those that happen to be its reference are left out.

    Args:
        question: The question.
        reference: An answer that the verifier accepts; None leaves out what is made from it.
        others: References of other questions of the task.
        is_first: Whether to yield the kinds of `ONCE`, too.
    """
    made = [(Kind.EMPTY, ""), (Kind.EMPTY, " \n"), *((Kind.NONSENSE, text) for text in _NONSENSE)]
    made += [(Kind.ECHO, question), *((Kind.LINE, line) for line in _lines(question))]
    made += [(Kind.SWAP, other) for other in others]
    made += [(Kind.UNEVALUATED, text) for text in _unevaluated(question)]
    if reference is not None:
        other = next((text for text in others if not same(text, reference)), "banana")
        made += [(Kind.PERTURBED, text) for text in _perturbed(reference)]
        made += [(Kind.HEDGE, text) for text in _hedges(reference, other)]
        made += [(Kind.WORDS, f"{reference} {more}") for more in ("0", "extra words")]
    if is_first:
        once = ((Kind.LONG, _LONG), (Kind.CODE, _CODE), (Kind.ENDLESS, _ENDLESS))
        made += [(kind, text) for kind, texts in once for text in texts]
    for kind, answer in dict.fromkeys(made):
        if reference is None or not same(answer, reference):
            yield Probe(kind, answer)


def _lines(question: str) -> list[str]:
    """Return lines and sentences of a question, without numbers and labels before them."""
    lines = [_NUMBERING.sub("", line).strip() for line in question.splitlines()]
    sentences = [part for line in lines for part in re.split(r"(?<=[.?!]) ", line)]
    bare = [text.rstrip(".?!") for text in (*lines, *sentences)]
    return [text for text in dict.fromkeys((*lines, *sentences, *bare)) if 0 < len(text) <= _LONGEST_LINE][:_LINES]


def _perturbed(reference: str) -> Iterator[str]:
    digits = [match.start() for match in re.finditer("[0-9]", reference)]
    for at in digits[:1] + digits[-1:]:
        yield f"{reference[:at]}{(int(reference[at]) + 1) % 10}{reference[at + 1 :]}"
    if digits:
        yield reference[1:] if reference.startswith("-") else f"-{reference}"
        yield f"{reference}0"
        yield f"1{reference}"
    yield reference[:-1]
    yield reference + reference
    if reference.strip().lower() in _WORDS:
        yield _WORDS[reference.strip().lower()]


def _hedges(one: str, other: str) -> tuple[str, ...]:
    return (
        *(f"{one} or {other}", f"{other} or {one}", f"{one} and {other}", f"{one}, or maybe {other}"),
        *(f"first {other}, then {one}", f"{one} no, {other}"),
    )


def _unevaluated(question: str) -> Iterator[str]:
    """Yield the first and the longest expression of the question, and calls that leave the work to a verifier."""
    found = [match.group().strip() for match in _EXPRESSION.finditer(question)]
    whole = [text for text in found if re.search(r"[-+*/^(]", text[1:]) and re.search("[0-9]", text) and len(text) > 4]
    for expression in dict.fromkeys([*whole[:1], *sorted(whole, key=len)[-1:]]):
        variable = next(iter(re.findall(r"\b[a-zA-Z]\b", expression)), "x")
        yield expression
        yield from (f"{call}({expression}, {variable})" for call in ("integrate", "Integral"))
        yield from (f"{call}({expression})" for call in ("expand", "simplify", "factor"))
