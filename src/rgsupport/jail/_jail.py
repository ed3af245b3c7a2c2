"""Hand jobs to workers in batches, collect their results as they come, and replace the workers that fail."""

import select
import signal
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from rgsupport.errors import RgsupportError
from rgsupport.jail._process import Worker, WorkerBrokenError, WorkerGoneError
from rgsupport.jail._wire import MAX_ANSWER, Job, Kind, Record, Result, Specification, WireError, encode_setup
from rgsupport.jail._work import Work
from rgsupport.types import Status

_CORRECT = 1 - 1e-9
_START_LIMIT = 300.0  # seconds in which a worker must have loaded its tasks, on however slow a machine
_BATCH_SECONDS = 0.05  # long against a round trip over the pipes, short against anyone's patience
_MAX_BATCH = 256
_STARTS = 3  # workers in a row that may die while they load their tasks, by accident or for want of memory


class Jail:
    """Worker processes that score answers; a context manager, whose end leaves no process behind.

    A verifier that raises, exits, kills its process, runs out of memory or returns no number is an ERROR of the one
    answer, one that does not end in time a TIMEOUT; the answers beside it are scored as if it had not been there. An
    answer on which a worker died that had scored others before is scored once more, alone in a new worker, so that no
    answer is blamed for what another left behind.
    """

    def __init__(
        self,
        specification: Specification,
        *,
        workers: int = 2,
        time_limit: float = 10.0,
        memory_limit: int = 4 << 30,
    ) -> None:
        """Take the limits; the workers start with the context.

        Args:
            specification: Where a worker gets its tasks.
            workers: Processes that score at the same time.
            time_limit: Seconds one answer may take before its worker is killed.
            memory_limit: Bytes of address space of a worker, libraries included; not enforced outside Linux.
        """
        self._setup = encode_setup(specification, time_limit=time_limit, memory_limit=memory_limit)
        self._count = workers
        self._time_limit = time_limit
        self._workers: list[Worker] = []
        self._failed_starts = 0
        self._is_scoring = False

    def __enter__(self) -> Self:
        """Start the workers; they load their tasks while the caller goes on."""
        self._folder = tempfile.TemporaryDirectory(prefix="rgsupport-jail-")
        Path(self._folder.name).chmod(0o500)
        self._workers = [self._start() for _ in range(self._count)]
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Kill the workers."""
        for worker in self._workers:
            worker.kill()
        self._workers = []
        self._folder.cleanup()

    @property
    def pids(self) -> list[int]:
        """Process ids of the workers that run now."""
        return [worker.pid for worker in self._workers]

    def score(self, jobs: Iterable[Job]) -> Iterator[Result]:
        """Yield the result of each job, in the order they end.

        Jobs are drawn lazily, at most 256 per worker ahead. An answer of more than `MAX_ANSWER` characters is an ERROR
        and never reaches a verifier. One call at a time: finish or close an iterator before the next.

        Raises:
            RgsupportError: A worker cannot load its tasks.
        """
        if self._is_scoring or not self._workers:
            msg = "a jail scores one iterable of jobs at a time, and only inside its context"
            raise RuntimeError(msg)
        self._is_scoring = True
        work = Work(jobs)
        try:
            while True:
                busy = [worker for worker in self._workers if worker.batch]
                results = self._collect(busy, work) if busy else []
                self._assign(work)
                results += _take_rejected(work)
                if not results and not any(worker.batch for worker in self._workers):
                    return
                yield from results
        finally:
            self._is_scoring = False
            for worker in [worker for worker in self._workers if worker.batch]:  # the caller stopped early
                self._replace(worker)

    def _start(self) -> Worker:
        return Worker(self._setup, cwd=Path(self._folder.name))

    def _replace(self, worker: Worker) -> int:
        """Kill a worker, start another in its place, and return the exit code of the first."""
        code = worker.kill()
        self._workers[self._workers.index(worker)] = self._start()
        return code

    def _assign(self, work: Work) -> None:
        """Give every idle worker a batch, as long as there are jobs."""
        for place, worker in enumerate(self._workers):
            if worker.batch:
                continue
            if worker.has_died():  # while idle, so through no answer's fault
                self._replace(worker)
            idle = self._workers[place]
            size = max(1, min(_MAX_BATCH, int(_BATCH_SECONDS / idle.pace)))
            if batch := work.next_batch(size, is_fresh=idle.answered == 0):
                idle.give(batch)
                idle.write()

    def _collect(self, busy: Sequence[Worker], work: Work) -> list[Result]:
        """Wait until something happens and return the results that came of it."""
        deadlines = [worker.since + (self._time_limit if worker.ready else _START_LIMIT) for worker in busy]
        readable = _wait(busy, seconds=min(deadlines) - time.monotonic())
        results: list[Result] = []
        for worker, deadline in zip(busy, deadlines, strict=True):
            if worker.readable in readable:
                results += self._read(worker, work)
            elif time.monotonic() > deadline:
                late = f"no score within {self._time_limit if worker.ready else _START_LIMIT:g} s"
                results += self._bury(worker, work, cause=late, status=Status.TIMEOUT)
        return results

    def _read(self, worker: Worker, work: Work) -> list[Result]:
        """Return the results that a worker has sent; what else may have become of it is dealt with."""
        results: list[Result] = []
        try:
            for record in worker.read():
                results.append(_result(worker.finish(record), record))
                if record.kind is Kind.REFUSED:
                    work.again.extend(worker.batch)
                    self._replace(worker)
                    return results
            worker.check()
        except WorkerBrokenError as error:
            msg = f"a scoring worker cannot load its tasks: {error}"
            raise RgsupportError(msg) from None
        except WorkerGoneError:
            results += self._bury(worker, work)
        except WireError as error:
            results += self._bury(worker, work, cause=f"the verifier's process sent {error}")
        return results

    def _bury(self, worker: Worker, work: Work, *, cause: str = "", status: Status = Status.ERROR) -> list[Result]:
        """Replace a worker, pass on the rest of its batch, and return the result of the answer it was on, if certain.

        Args:
            worker: A worker that died, lied, or is too slow.
            work: Takes the jobs of its batch.
            cause: What happened; empty if the process ended by itself.
            status: Of the answer it was on.
        """
        code = self._replace(worker)
        cause = cause or _obituary(code)
        if not worker.ready:
            self._failed_starts += 1
            if self._failed_starts == _STARTS:
                msg = f"scoring workers end before they have loaded their tasks: {cause}"
                raise RgsupportError(msg)
            work.again.extend(worker.batch)
            return []
        self._failed_starts = 0
        if not worker.batch:
            return []
        suspect = worker.batch.popleft()
        work.again.extend(worker.batch)
        if code == -signal.SIGXCPU:
            status = Status.TIMEOUT
        if status is Status.TIMEOUT or worker.answered == 0:
            return [_failure(suspect, status, cause)]
        work.suspects.append(suspect)
        return []


def _wait(workers: Sequence[Worker], *, seconds: float) -> set[int]:
    """Wait until a worker has sent something, and return the descriptors of those that have; send what is owed."""
    poll = select.poll()
    writers: dict[int, Worker] = {}
    for worker in workers:
        poll.register(worker.readable, select.POLLIN)
        if worker.writable is not None:
            poll.register(worker.writable, select.POLLOUT)
            writers[worker.writable] = worker
    ready = {descriptor for descriptor, _ in poll.poll(max(0.0, seconds) * 1000 + 1)}
    for descriptor in ready & writers.keys():
        writers[descriptor].write()
    return ready


def _result(job: Job, record: Record) -> Result:
    answer = job.answer if record.answer is None else record.answer
    if record.kind is Kind.UNCHANGED:
        return Result(job.key, None, None, answer, "")
    if record.kind is Kind.SCORED:
        status = Status.CORRECT if record.score >= _CORRECT else Status.WRONG
        return Result(job.key, status, record.score, answer, "")
    return Result(job.key, Status.ERROR, None, answer, record.detail)


def _failure(job: Job, status: Status, detail: str) -> Result:
    return Result(job.key, status, None, job.answer, detail)


def _take_rejected(work: Work) -> list[Result]:
    rejected, work.rejected = work.rejected, []
    return [
        _failure(job, Status.ERROR, f"the answer has {len(job.answer)} characters; {MAX_ANSWER} are allowed")
        for job in rejected
    ]


def _obituary(code: int) -> str:
    how = f"was killed by signal {-code} ({signal.strsignal(-code)})" if code < 0 else f"ended with exit code {code}"
    return f"the verifier's process {how}"
