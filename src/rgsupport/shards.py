"""Completions and verdicts on disk: shards named by their inputs.

A shard holds the samples [low, high) of one problem. It is written to a temporary name, synced, and linked without
clobber, so that it is whole or absent and the first writer wins.
"""

import hashlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path

import polars as pl

from rgsupport.atomic import read_parquet, write_parquet
from rgsupport.errors import StoreError
from rgsupport.schemas import COMPLETIONS, Table, check
from rgsupport.types import Completion

BLOCK = 256
"""Most samples in a shard; shards end at multiples of it."""
_NAME = re.compile(r"(?P<problem>[0-9a-f]{16})\.(?P<low>\d+)-(?P<high>\d+)\.(?P<inputs>[0-9a-f]{12})\.parquet")
_KEY = ["problem_id", "sample_index"]

Inputs = Callable[[str], str]
"""Problem id -> text that identifies all that the content of its shards is a function of."""


@dataclass(frozen=True, slots=True, order=True)
class Shard:
    """The samples [low, high) of one problem."""

    problem_id: str
    low: int
    high: int

    def indices(self) -> range:
        """Return its sample indices."""
        return range(self.low, self.high)

    def file_name(self, inputs: str) -> str:
        """Return its file's name; `inputs` identifies all that its content is a function of."""
        digest = hashlib.sha256(f"{inputs}\0{self.problem_id}\0{self.low}\0{self.high}".encode()).hexdigest()
        return f"{self.problem_id}.{self.low}-{self.high}.{digest[:12]}.parquet"


def missing(problem_ids: Iterable[str], *, samples: int, have: Iterable[Shard]) -> list[Shard]:
    """Return the shards that are still to be made: the plan minus the listing.

    Block by block, so that a run that is stopped has covered every problem alike.

    Args:
        problem_ids: Problems of the plan, in order.
        samples: Samples wanted per problem: indices [0, samples).
        have: Shards on disk; they may overlap.
    """
    by_problem: dict[str, list[Shard]] = {}
    for shard in sorted(have):
        by_problem.setdefault(shard.problem_id, []).append(shard)
    owed: list[Shard] = []
    for problem_id in problem_ids:
        low = 0
        for shard in by_problem.get(problem_id, []):
            owed.extend(_blocks(problem_id, low, min(shard.low, samples)))
            low = max(low, shard.high)
        owed.extend(_blocks(problem_id, low, samples))
    return sorted(owed, key=lambda shard: shard.low // BLOCK)


def _blocks(problem_id: str, low: int, high: int) -> Iterator[Shard]:
    while low < high:
        end = min(high, (low // BLOCK + 1) * BLOCK)
        yield Shard(problem_id, low, end)
        low = end


class ShardFolder:
    """The shards of one model: completions, or verdicts."""

    def __init__(self, path: Path, table: Table) -> None:
        self.path = path
        self.table = table

    def listing(self, inputs: Inputs, *, pass_over_stale: bool = False) -> list[Shard]:
        """Return the shards on disk that were made from these inputs, sorted.

        Args:
            inputs: What the content of a problem's shards is a function of.
            pass_over_stale: Whether shards made from other inputs are left out instead of refused.

        Raises:
            StoreError: A parquet file is not a shard, or was made from other inputs.
        """
        shards: list[Shard] = []
        for path in self.path.glob("*.parquet"):
            match = _NAME.fullmatch(path.name)
            shard = Shard(match["problem"], int(match["low"]), int(match["high"])) if match else None
            if shard is not None and path.name == shard.file_name(inputs(shard.problem_id)):
                shards.append(shard)
            elif shard is None or not pass_over_stale:
                msg = f"{path} does not belong to this run; move it away and run the same command again"
                raise StoreError(msg)
        return sorted(shards)

    def write(self, shard: Shard, frame: pl.DataFrame, inputs: Inputs) -> None:
        """Write a whole shard; if it is there already, the one that is there stays.

        Raises:
            StoreError: The disk is full or the folder cannot be written.
        """
        final = self.path / shard.file_name(inputs(shard.problem_id))
        check(frame, self.table, source=final.name)
        write_parquet(frame, final, clobber=False)

    def read(self, shard: Shard, inputs: Inputs) -> pl.DataFrame:
        """Return a shard's samples, sorted by index.

        Raises:
            StoreError: The file is torn, edited or foreign.
        """
        path = self.path / shard.file_name(inputs(shard.problem_id))
        frame = read_parquet(path, self.table)
        expected = list(shard.indices())
        if frame["sample_index"].to_list() != expected or (frame["problem_id"] != shard.problem_id).any():
            msg = f"{path} was edited: its samples are not those of its name; delete it and run the same command again"
            raise StoreError(msg)
        return frame


def completions_frame(completions: Iterable[Completion]) -> pl.DataFrame:
    """Return completions as a table of `schemas.COMPLETIONS`, sorted by key."""
    rows = [
        (
            *(entry.problem_id, entry.sample_index, entry.seed, entry.finish_reason.value, entry.n_tokens, entry.text),
            *(astuple(entry.logprobs) if entry.logprobs else (None,) * 4),
        )
        for entry in completions
    ]
    return pl.DataFrame(rows, schema=COMPLETIONS.columns, orient="row").sort(_KEY)
