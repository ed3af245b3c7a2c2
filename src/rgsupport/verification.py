"""Completions to verdicts: extract the answers, have each distinct one scored once, and say what became of each.

Three verdicts are kept for every completion. `strict` takes Reasoning Gym's own extraction and scores that text.
`lenient` takes the paper's order of extraction and accepts the answer if the verifier accepts it either as it stands or
as the task's `normalise` rewrites it. So where both verdicts are about the same text, lenient accepts whatever strict
accepts: a normaliser can help an answer and never hurt it. Where the two find different texts no such rule holds;
Reasoning Gym takes, for one, an answer from inside a closed thought, and the paper's order does not. `checked` gives
the same text as lenient to the task's own checker instead of the verifier; it is null where the task has none.
"""

import hashlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

import polars as pl

from rgsupport.errors import StoreError
from rgsupport.extract import Extracted, lenient, strict
from rgsupport.jail import Ask, Jail, Job
from rgsupport.schemas import COMPLETIONS, VERDICTS, check
from rgsupport.types import FinishReason, Found, Problem, Status

# What becomes of a completion of which there is no text.
_NOTHING_SAMPLED = {
    FinishReason.ABORT: Status.ERROR,
    FinishReason.PROMPT_TOO_LONG: Status.PROMPT_TOO_LONG,
}


class Scored(NamedTuple):
    """What the verifier said about one answer."""

    status: Status | None
    """None: the normalised answer is the answer itself, which was scored as such."""
    answer_hash: int
    """64-bit hash of the text that was scored."""


class ScoreCache:
    """Remembers what was scored, across samples, models and calls, in bounded memory (about 200 bytes an answer)."""

    def __init__(self, *, limit: int = 500_000) -> None:
        """Remember at least the `limit` answers put or found last, and at most twice as many."""
        self._limit = limit
        self._recent: dict[bytes, Scored] = {}
        self._older: dict[bytes, Scored] = {}

    def get(self, key: bytes) -> Scored | None:
        """Return what was put under a key, None if nothing was or it is forgotten."""
        found = self._recent.get(key)
        if found is None and (found := self._older.get(key)) is not None:
            self.put(key, found)
        return found

    def put(self, key: bytes, scored: Scored) -> None:
        """Remember what was scored."""
        if len(self._recent) >= self._limit:
            self._older, self._recent = self._recent, {}
        self._recent[key] = scored


class _Question(NamedTuple):
    """What a verifier is asked."""

    problem_id: str
    answer: str
    ask: Ask

    def key(self) -> bytes:
        text = f"{self.problem_id}\0{self.ask}\0{self.answer}"
        return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


class _Reading(NamedTuple):
    """What a completion holds."""

    problem_id: str
    finish_reason: FinishReason
    strict: str | None
    lenient: Extracted | None
    text_hash: int | None
    has_checker: bool

    def questions(self) -> list[_Question]:
        """Return what must be asked, each question once."""
        asked: list[_Question] = []
        if self.lenient is not None:
            asks = (Ask.AS_IS, Ask.NORMALISED, Ask.CHECKED)[: 2 + self.has_checker]
            asked += [_Question(self.problem_id, self.lenient.answer, ask) for ask in asks]
        if self.strict is not None and (self.lenient is None or self.strict != self.lenient.answer):
            asked.append(_Question(self.problem_id, self.strict, Ask.AS_IS))
        return asked


class _Verdict(NamedTuple):
    lenient: Status
    strict: Status
    checked: Status | None
    found: Found | None
    answer_hash: int | None
    text_hash: int | None


