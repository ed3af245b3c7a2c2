"""From what was found out about a task to a verdict, by rules that name no task."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rgsupport.audit._evidence import Evidence, Tally
from rgsupport.audit._probes import Kind

WRONG_REFERENCES = 0.05
"""Share of wrong references from which a task is unsound: one in twenty hides any change worth a table."""
ACCEPTED = 0.10
"""Share of problems from which accepting wrong answers of a kind is no accident of a few of them."""
COPIED = 0.25
"""The same for a line of the question: that may be an example of what answers look like, and right by luck."""
SWAPS = 0.50
"""Share of other questions' answers from which a verifier does not look at the question. Where many answers are right,
such as proper colourings, some of them fit other questions, too."""
REPEATED = 0.10
"""Share of repeated questions from which it is worth a word."""

_FATAL = {
    Kind.EMPTY: "accepts an empty answer",
    Kind.NONSENSE: "accepts nonsense",
    Kind.LONG: "accepts long senseless text",
    Kind.ECHO: "accepts the question as the answer",
    Kind.LINE: "accepts a line copied from the question",
    Kind.UNEVALUATED: "accepts an expression of the question, not worked out",
}
_WEAK = {
    Kind.SWAP: "accepts another question's answer",
    Kind.PERTURBED: "accepts an answer that is off by a sign or a character",
    Kind.HEDGE: "accepts a right answer beside another one",
    Kind.WORDS: "accepts a right answer among other words",
}


class Verdict(StrEnum):
    """Whether a task's verdicts can be trusted."""

    SOUND = "sound"
    """No probe found a fault."""
    GUARDED = "usable with guard"
    """With what rgsupport does about the faults, or you can."""
    UNSOUND = "unsound"
    """Leave the task out, or mend its verifier."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """A verdict and what it rests on, worst first."""

    verdict: Verdict
    reasons: tuple[str, ...]


def judge(evidence: Evidence) -> Judgement:
    """Return the verdict on a task."""
    if evidence.failure:
        return Judgement(Verdict.UNSOUND, (evidence.failure,))
    faults = tuple(_faults(evidence))
    guards = tuple(_guards(evidence))
    verdict = Verdict.UNSOUND if faults else Verdict.GUARDED if guards else Verdict.SOUND
    return Judgement(verdict, faults + guards)


def is_wrong(kind: str) -> bool:
    """Tell whether a suspect question's kind says that its reference is wrong, not that it cannot be known."""
    return not kind.startswith("ambiguous")


def _faults(evidence: Evidence) -> Iterator[str]:
    """Yield what makes a task unsound."""
    total = len(evidence.problems)
    wrong = [suspect for suspect in evidence.suspects if is_wrong(suspect.kind)]
    if len(wrong) > WRONG_REFERENCES * total:
        kinds = ", ".join(dict.fromkeys(suspect.kind for suspect in wrong))
        yield f"{len(wrong)} of {total} questions cannot be judged ({kinds})"
    for kind, words in _FATAL.items():
        if _is_fatal(evidence, kind):
            asked_about = 1 if kind is Kind.LONG else total
            yield f"{words} (on {len(evidence.tallies[kind].problems)} of {asked_about} questions)"
    swaps = evidence.tallies.get(Kind.SWAP, Tally())
    if _ignores_question(swaps):
        yield f"accepts another question's answer ({swaps.accepted} of {swaps.asked})"


def _is_fatal(evidence: Evidence, kind: Kind) -> bool:
    """Tell whether a kind that no verifier may accept is accepted on more questions than by accident."""
    asked_about = 1 if kind is Kind.LONG else len(evidence.problems)
    share = COPIED if kind is Kind.LINE else ACCEPTED
    return len(evidence.tallies.get(kind, Tally()).problems) > share * asked_about


def _ignores_question(swaps: Tally) -> bool:
    return swaps.asked > 0 and swaps.accepted >= SWAPS * swaps.asked


def _guards(evidence: Evidence) -> Iterator[str]:
    """Yield what a user should know, and what is done about it."""
    total = len(evidence.problems)
    wrong = sum(is_wrong(suspect.kind) for suspect in evidence.suspects)
    few_wrong = 0 if wrong > WRONG_REFERENCES * total else wrong
    ambiguous = len(evidence.suspects) - wrong
    for count, words in ((few_wrong, "cannot be judged"), (ambiguous, "can be read in two ways")):
        if count:
            yield f"{count} of {total} questions {words}: --exclude-suspect leaves them out"
    for kind, words in (_FATAL | _WEAK).items():
        tally = evidence.tallies.get(kind, Tally())
        is_fault = _is_fatal(evidence, kind) if kind in _FATAL else kind is Kind.SWAP and _ignores_question(tally)
        if tally.accepted and not is_fault:
            yield f"{words} ({tally.accepted} of {tally.asked})"
    yield from _conduct(evidence)


def _conduct(evidence: Evidence) -> Iterator[str]:
    """Yield how verifier and generator behave, whatever the answers are worth."""
    tallies = evidence.tallies.values()
    if any(tally.refused for tally in tallies):
        yield "executes answers as code: the jail refuses what it may not do"
    if timeouts := sum(tally.timeouts for tally in tallies):
        yield f"does not end on some answers ({timeouts}): the time limit stops it"
    plain = [evidence.tallies.get(kind, Tally()) for kind in Kind if kind not in (Kind.CODE, Kind.ENDLESS)]
    if errors := sum(tally.errors for tally in plain):
        yield f"raises on some answers ({errors}): counted as errors, which are failures"
    if evidence.unstable:
        yield f"judges the same answer differently ({evidence.unstable} times)"
    if evidence.depends_on_hash:
        yield "makes other questions under another hash seed: questions are frozen"
    if evidence.repeated > REPEATED:
        yield f"repeats questions ({evidence.repeated:.0%} of those drawn): only distinct ones are taken"
