# pyright: reportUnknownMemberType=false
"""Forecast a run: what is owed, what it will cost. A pilot really draws the first samples of every problem."""

import shutil
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import replace

import polars as pl

from rgsupport.errors import StoreError, one_line
from rgsupport.hardware import default_engine, gpus
from rgsupport.planning import Forecast, Part, pilot_samples
from rgsupport.prompting import Prompts, build_prompts, refuse_unequal, refuse_unequal_room
from rgsupport.sampling import completion_inputs, owed_shards
from rgsupport.seeds import sample_seed
from rgsupport.settings import Settings
from rgsupport.shards import Shard
from rgsupport.stages.generate import generate
from rgsupport.stages.sample import models_of, sample
from rgsupport.store import Record, Run, planned_problems
from rgsupport.types import BASE, RLVR, ROLES, FinishReason, ModelRole
from rgsupport.watch import Bar, Watcher


def plan(run: Run, settings: Settings, watcher: Watcher, *, pilot: bool) -> Forecast:
    """Freeze the problems and forecast the sampling; with `pilot` about 1% of it is done first, and kept.

    Whatever is on disk of the plan tells how long responses are, whether a pilot or an earlier command drew it.

    Raises:
        RgsupportError: The run itself would be refused for this reason.
    """
    generate(run, settings, watcher)
    asked = run.record().plan
    size = pilot_samples(settings.samples) if pilot else 0
    timed = Stopwatch(watcher)
    try:
        # With no samples asked for it draws nothing, but compares what was asked with what the run was made with.
        sample(run, replace(settings, ks=(size,) if size else (), samples=size), timed)
    finally:
        run.write_record(replace(run.record(), plan=asked))
    engine = settings.engine
    name = engine.name or default_engine()
    processes = len(engine.gpus) // engine.tensor_parallel or engine.workers
    return Forecast(
        parts=_parts(run, replace(settings, engine=replace(engine, name=name))),
        ks=settings.ks,
        engine=name,
        on_gpu=name != "openai" and engine.device != "cpu" and bool(gpus()),
        processes=processes,
        gpus_per_process=engine.tensor_parallel,
        free_bytes=shutil.disk_usage(run.path).free,
        speeds=timed.speeds(processes=processes),
    )


def _parts(run: Run, settings: Settings) -> tuple[Part, ...]:
    record = run.record()
    problems = planned_problems(run.problems(), record.plan)
    models = models_of(settings)
    made = {
        role: build_prompts(models[role], problems, system=record.system or "", engine=settings.engine)
        for role in ROLES
    }
    refuse_unequal_room((models[BASE], made[BASE]), (models[RLVR], made[RLVR]), settings.sampling)
    refuse_unequal({role: made[role].facts for role in ROLES}, settings.allow_unequal)
    parts: list[Part] = []
    for role in ROLES:
        shards = owed_shards(run, record, role)
        finished = _journaled(run, record, role, shards)
        seen = _seen(run, record, role)
        for (task,), rows in problems.group_by("task", maintain_order=True):
            ids = set(rows["problem_id"])
            here = [shard for shard in shards if shard.problem_id in ids]
            owed = {shard: shard.high - shard.low - finished.get(shard, 0) for shard in here}
            room = _room(made[role], settings.sampling.max_tokens, ids)
            parts.append(
                Part(
                    role=role,
                    task=str(task),
                    wanted=len(ids) * record.plan.samples,
                    owed=sum(owed.values()),
                    shards_owed=len(here),
                    tokens_at_most=sum(count * room[shard.problem_id] for shard, count in owed.items()),
                    **_totals(seen.filter(pl.col("problem_id").is_in(list(ids)))),
                )
            )
    return tuple(parts)


def _room(made: Prompts, max_tokens: int, ids: Iterable[str]) -> dict[str, int]:
    """Return the most new tokens of a sample of each problem."""
    if made.context_length is None:  # only a server knows
        return dict.fromkeys(ids, max_tokens)
    return {
        identity: max(0, min(max_tokens, made.context_length - len(made.of[identity].token_ids))) for identity in ids
    }