def verify(
    completions: pl.DataFrame,
    problems: Mapping[str, Problem],
    *,
    thinking: bool,
    checked: Collection[str],
    jail: Jail,
    cache: ScoreCache,
    on_scored: Callable[[int], None] = lambda _: None,
) -> pl.DataFrame:
    """Return the verdict of every completion.

    The result is a function of the completions, the problems and the verifiers; what the cache holds changes only how
    long it takes. Answers are scored in parallel within one call, so many completions at once are faster than few.

    Args:
        completions: A COMPLETIONS table.
        problems: By id; at least those of the completions.
        thinking: Whether the prompts ended inside a thought.
        checked: Names of the tasks that have a checker of their own.
        jail: Has the tasks of the problems.
        cache: What has been scored before; takes what is scored now.
        on_scored: Called now and then with the number of further completions whose verdict is known.

    Returns:
        A VERDICTS table, sorted by its key.

    Raises:
        StoreError: The completions are malformed, or of a problem that is not there.
        RgsupportError: The jail cannot load the tasks.
    """
    check(completions, COMPLETIONS, source="the completions")
    columns = completions.select("problem_id", "finish_reason", "text")
    if strangers := sorted(set(columns["problem_id"]) - problems.keys()):
        msg = f"there are completions of problem {strangers[0]}, which is not among the problems; remove them"
        raise StoreError(msg)
    readings = [
        _read(problem_id, FinishReason(reason), text, thinking=thinking, checked=problems[problem_id].task in checked)
        for problem_id, reason, text in columns.iter_rows()
    ]
    scored: dict[_Question, Scored] = {}
    for finished in _score(readings, problems, scored, jail=jail, cache=cache):
        on_scored(finished)
    verdicts = [_verdict(reading, scored) for reading in readings]
    return check(_table(completions, verdicts), VERDICTS, source="the verdicts")


def _read(problem_id: str, reason: FinishReason, text: str, *, thinking: bool, checked: bool) -> _Reading:
    if reason in _NOTHING_SAMPLED:
        return _Reading(problem_id, reason, None, None, None, checked)
    found = lenient(text, thinking=thinking, cut=reason is FinishReason.LENGTH)
    return _Reading(problem_id, reason, strict(text, thinking=thinking), found, _hash(text), checked)


def _score(
    readings: Sequence[_Reading],
    problems: Mapping[str, Problem],
    scored: dict[_Question, Scored],
    *,
    jail: Jail,
    cache: ScoreCache,
) -> Iterator[int]:
    """Fill `scored` with every question of the readings; yield how many more readings have all theirs."""
    waiting: dict[_Question, list[int]] = defaultdict(list)
    open_questions = [0] * len(readings)
    for place, reading in enumerate(readings):
        for question in reading.questions():
            if question not in waiting and (known := cache.get(question.key())):
                scored[question] = known
            if question not in scored:
                waiting[question].append(place)
                open_questions[place] += 1
    yield open_questions.count(0)
    asked = list(waiting)
    jobs = (Job(key, problems[q.problem_id], q.answer, q.ask) for key, q in enumerate(asked))
    for result in jail.score(jobs):
        question = asked[result.key]
        scored[question] = Scored(result.status, _hash(result.answer))
        cache.put(question.key(), scored[question])
        finished = 0
        for place in waiting[question]:
            open_questions[place] -= 1
            finished += open_questions[place] == 0
        yield finished


def _verdict(reading: _Reading, scored: Mapping[_Question, Scored]) -> _Verdict:
    problem_id, reason, raw, extracted, text_hash, has_checker = reading
    if reason in _NOTHING_SAMPLED:
        status = _NOTHING_SAMPLED[reason]
        return _Verdict(status, status, status if has_checker else None, None, None, None)
    missing = Status.TRUNCATED if reason is FinishReason.LENGTH else Status.NO_ANSWER
    strict_status = missing if raw is None else _status(problem_id, raw, Ask.AS_IS, scored)
    if extracted is None:
        return _Verdict(missing, strict_status, missing if has_checker else None, None, None, text_hash)
    as_is = _status(problem_id, extracted.answer, Ask.AS_IS, scored)
    checked = _status(problem_id, extracted.answer, Ask.CHECKED, scored) if has_checker else None
    normalised = scored[_Question(problem_id, extracted.answer, Ask.NORMALISED)]
    better = as_is if as_is is Status.CORRECT or normalised.status is None else normalised.status
    return _Verdict(better, strict_status, checked, extracted.found, normalised.answer_hash, text_hash)


def _status(problem_id: str, answer: str, ask: Ask, scored: Mapping[_Question, Scored]) -> Status:
    status = scored[_Question(problem_id, answer, ask)].status
    assert status is not None, "only a normalised answer can be the answer itself"
    return status


def _table(completions: pl.DataFrame, verdicts: Sequence[_Verdict]) -> pl.DataFrame:
    columns = {name: VERDICTS.columns[name] for name in _Verdict._fields}
    frame = pl.DataFrame(verdicts, schema=columns, orient="row")
    joined = pl.concat([completions.select("problem_id", "sample_index", "n_tokens"), frame], how="horizontal")
    return joined.select(list(VERDICTS.columns)).sort(VERDICTS.key)


def _hash(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
