"""Give every completion of a run its verdicts: shard by shard, in jailed workers, identical answers scored once."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from importlib.resources import files
from importlib.resources.abc import Traversable

import polars as pl

from rgsupport import registry
from rgsupport.errors import UsageError
from rgsupport.jail import Jail, Specification
from rgsupport.sampling import completion_inputs
from rgsupport.schemas import COMPLETIONS
from rgsupport.shards import Inputs, Shard
from rgsupport.stages.generate import USER_TASKS
from rgsupport.store import Record, Run, planned_problems, to_problem
from rgsupport.types import ROLES, ModelRole
from rgsupport.verification import ScoreCache
from rgsupport.verification import verify as verify_frame
from rgsupport.watch import Bar, Watcher

# The modules that decide a verdict; when one of them changes, stored verdicts are stale and made again.
_DECIDING = (
    "codec.py",
    "extract.py",
    "jail",
    "latex.py",
    "parameters.py",
    "reasoning_gym.py",
    "verification.py",
)
_CHUNK = 512  # completions that are verified in one go: enough to keep the workers busy, few to lose


def verify(run: Run, watcher: Watcher) -> int:
    """Verify every completion that has no verdict yet, and return how many those were.

    Raises:
        UsageError: A task of the user's is not found from here.
        StoreError: A shard of completions is torn, edited or foreign.
    """
    record = run.record()
    owed: dict[ModelRole, list[Shard]] = {
        role: owed_verdicts(run, record, role) for role in ROLES if role in record.models
    }
    total = sum(shard.high - shard.low for shards in owed.values() for shard in shards)
    if total:
        with watcher.stage("verifying", total=total, unit="responses") as bar:
            _verify(run, record, owed, bar)
    return total


def verdict_inputs(record: Record, role: ModelRole, task_of: dict[str, str]) -> Inputs:
    """Return what a shard of verdicts is a function of: its completions, and everything that decides a verdict.

    Args:
        record: The run's record.
        role: Which model.
        task_of: Task of each problem of the run.
    """
    completions = completion_inputs(record, role)
    deciding = verifiers(record)
    return lambda problem_id: f"{completions(problem_id)}\0{deciding[task_of[problem_id]]}"


def verifiers(record: Record) -> dict[str, str]:
    """Return, for each task of a run, a text that changes with everything that decides its verdicts.

    Raises:
        UsageError: A task of the user's is not found from here.
    """
    for name, task in record.tasks.items():
        if registry.task_source(name, user_folder=USER_TASKS) != task.source:
            msg = f"task {name!r} is defined in {task.source}; run the command in the folder that holds its tasks/"
            raise UsageError(msg)
    common = hashlib.sha256(version("reasoning-gym").encode())
    for name in _DECIDING:
        for module in _modules(files("rgsupport") / name):
            common.update(module.read_bytes())
    return {
        name: f"{common.hexdigest()}\0{registry.task_digest(name, user_folder=USER_TASKS)}\0{task.params}"
        for name, task in record.tasks.items()
    }


def specification(record: Record, names: Iterable[str]) -> Specification:
    """Return how a jail gets these tasks of a run."""
    given = {name: record.tasks[name].overrides for name in names}
    params = {name: overrides for name, overrides in given.items() if overrides}
    return Specification(tuple(given), params=params, user_folder=USER_TASKS.absolute())


def _modules(path: Traversable) -> list[Traversable]:
    """Return a module, or those of a package in a fixed order."""
    if path.is_file():
        return [path]
    return sorted((item for item in path.iterdir() if item.name.endswith(".py")), key=lambda item: item.name)


def task_of_problem(run: Run) -> dict[str, str]:
    """Return the task of each problem of a run."""
    return dict(run.problems().select("problem_id", "task").iter_rows())


def owed_verdicts(run: Run, record: Record, role: ModelRole) -> list[Shard]:
    """Return the planned shards of a model's completions that have no verdicts of the present verifiers."""
    inputs = verdict_inputs(record, role, task_of_problem(run))
    done = set(run.verdicts(role).listing(inputs, pass_over_stale=True))
    planned = set(planned_problems(run.problems(), record.plan)["problem_id"])
    made = run.completions(role).listing(completion_inputs(record, role))
    return [shard for shard in made if shard not in done and shard.problem_id in planned]


def _verify(run: Run, record: Record, owed: Mapping[ModelRole, list[Shard]], bar: Bar) -> None:
    problems = {row["problem_id"]: to_problem(row) for row in run.problems().iter_rows(named=True)}
    task_of = {identity: problem.task for identity, problem in problems.items()}
    names = sorted({task_of[shard.problem_id] for shards in owed.values() for shard in shards})
    made_from = {role: completion_inputs(record, role) for role in owed}
    decided_by = {role: verdict_inputs(record, role, task_of) for role in owed}
    cache = ScoreCache()
    checked = registry.with_checker(names, user_folder=USER_TASKS)
    with Jail(specification(record, names), workers=os.cpu_count() or 1) as jail:
        for role, shards in _chunks(owed):
            folder = run.completions(role)
            completions = pl.concat([folder.read(shard, made_from[role]) for shard in shards])
            verdicts = verify_frame(
                completions.unique(COMPLETIONS.key, keep="first", maintain_order=True),  # shards may overlap
                problems,
                thinking=record.models[role].opens_thought,
                checked=checked,
                jail=jail,
                cache=cache,
                on_scored=bar.advance,
            )
            for shard in shards:
                here = (pl.col("problem_id") == shard.problem_id) & pl.col("sample_index").is_in(shard.indices())
                run.verdicts(role).write(shard, verdicts.filter(here), decided_by[role])


def _chunks(owed: Mapping[ModelRole, list[Shard]]) -> Iterator[tuple[ModelRole, list[Shard]]]:
    """Yield the shards a few hundred completions at a time, which keeps every worker busy.

    Problem by problem, both models in turn, so that the answers they share are scored once.
    """
    work: list[tuple[Shard, ModelRole]] = [(shard, role) for role, shards in owed.items() for shard in shards]
    chunk: dict[ModelRole, list[Shard]] = {}
    size = 0
    for shard, role in sorted(work, key=lambda item: item[0]):
        chunk.setdefault(role, []).append(shard)
        size += shard.high - shard.low
        if size >= _CHUNK:
            yield from chunk.items()
            chunk, size = {}, 0
    yield from chunk.items()