def _journaled(run: Run, record: Record, role: ModelRole, owed: Iterable[Shard]) -> Mapping[Shard, int]:
    """Return how many samples of each owed shard an interrupted command has finished; the next one takes them over."""
    indices: dict[str, set[int]] = {}
    for _, entry in run.journal(role).read_all():
        if entry.seed == sample_seed(
            run_seed=record.seed, stream=role, problem_id=entry.problem_id, sample_index=entry.sample_index
        ):
            indices.setdefault(entry.problem_id, set()).add(entry.sample_index)
    return {
        shard: len(indices[shard.problem_id] & set(shard.indices())) for shard in owed if shard.problem_id in indices
    }


def _seen(run: Run, record: Record, role: ModelRole) -> pl.DataFrame:
    """Return what the shards on disk tell of the plan's samples, a line per shard.

    Raises:
        StoreError: A shard is torn.
    """
    folder, inputs = run.completions(role), completion_inputs(record, role)
    # Journaled samples are left out: those of a shard that is not whole are the short ones.
    paths = {
        folder.path / shard.file_name(inputs(shard.problem_id)): shard
        for shard in folder.listing(inputs)
        if shard.high <= record.plan.samples
    }
    columns = {"problem_id": pl.String, "seen": pl.Int64, "tokens": pl.Int64, "truncated": pl.Int64, "bytes": pl.Int64}
    if not paths:
        return pl.DataFrame(schema=columns)
    is_cut = pl.col("finish_reason").cast(pl.String) == FinishReason.LENGTH.value
    try:
        return (
            pl.scan_parquet(list(paths), include_file_paths="path")
            .group_by("path")
            .agg(
                pl.col("problem_id").first(),
                seen=pl.len().cast(pl.Int64),
                tokens=pl.col("n_tokens").cast(pl.Int64).sum(),
                truncated=is_cut.sum().cast(pl.Int64),
            )
            .collect()
            .join(
                pl.DataFrame({"path": [str(path) for path in paths], "bytes": [path.stat().st_size for path in paths]}),
                on="path",
                validate="1:1",
            )
            .select(columns.keys())
        )
    except (pl.exceptions.PolarsError, OSError) as error:
        msg = f"cannot read the samples in {folder.path}: {one_line(error)[:200]}; `rgsupport verify` tells which file"
        raise StoreError(msg) from error


def _totals(seen: pl.DataFrame) -> dict[str, int]:
    return {
        "seen": int(seen["seen"].sum()),
        "seen_tokens": int(seen["tokens"].sum()),
        "seen_truncated": int(seen["truncated"].sum()),
        "seen_bytes": int(seen["bytes"].sum()),
        "seen_shards": seen.height,
    }


class Stopwatch:
    """A watcher that passes everything on to another one, and times the sampling of each model."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher
        self._bars: dict[str, _TimedBar] = {}

    def note(self, line: str) -> None:
        """Pass the line on."""
        self._watcher.note(line)

    @contextmanager
    def stage(self, title: str, *, total: int, unit: str) -> Generator[Bar]:
        """Pass the progress on, and time it."""
        with self._watcher.stage(title, total=total, unit=unit) as bar:
            self._bars[title] = _TimedBar(bar)
            yield self._bars[title]

    def speeds(self, *, processes: int) -> dict[ModelRole, float]:
        """Return the new tokens per second of one process, of each model that was sampled."""
        return {
            role: speed / processes
            for role in ROLES
            for title, bar in self._bars.items()
            if title.startswith(f"sampling {role} ") and (speed := bar.speed) is not None
        }


class _TimedBar:
    """Passes progress on, and takes the time from the last sign of life before the first response to the last one.

    An engine that is ready gives such a sign, so its start is left out; the filling and the draining of the batch is
    not, so a long run is rather faster.
    """

    def __init__(self, bar: Bar) -> None:
        self._bar = bar
        self._begin = self._end = time.monotonic()
        self._tokens = 0

    def advance(self, items: int, tokens: int = 0) -> None:
        if tokens:
            self._end = time.monotonic()
            self._tokens += tokens
        elif not self._tokens:
            self._begin = self._end = time.monotonic()
        self._bar.advance(items, tokens)

    def skip(self, items: int) -> None:
        self._bar.skip(items)

    @property
    def speed(self) -> float | None:
        """Tokens per second; None if nothing was drawn."""
        seconds = self._end - self._begin
        return self._tokens / seconds if self._tokens and seconds > 0 else None
