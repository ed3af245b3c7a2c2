"""The jobs that are still to be handed out."""

from collections import deque
from collections.abc import Iterable
from itertools import islice

from rgsupport.jail._wire import MAX_ANSWER, Job


class Work:
    """Jobs from the caller, drawn as needed, and those that come back from a worker that died.

    Attributes:
        again: Jobs that a lost worker had not begun.
        suspects: Jobs on which a worker died that had scored others before: each needs a new worker to itself.
        rejected: Jobs drawn whose answers are too long to be scored.
    """

    def __init__(self, jobs: Iterable[Job]) -> None:
        self._source = iter(jobs)
        self.again: deque[Job] = deque()
        self.suspects: deque[Job] = deque()
        self.rejected: list[Job] = []

    def next_batch(self, size: int, *, is_fresh: bool) -> list[Job]:
        """Return at most `size` jobs for a worker, which has scored nothing yet if it is fresh."""
        if is_fresh and self.suspects:
            return [self.suspects.popleft()]
        batch = [self.again.popleft() for _ in range(min(size, len(self.again)))]
        for job in islice(self._source, size - len(batch)):
            (batch if len(job.answer) <= MAX_ANSWER else self.rejected).append(job)
        return batch
