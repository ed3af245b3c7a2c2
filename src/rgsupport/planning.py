"""Arithmetic of a plan: what is owed, what that will cost, and what the budget can detect."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from rgsupport.types import ModelRole

CONFIDENCE = 0.95
"""With which a success probability is detected."""
PILOT_SHARE = 100
"""One in so many samples of each problem is drawn by a pilot."""
ASSUMED_SPEED = 25_000
"""Tokens per second and GPU where nothing was measured: a model of 1.5B parameters on an H200 with vLLM."""
BYTES_PER_TOKEN = 1.25
"""Compressed text of a response on disk, at most, where nothing was measured."""
_BYTES_PER_SHARD = 4000  # of a shard that holds one empty response
_SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """What a plan asks of one model on one task, and what the samples on disk tell of it.

    Attributes:
        role: Which model.
        task: Which task.
        wanted: Samples of the plan.
        owed: Those of them that are not on disk.
        shards_owed: Files that will hold them.
        tokens_at_most: New tokens of the owed samples, if every one used all the room it has.
        seen: Samples on disk of which the following is known.
        seen_tokens: Their new tokens.
        seen_truncated: How many of them were cut by the token limit.
        seen_bytes: Size of their files.
        seen_shards: Number of their files.
    """

    role: ModelRole
    task: str
    wanted: int
    owed: int
    shards_owed: int
    tokens_at_most: int
    seen: int = 0
    seen_tokens: int = 0
    seen_truncated: int = 0
    seen_bytes: int = 0
    seen_shards: int = 0

    @property
    def tokens_per_sample(self) -> float | None:
        """Mean new tokens of a sample on disk; None if there is none."""
        return self.seen_tokens / self.seen if self.seen else None

    @property
    def truncated_share(self) -> float | None:
        """Share of the samples on disk that the token limit cut; None if there is none."""
        return self.seen_truncated / self.seen if self.seen else None

    @property
    def expected_tokens(self) -> float | None:
        """New tokens of the owed samples, if they are as long as those on disk; None if there are none to judge by."""
        if not self.owed:
            return 0.0
        return None if self.tokens_per_sample is None else self.owed * self.tokens_per_sample

    @property
    def expected_bytes(self) -> float | None:
        """Size on disk of the owed samples, likewise: a part per file, and a part per sample."""
        if not self.owed:
            return 0.0
        if not self.seen:
            return None
        per_sample = max(0.0, self.seen_bytes - self.seen_shards * _BYTES_PER_SHARD) / self.seen
        return self.shards_owed * _BYTES_PER_SHARD + self.owed * per_sample

    @property
    def bytes_at_most(self) -> float:
        """Size on disk of the owed samples, if every one used all the room it has."""
        return self.shards_owed * _BYTES_PER_SHARD + self.tokens_at_most * BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """A plan and what it will cost.

    Attributes:
        parts: Of every model and task.
        ks: Budgets of the plan.
        engine: Name of the engine.
        on_gpu: Whether its processes hold GPUs.
        processes: How many sample a model at the same time.
        gpus_per_process: GPUs that each of them holds.
        speeds: New tokens per second of one process, of each model that this pilot has timed.
        free_bytes: Left on the disk of the run.
    """

    parts: tuple[Part, ...]
    ks: tuple[int, ...]
    engine: str
    on_gpu: bool
    processes: int
    gpus_per_process: int
    free_bytes: int
    speeds: Mapping[ModelRole, float] = field(default_factory=dict[ModelRole, float])

    def of(self, role: ModelRole) -> list[Part]:
        """Return the parts of one model."""
        return [part for part in self.parts if part.role == role]

    @property
    def seen_share(self) -> float:
        """Share of the plan's samples that are on disk and known."""
        return sum(part.seen for part in self.parts) / sum(part.wanted for part in self.parts)

    @property
    def is_measured(self) -> bool:
        """Whether the samples on disk tell how long the owed ones will be."""
        return any(part.seen for part in self.parts) and all(part.seen for part in self.parts if part.owed)

    @property
    def is_timed(self) -> bool:
        """Whether this pilot tells how long the owed samples will take."""
        return self.is_measured and all(part.role in self.speeds for part in self.parts if part.owed)

    def hours(self, role: ModelRole) -> float:
        """Return the hours that one process, or one GPU where processes hold GPUs, needs for what a model owes.

        Expected ones at the pilot's speed; at `ASSUMED_SPEED` where it has none; at most, where nothing is measured.
        """
        parts = self.of(role)
        tokens = total(part.expected_tokens if self.is_measured else part.tokens_at_most for part in parts)
        if tokens == 0 or tokens is None:
            return 0.0
        if not self.is_timed:
            return hours(tokens, tokens_per_second=ASSUMED_SPEED)
        return hours(tokens, tokens_per_second=self.speeds[role]) * (self.gpus_per_process if self.on_gpu else 1)


def total(values: Iterable[float | None]) -> float | None:
    """Return the sum; None if a part of it is unknown.

    >>> total([1, 2.5]), total([1, None]), total([])
    (3.5, None, 0.0)
    """
    known = list(values)
    return math.fsum(value for value in known if value is not None) if None not in known else None


def hours(tokens: float, *, tokens_per_second: float) -> float:
    """Return the hours that so many tokens take.

    >>> hours(25_000 * 3600, tokens_per_second=25_000)
    1.0
    """
    return tokens / tokens_per_second / _SECONDS_PER_HOUR


def pilot_samples(samples: int) -> int:
    """Return how many samples of each problem a pilot draws, of those that are wanted: about 1%, at least one.

    >>> pilot_samples(16384), pilot_samples(16)
    (163, 1)
    """
    return max(1, samples // PILOT_SHARE)


def smallest_detectable(k: int) -> float:
    """Return the smallest success probability of a problem of which k samples are right at least once, 95 times in 100.

    k independent samples all miss with probability (1 - p)**k, which is 0.05 for p = 1 - 0.05**(1/k). For large k that
    is -ln 0.05 / k, about 3 / k (the "rule of three"); for k < 3 that approximation would exceed 1.

    >>> [round(smallest_detectable(k), 5) for k in (1, 2, 16, 1024)]
    [0.95, 0.77639, 0.17075, 0.00292]
    """
    return -math.expm1(math.log(1 - CONFIDENCE) / k)
