"""One worker process, seen from the parent: start it, give it a batch, read its records, kill it."""

import contextlib
import math
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from rgsupport.jail._wire import Ask, Job, Kind, Record, RecordReader, WireError, encode_batch

_CHUNK = 1 << 16
# What Python needs to start; anything else of our environment may be a secret.
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME")


_FIRST_GUESS = 0.003  # seconds per job, until a worker has answered some
_SHORTEST = 1e-6  # seconds per job; a clock may stand still


class WorkerGoneError(Exception):
    """The worker closed its pipe: its process ended or is about to."""


class WorkerBrokenError(Exception):
    """The worker cannot load its tasks; the text is its own."""


class Worker:
    """A worker process and the batch it is on.

    Attributes:
        batch: Jobs given and not yet answered, in order; the first is the one it is on.
        answered: Jobs answered in its life.
        ready: Whether it has loaded its tasks.
        since: When it last gave a sign of life or was given something to do, `time.monotonic` seconds.
        pace: Seconds per job of its last batch.
    """

    def __init__(self, setup: bytes, *, cwd: Path) -> None:
        """Start the process; it reads `setup` first."""
        jobs_read, self._jobs = os.pipe()
        self._results, results_write = os.pipe()
        os.set_blocking(self._jobs, False)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-W", "ignore", "-m", "rgsupport.jail._worker"]
            + [str(argument) for argument in (jobs_read, results_write, os.getpid())],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=cwd,
            env=_environment(),
            pass_fds=(jobs_read, results_write),
            start_new_session=True,
        )
        os.close(jobs_read)
        os.close(results_write)
        self._reader = RecordReader()
        self._outgoing = memoryview(setup)
        self.batch: deque[Job] = deque()
        self.answered = 0
        self.ready = False
        self.since = time.monotonic()
        self.pace = _FIRST_GUESS
        self._batch_start, self._batch_size = self.since, 0

    @property
    def pid(self) -> int:
        """Process id, also that of its group and session."""
        return self._process.pid

    @property
    def readable(self) -> int:
        """The descriptor on which records come."""
        return self._results

    @property
    def writable(self) -> int | None:
        """The descriptor that takes what is not sent yet; None when all is sent."""
        return self._jobs if self._outgoing else None

    def has_died(self) -> bool:
        """Return whether the process has ended."""
        return self._process.poll() is not None

    def give(self, jobs: Sequence[Job]) -> None:
        """Put a batch on the way; the worker has none."""
        self.batch.extend(jobs)
        self._outgoing = memoryview(bytes(self._outgoing) + encode_batch(jobs))
        self.since = time.monotonic()
        self._batch_start, self._batch_size = self.since, len(jobs)

    def write(self) -> None:
        """Send what the pipe takes now."""
        # A dead worker shows when its records are read; what the pipe does not take now waits.
        with contextlib.suppress(BlockingIOError, BrokenPipeError):
            self._outgoing = self._outgoing[os.write(self._jobs, self._outgoing) :]

    def read(self) -> list[Record]:
        """Return the records of jobs that have come; blocks if nothing has.

        Raises:
            WorkerGoneError: There will be none.
            WorkerBrokenError: It cannot load its tasks.
            WireError: They are malformed.
        """
        data = os.read(self._results, _CHUNK)
        if not data:
            raise WorkerGoneError
        self.since = time.monotonic()
        records = self._reader.feed(data)
        if records and not self.ready:
            first, *records = records
            if first.kind is not Kind.READY:
                raise WorkerBrokenError(first.detail)
            self.ready = True
            self._batch_start = self.since
        return records

    def check(self) -> None:
        """Refuse what it sent after the records that were read.

        Raises:
            WireError: It was no record.
        """
        self._reader.check()

    def finish(self, record: Record) -> Job:
        """Return the job that the record answers, and take it off the batch.

        Raises:
            WireError: It does not answer the job the worker is on.
        """
        if not self.batch or record.position != self.answered or not _may_answer(record, self.batch[0]):
            msg = "a result that belongs to no answer"
            raise WireError(msg)
        self.answered += 1
        job = self.batch.popleft()
        if not self.batch:
            self.pace = max((self.since - self._batch_start) / self._batch_size, _SHORTEST)
        return job

    def kill(self) -> int:
        """End the process and its group, and return its exit code, minus the signal that ended it."""
        # The group is signalled before the leader is reaped: until then nobody else can have its number.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self.pid, signal.SIGKILL)
        code = self._process.wait()
        os.close(self._jobs)
        os.close(self._results)
        return code


def _may_answer(record: Record, job: Job) -> bool:
    if record.kind is Kind.SCORED:
        has_text = job.ask in (Ask.NORMALISED, Ask.DOUBT)
        return math.isfinite(record.score) and (has_text or record.answer is None)
    return record.kind in (Kind.FAILED, Kind.REFUSED) or (record.kind is Kind.UNCHANGED and job.ask is Ask.NORMALISED)


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    return {
        **kept,
        # Whatever made our imports work makes the worker's work.
        "PYTHONPATH": os.pathsep.join(str(Path(entry).absolute()) for entry in sys.path),
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONUTF8": "1",
        # Threads of numerical libraries reserve address space by the core.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
    }
