"""Whether a conclusion follows from two premises.

    Consider these statements:
    1. All ants are dolphins
    2. Some dolphins are not spiders

    Does it logically follow that:
    Some ants are not spiders?
    (Answer Yes or No)

Reference: Yes, which is wrong: Reasoning Gym 0.1.25 tests the distribution of terms in the conclusion, but not that of
the middle term. The checker looks at every way in which three sets can lie to each other. Where the conclusion follows
only if none of the sets is empty, as "All A are B" gives "Some A are B", the question is doubted and either answer
accepted.
"""

import re
from itertools import product

from rgsupport.latex import unwrap
from rgsupport.reasoning_gym import ReasoningGymTask
from rgsupport.types import Problem

_MAX_CHARS = 200
_Region = tuple[bool, bool, bool]
_Statement = tuple[str, int, int]
"""Quantifier, place of the subject and of the predicate among the three terms."""

_REGIONS: tuple[_Region, ...] = tuple(product((False, True), repeat=3))  # pyright: ignore[reportAssignmentType]
_ASKED = re.compile(r"1\. (.+)\n2\. (.+)\n\nDoes it logically follow that:\n(.+)\?\n")
_STATEMENT = re.compile(r"((?:All|No)(?! \S+ are not )|Some) (\S+) are (not )?(\S+)")
_SAID = re.compile(
    r"\**(?:(?:the )?(?:final )?answer(?::| is:?)[\s*]*)?(?P<word>yes|no)\**"
    r"(?P<reason>[,:]\s*(?:it|this|that|(?:the|this) (?:conclusion|statement)) "
    r"(?:(?P<yes>(?:logically )?follows(?: logically)?|does(?: logically)?(?: follow)?)"
    r"|does(?: not|n['’]t)(?: (?:logically|necessarily))?(?: follow)?(?: logically)?))?",
    re.IGNORECASE,
)


def normalise(answer: str) -> str:
    """Return a bare yes or no in the verifier's spelling.

    >>> normalise("**no**."), normalise("No, it does not follow."), normalise("No, it follows")
    ('No', 'No', 'No, it follows')
    """
    says_yes = _says_yes(answer)
    return answer if says_yes is None else "Yes" if says_yes else "No"


def check(problem: Problem, answer: str) -> bool:
    """Tell whether an answer says rightly that the conclusion follows or does not.

    Raises:
        ValueError: The question has no two premises and a conclusion about three terms.
    """
    return _says_yes(answer) in _follows(problem)


def doubt(problem: Problem) -> str:
    """Return that the answer depends on whether sets may be empty; empty if it does not."""
    both = len(_follows(problem)) > 1
    return "ambiguous question: the conclusion follows only if none of the sets is empty" if both else ""


def _says_yes(answer: str) -> bool | None:
    """Return what an answer says; None where that is nothing, too much or two things."""
    said = _SAID.fullmatch(unwrap(answer)) if len(answer) <= _MAX_CHARS else None
    if not said:
        return None
    says_yes = said["word"].lower() == "yes"
    contradicts_itself = said["reason"] is not None and says_yes != (said["yes"] is not None)
    return None if contradicts_itself else says_yes


def _follows(problem: Problem) -> set[bool]:
    """Return whether the conclusion follows: if sets may be empty, and if they may not."""
    asked = _ASKED.search(problem.question)
    parts = [_STATEMENT.fullmatch(part) for part in asked.groups()] if asked else []
    terms = list(dict.fromkeys(term for part in parts if part for term in (part.group(2), part.group(4))))
    if not parts or None in parts or len(terms) > 3:
        msg = "the question has no two premises and a conclusion about three terms"
        raise ValueError(msg)
    first, second, conclusion = (
        (part.group(1) + (part.group(3) or "").strip(), terms.index(part.group(2)), terms.index(part.group(4)))
        for part in parts
        if part
    )
    counterexamples = [
        world for world in _worlds() if _holds(first, world) and _holds(second, world) and not _holds(conclusion, world)
    ]
    without_empty_sets = [world for world in counterexamples if all(any(r[i] for r in world) for i in range(3))]
    return {not counterexamples, not without_empty_sets}


def _worlds() -> list[list[_Region]]:
    """Return every choice of which regions of the diagram of three sets have members."""
    return [
        [region for region, has_members in zip(_REGIONS, chosen, strict=True) if has_members]
        for chosen in product((False, True), repeat=len(_REGIONS))
    ]


def _holds(statement: _Statement, world: list[_Region]) -> bool:
    quantifier, subject, predicate = statement
    in_both = any(region[subject] and region[predicate] for region in world)
    outside = any(region[subject] and not region[predicate] for region in world)
    return {"All": not outside, "No": not in_both, "Some": in_both, "Somenot": outside}[quantifier]


TASKS = (ReasoningGymTask(name="syllogism", dataset="syllogism", normaliser=normalise, checker=check, doubter=doubt),)
