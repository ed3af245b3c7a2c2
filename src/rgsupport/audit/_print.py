"""Verdicts as a table with a section per task that has faults, or as JSON."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rgsupport.audit._audit import Audited
from rgsupport.audit._judge import Verdict

if TYPE_CHECKING:
    from rich.console import Console

_STYLES = {Verdict.SOUND: "green", Verdict.GUARDED: "yellow", Verdict.UNSOUND: "bold red"}
_LISTED = 20


def print_audited(console: "Console", audited: Audited) -> None:
    """Print the verdict on one task, and what it rests on."""
    from rich.text import Text

    evidence, judgement = audited.evidence, audited.judgement
    facts = f"{len(evidence.problems)} questions, {1000 * evidence.seconds:.1f} ms each"
    if evidence.references < len(evidence.problems):
        facts += f", {evidence.references} with a known answer"
    line = Text.assemble(
        f"{evidence.task:<28}", (f"{judgement.verdict:<19}", _STYLES[judgement.verdict]), (facts, "dim")
    )
    console.print(line, soft_wrap=True, highlight=False)
    for reason in judgement.reasons:
        console.print(Text(f"    {reason}"), soft_wrap=True)
    suspects = evidence.suspects
    if suspects and judgement.verdict is not Verdict.SOUND:
        console.print(Text(f"    suspect questions, by index: {_listed([suspect.index for suspect in suspects])}"))


def print_summary(console: "Console", audited: Sequence[Audited]) -> None:
    """Print how many tasks have which verdict."""
    counts = {verdict: sum(item.judgement.verdict is verdict for item in audited) for verdict in Verdict}
    console.print(", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count), style="bold")


def as_json(audited: Sequence[Audited]) -> str:
    """Return a list with an object for each task."""
    return json.dumps([_object(item) for item in audited], indent=2)


def _object(audited: Audited) -> dict[str, object]:
    evidence, judgement = audited.evidence, audited.judgement
    return {
        "task": evidence.task,
        "verdict": judgement.verdict.value,
        "reasons": list(judgement.reasons),
        "problems": len(evidence.problems),
        "references": evidence.references,
        "has_checker": evidence.has_checker,
        "suspect_references": [suspect.index for suspect in evidence.suspects],
        "suspects": [
            {"index": suspect.index, "kind": suspect.kind, "detail": suspect.detail} for suspect in evidence.suspects
        ],
        "probes": {
            kind.value: {
                "asked": tally.asked,
                "accepted": tally.accepted,
                "errors": tally.errors,
                "refused": tally.refused,
                "timeouts": tally.timeouts,
            }
            for kind, tally in evidence.tallies.items()
        },
        "forms": {name: {"accepted": right, "asked": asked} for name, (right, asked) in evidence.benign.items()},
        "repeated": round(evidence.repeated, 4),
        "depends_on_hash": evidence.depends_on_hash,
        "unstable": evidence.unstable,
        "seconds_per_problem": round(evidence.seconds, 6),
    }


def _listed(indices: Sequence[int]) -> str:
    more = f" and {len(indices) - _LISTED} more" if len(indices) > _LISTED else ""
    return ", ".join(str(index) for index in indices[:_LISTED]) + more
