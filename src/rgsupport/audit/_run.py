"""Ask the verifier of one task: put every probe to it in the jail, and collect what comes back."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from rgsupport.audit._benign import benign
from rgsupport.audit._evidence import Evidence, Suspect, Tally
from rgsupport.audit._probes import Kind, Probe, probes
from rgsupport.audit._suspects import candidates, fault
from rgsupport.jail import Ask, Jail, Job, Result
from rgsupport.types import Problem, Status

_SWAPS = 5  # other questions whose references are tried on each question
_FORMS = 5  # problems on which ways of writing the answer are tried
_PATIENCE = 30  # answers of a task that may run into the time limit before the rest of its probes are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """One task as an audit begins with it."""

    task: str
    problems: tuple[Problem, ...]
    seconds: float
    depends_on_hash: bool
    has_doubts: bool
    """Whether the task can be asked to doubt a problem."""
    has_checker: bool


@dataclass(frozen=True, slots=True)
class _Asked:
    """A probe of a problem and what the verifier said."""

    place: int
    probe: Probe
    result: Result


def examine(subject: Subject, jail: Jail) -> Evidence:
    """Return what the probes show of a task; the jail has it loaded."""
    references = _references(subject, jail)
    asked = list(_ask(subject, references, jail))
    return Evidence(
        task=subject.task,
        problems=subject.problems,
        seconds=subject.seconds,
        repeated=_repeated(subject.problems),
        depends_on_hash=subject.depends_on_hash,
        references=len(references),
        has_checker=subject.has_checker,
        suspects=tuple(_suspects(subject, references, jail)),
        tallies=_tallies(asked, _confirmed(subject, asked, jail)),
        benign=_forms(subject, references, jail),
        unstable=_unstable(subject, references, jail),
    )


def _score(jobs: Iterable[tuple[Problem, str, Ask]], jail: Jail) -> list[Result]:
    """Return the results of some jobs, in their order."""
    numbered = [Job(key, *job) for key, job in enumerate(jobs)]
    return sorted(jail.score(numbered), key=lambda result: result.key)


def _references(subject: Subject, jail: Jail) -> dict[int, str]:
    """Return an answer that the verifier accepts, by place of the problem, where one is known."""
    offered = [(place, text) for place, problem in enumerate(subject.problems) for text in candidates(problem)]
    results = _score(((subject.problems[place], text, Ask.AS_IS) for place, text in offered), jail)
    accepted = zip(offered, results, strict=True)
    return {place: text for (place, text), result in accepted if result.status is Status.CORRECT}


def _suspects(subject: Subject, references: Mapping[int, str], jail: Jail) -> Iterator[Suspect]:
    """Yield the questions that cannot be judged, with the first reason that is found."""
    problems = subject.problems if subject.has_doubts else ()
    doubts = dict(enumerate(_score(((problem, "", Ask.DOUBT) for problem in problems), jail)))
    for place, problem in enumerate(subject.problems):
        doubt = doubts.get(place)
        found = fault(problem)
        if doubt is not None and doubt.status is not Status.CORRECT:
            kind, _, detail = doubt.answer.partition(": ")
            found = (kind, detail) if doubt.status is Status.WRONG else ("the checker fails", doubt.detail)
        elif found is None and problem.reference is not None and place not in references:
            found = ("the verifier rejects its reference", f"it is {problem.reference[:100]!r}")
        if found is not None:
            yield Suspect(problem.index, *found)


def _ask(subject: Subject, references: Mapping[int, str], jail: Jail) -> Iterator[_Asked]:
    """Yield what became of every probe; a task whose verifier hangs again and again is spared the rest."""
    given: list[tuple[int, Probe]] = []
    timeouts = 0

    def jobs() -> Iterator[Job]:
        for place, problem in enumerate(subject.problems):
            others = _others(references, place)
            for probe in probes(problem.question, references.get(place), others, is_first=place == 0):
                if timeouts >= _PATIENCE:
                    return
                given.append((place, probe))
                yield Job(len(given) - 1, problem, probe.answer)

    for result in jail.score(jobs()):
        timeouts += result.status is Status.TIMEOUT
        yield _Asked(*given[result.key], result)


def _others(references: Mapping[int, str], place: int) -> list[str]:
    """Return references of other problems: those that come next, then from the start again."""
    after = sorted(references, key=lambda other: (other <= place, other))
    return [references[other] for other in after if other != place][:_SWAPS]


def _confirmed(subject: Subject, asked: Sequence[_Asked], jail: Jail) -> set[tuple[int, Probe]]:
    """Return the probes that the verifier accepted and the task's own checker finds right, too."""
    accepted = [item for item in asked if item.result.status is Status.CORRECT] if subject.has_checker else []
    results = _score(((subject.problems[i.place], i.probe.answer, Ask.CHECKED) for i in accepted), jail)
    pairs = zip(accepted, results, strict=True)
    return {(item.place, item.probe) for item, result in pairs if result.status is Status.CORRECT}


def _tallies(asked: Iterable[_Asked], confirmed: set[tuple[int, Probe]]) -> dict[Kind, Tally]:
    tallies: dict[Kind, Tally] = defaultdict(Tally)
    for item in asked:
        tally, status, detail = tallies[item.probe.kind], item.result.status, item.result.detail
        is_refused = "may not do this" in detail
        tally.asked += 1
        tally.refused += is_refused
        tally.errors += status is Status.ERROR and not is_refused
        tally.timeouts += status is Status.TIMEOUT
        if status is Status.CORRECT and (item.place, item.probe) not in confirmed:
            tally.accepted += 1
            tally.problems.add(item.place)
    return {kind: tallies[kind] for kind in Kind if kind in tallies}


def _forms(subject: Subject, references: Mapping[int, str], jail: Jail) -> dict[str, tuple[int, int]]:
    """Return how often each way of writing the reference is right, read leniently, and of how many."""
    written = [(place, name, text) for place in sorted(references)[:_FORMS] for name, text in benign(references[place])]
    as_is, normalised = (
        _score(((subject.problems[place], text.strip(), ask) for place, _, text in written), jail)
        for ask in (Ask.AS_IS, Ask.NORMALISED)
    )
    counts: dict[str, tuple[int, int]] = {}
    for (_, name, _), one, other in zip(written, as_is, normalised, strict=True):
        right, total = counts.get(name, (0, 0))
        counts[name] = (right + (Status.CORRECT in (one.status, other.status)), total + 1)
    return counts


def _unstable(subject: Subject, references: Mapping[int, str], jail: Jail) -> int:
    """Return how many references that were accepted are not when they are asked again."""
    again = _score(((subject.problems[place], text, Ask.AS_IS) for place, text in references.items()), jail)
    return sum(result.status is not Status.CORRECT for result in again)


def _repeated(problems: Sequence[Problem]) -> float:
    drawn = problems[-1].index + 1
    return 1 - len(problems) / drawn if drawn >= len(problems) else 0.0
