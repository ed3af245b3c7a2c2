"""Completions that ended and whose shard is not whole yet.

A completion is appended to the journal when it ends and moves into its shard when that is whole; a crash therefore
loses only what was still being sampled, and memory need not hold what waits for the rest of its shard.
"""

import json
import os
import uuid
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from rgsupport.atomic import storing
from rgsupport.errors import StoreError
from rgsupport.shards import Shard
from rgsupport.typed import build
from rgsupport.types import LARGEST, Completion

_FILE_BYTES = 32_000_000


class Place(NamedTuple):
    """Where a completion lies in a journal."""

    path: Path
    offset: int
    length: int
    """In bytes, the end of its line included."""


class Journal:
    """Completions that ended and whose shard is not whole yet, one JSON line each, in append-only files.

    Several processes may keep a journal in the same folder: each writes and deletes files of its own only.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._file: int | None = None
        self._path = folder
        self._written = 0
        self._live: dict[Path, int] = {}
        """Of each file of our own: completions in it that are in no shard yet."""

    def append(self, completion: Completion) -> Place:
        """Add a completion and return its place; when this returns it survives the death of the process.

        Raises:
            StoreError: The disk is full or the folder cannot be written.
            ValueError: A count is out of range, or the text holds half of a surrogate pair: an engine is at fault.
        """
        data = json.dumps(asdict(_storable(completion))).encode() + b"\n"
        with storing(self.folder):
            if self._file is None or self._written > _FILE_BYTES:
                self._begin()
            assert self._file is not None
            place = Place(self._path, self._written, len(data))
            while data:  # a full disk may take a part of a line only
                taken = os.write(self._file, data)
                self._written += taken
                data = data[taken:]
        self._live[place.path] += 1
        return place

    def read(self, places: Sequence[Place]) -> list[Completion]:
        """Return the completions at these places, in their order.

        Raises:
            StoreError: A file is missing, or damaged.
        """
        found: dict[Place, Completion] = {}
        for path, here in groupby(sorted(places), key=lambda place: place.path):
            try:
                with path.open("rb") as file:
                    for place in here:
                        file.seek(place.offset)
                        found[place] = _completion(json.loads(file.read(place.length)))
            except (OSError, ValueError, TypeError, RecursionError) as error:
                msg = f"{path} was changed while it was in use; run the same command again"
                raise StoreError(msg) from error
        return [found[place] for place in places]

    def read_all(self) -> Iterator[tuple[Place, Completion]]:
        """Yield every completion; a torn last line, left by a crash, is passed over and its sample is owed again.

        Raises:
            StoreError: A line inside a file is damaged.
        """
        for path in sorted(self.folder.glob("journal-*.jsonl")):
            yield from _read_journal(path)

    def release(self, places: Iterable[Place]) -> None:
        """Take note that these completions are in a shard now; our files in which no other is left are deleted."""
        for place in places:
            if place.path in self._live:
                self._live[place.path] -= 1
        self._delete_done()

    def close(self) -> None:
        """Close the file that is being written, and delete it if all its completions are in shards."""
        if self._file is not None:
            os.close(self._file)
            self._file = None
        self._delete_done()

    def drop(self, sealed: Iterable[Shard]) -> None:
        """Delete the files of which every completion lies in a shard, whoever wrote them; nobody may be writing."""
        by_problem: dict[str, list[Shard]] = {}
        for shard in sealed:
            by_problem.setdefault(shard.problem_id, []).append(shard)
        for path in sorted(self.folder.glob("journal-*.jsonl")):
            if all(
                any(shard.low <= entry.sample_index < shard.high for shard in by_problem.get(entry.problem_id, ()))
                for _, entry in _read_journal(path)
            ):
                path.unlink(missing_ok=True)

    def _begin(self) -> None:
        self.close()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._path = self.folder / f"journal-{uuid.uuid4().hex}.jsonl"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        self._written = 0
        self._live[self._path] = 0

    def _delete_done(self) -> None:
        for path in [path for path, count in self._live.items() if count == 0]:
            if self._file is None or path != self._path:
                path.unlink(missing_ok=True)
                del self._live[path]


def _read_journal(path: Path) -> Iterator[tuple[Place, Completion]]:
    offset = 0
    try:
        lines = path.open("rb")
    except FileNotFoundError:  # its process has put all of it into shards meanwhile
        return
    with lines:
        for number, line in enumerate(lines, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield Place(path, offset, len(line)), _completion(json.loads(line))
                offset += len(line)
            except (ValueError, TypeError, RecursionError) as error:
                msg = f"{path} is damaged at line {number}; delete it and run the same command again"
                raise StoreError(msg) from error


def _completion(entry: object) -> Completion:
    return _storable(build(Completion, entry))


def _storable(completion: Completion) -> Completion:
    """Return the completion if no table would refuse it."""
    completion.text.encode()  # a lone surrogate could not be stored
    if not (0 <= completion.sample_index < LARGEST and 0 <= completion.n_tokens < LARGEST):
        msg = f"a count is out of range: sample {completion.sample_index}, {completion.n_tokens} tokens"
        raise ValueError(msg)
    return completion
