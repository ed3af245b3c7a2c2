"""What crosses the pipes of a worker: batches of jobs in (JSON), one fixed record per job out.

The parent trusts nothing that comes out: sizes are bounded before they are read, nothing is unpickled, and the records
must come in the order of the jobs.
"""

import json
import math
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NamedTuple

from rgsupport.types import Problem, Status

MAX_ANSWER = 10_000
"""Longest answer that is scored, in characters; no answer of a task is near it, and verifiers choke on longer ones."""

_MAX_DETAIL = 1000
_BYTES_PER_CHARACTER = 4
_UTF8 = ("utf-8", "surrogatepass")


@dataclass(frozen=True, slots=True)
class Specification:
    """How a worker gets the tasks whose verifiers it runs; it calls `loader(names, params=..., user_folder=...)`."""

    names: tuple[str, ...]
    params: Mapping[str, Mapping[str, object]] = field(default_factory=dict[str, Mapping[str, object]])
    """Parameters set by the user, by task; JSON values."""
    user_folder: Path | None = None
    """Folder of the user's own task files."""
    loader: str = "rgsupport.registry:load_tasks"
    """`module:function`, imported in the worker; a name, because this layer knows no tasks."""


class Ask(StrEnum):
    """What is asked of a task."""

    AS_IS = "as_is"
    """Score the answer with the task's verifier."""
    NORMALISED = "normalised"
    """Score it as the task's `normalise` rewrites it."""
    CHECKED = "checked"
    """Judge it with the task's own checker: score 1 or 0."""
    DOUBT = "doubt"
    """Say why the problem cannot be trusted: score 1 and no text if it can, else 0 and the reason as the answer of the
    result. The job's answer is not looked at."""
    CHANCE = "chance"
    """Say how often a guess is right: the probability as the score. The job's answer is not looked at."""


@dataclass(frozen=True, slots=True)
class Job:
    """One answer to score."""

    key: int
    """The caller's own; it comes back with the result."""
    problem: Problem
    answer: str
    ask: Ask = Ask.AS_IS


@dataclass(frozen=True, slots=True)
class Result:
    """What became of a job."""

    key: int
    status: Status | None
    """CORRECT, WRONG, TIMEOUT or ERROR. None: normalising left the answer as it was, so it was not scored again."""
    score: float | None
    """The verifier's, finite; None where there is no score."""
    answer: str
    """The text that was scored: after normalising, if that was asked for and worked; or the doubt, if one was asked."""
    detail: str
    """Why there is no score, in one line; else empty."""


class Kind(IntEnum):
    """What a record says."""

    READY = 0
    """The tasks are loaded."""
    BROKEN = 1
    """They cannot be loaded; the detail says why. The worker ends."""
    SCORED = 2
    UNCHANGED = 3
    FAILED = 4
    """No score; the detail says why."""
    REFUSED = 5
    """As FAILED, because the answer did what it may not. The worker ends: it may have been tampered with."""


class Record(NamedTuple):
    """One message of a worker."""

    kind: Kind
    position: int = 0
    """Which job of the worker's life it answers, from 0."""
    score: float = math.nan
    answer: str | None = None
    """The normalised answer, where it differs from the job's, or the doubt."""
    detail: str = ""


class WireError(Exception):
    """A worker sent what no worker of ours would send."""


_HEADER = struct.Struct("<BIdiH")  # kind, position, score, bytes of the answer (-1: none), bytes of the detail


def encode_record(record: Record) -> bytes:
    """Return the bytes of a record; a long detail is cut."""
    answer = None if record.answer is None else record.answer.encode(*_UTF8)
    detail = record.detail[:_MAX_DETAIL].encode(*_UTF8)
    answer_size = -1 if answer is None else len(answer)
    header = _HEADER.pack(record.kind, record.position, record.score, answer_size, len(detail))
    return header + (answer or b"") + detail


class RecordReader:
    """Cuts a stream of bytes into records."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._is_broken = False

    def check(self) -> None:
        """Refuse what followed the records that were returned.

        Raises:
            WireError: It was no record.
        """
        if self._is_broken:
            msg = "a record with a size, kind or text that cannot be"
            raise WireError(msg)

    def feed(self, data: bytes) -> list[Record]:
        """Return the records that are complete with these bytes, and stand before the first that is none.

        A worker is ready, and its answers are scored, whatever it sends afterwards: `check` tells of that.
        """
        if self._is_broken:
            return []
        buffer = self._buffer
        buffer += data
        records: list[Record] = []
        start = 0
        while not self._is_broken and len(buffer) - start >= _HEADER.size:
            kind, position, score, answer_size, detail_size = _HEADER.unpack_from(buffer, start)
            if kind not in _KINDS or not -1 <= answer_size <= _MAX_ANSWER_BYTES or detail_size > _MAX_DETAIL_BYTES:
                self._is_broken = True
                break
            middle = start + _HEADER.size + max(answer_size, 0)
            end = middle + detail_size
            if len(buffer) < end:
                break
            try:
                answer = None if answer_size < 0 else _text(buffer[middle - answer_size : middle])
                detail = _text(buffer[middle:end])
            except UnicodeDecodeError:
                self._is_broken = True
                break
            records.append(Record(_KINDS[kind], position, score, answer, detail))
            start = end
        del buffer[:start]
        return records


_KINDS = {int(kind): kind for kind in Kind}
_MAX_ANSWER_BYTES = MAX_ANSWER * _BYTES_PER_CHARACTER
_MAX_DETAIL_BYTES = _MAX_DETAIL * _BYTES_PER_CHARACTER


def _text(data: bytearray) -> str:
    return data.decode(*_UTF8)


_LENGTH = struct.Struct("<I")
LENGTH_SIZE = _LENGTH.size


def encode_message(value: object) -> bytes:
    """Return a message to a worker: a length and JSON. Lone surrogates survive, as escapes."""
    body = json.dumps(value).encode()
    return _LENGTH.pack(len(body)) + body


def message_size(head: bytes) -> int:
    """Return how many bytes follow the first `LENGTH_SIZE` of a message."""
    (size,) = _LENGTH.unpack(head)
    return size


def encode_setup(specification: Specification, *, time_limit: float, memory_limit: int) -> bytes:
    """Return the first message to a worker."""
    folder = specification.user_folder
    tasks = {
        "loader": specification.loader,
        "names": specification.names,
        "params": {name: dict(params) for name, params in specification.params.items()},
        "user_folder": None if folder is None else str(folder.absolute()),
    }
    return encode_message({"tasks": tasks, "time_limit": time_limit, "memory_limit": memory_limit})


def encode_batch(jobs: Sequence[Job]) -> bytes:
    """Return the message that holds these jobs; a problem that several share is sent once."""
    places: dict[Problem, int] = {}
    items = [(places.setdefault(job.problem, len(places)), job.answer, job.ask) for job in jobs]
    problems = [(p.task, p.id, p.index, p.question, p.reference, p.entry) for p in places]
    return encode_message({"problems": problems, "jobs": items})
