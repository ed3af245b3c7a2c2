"""What an audit found out about one task, before anybody judges it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from rgsupport.audit._probes import Kind
from rgsupport.types import Problem


@dataclass(frozen=True, slots=True)
class Suspect:
    """A question that cannot be judged as it stands."""

    index: int
    """In the task's source."""
    kind: str
    detail: str


@dataclass(slots=True)
class Tally:
    """What became of the answers of one kind."""

    asked: int = 0
    accepted: int = 0
    """Called correct, and not so by the task's own checker, where it has one."""
    errors: int = 0
    """The verifier raised, or ended its process."""
    refused: int = 0
    """The verifier did what no verifier may, such as starting a process, and was stopped."""
    timeouts: int = 0
    problems: set[int] = field(default_factory=set[int])
    """Places of the problems on which an answer was accepted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything that is known about one task."""

    task: str
    problems: tuple[Problem, ...]
    seconds: float
    """To make one problem, on average."""
    repeated: float
    """Share of the indices that were drawn whose question had come before, or could not be made, in [0, 1]."""
    depends_on_hash: bool
    """Whether another hash seed gives other problems."""
    references: int
    """Problems of which an answer is known that the verifier accepts."""
    has_checker: bool
    suspects: tuple[Suspect, ...]
    tallies: Mapping[Kind, Tally]
    benign: Mapping[str, tuple[int, int]]
    """Way of writing a right answer -> how often it was accepted, of how many."""
    unstable: int
    """References that were judged otherwise when asked again."""
    failure: str = ""
    """Why there are no problems; nothing else is known then."""
