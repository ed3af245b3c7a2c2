"""What does the jail cost, and what does scoring identical answers once save?

    python benchmarks/verify.py [--tasks dice,leg_counting] [--problems 20] [--answers 200] [--rounds 5] [--workers 2]
    python benchmarks/verify.py --run outputs/mini-base--mini-rlvr

The first form scores the same distinct answers in a bare loop in this process and in the jail, in turns, and prints
answers per second and the ratio of the medians. Workers are started and have loaded their tasks before the clock runs.

The second form takes the responses of a real run. It says how many there are and how many different answers to a
problem are among them, and scores them twice: every answer of every response in the jail, then as `rgsupport verify`
does, each once across samples and models (which includes finding the answers).
"""

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median

import polars as pl

from rgsupport import registry
from rgsupport.extract import lenient
from rgsupport.jail import Ask, Jail, Job, Specification
from rgsupport.protocols import Task
from rgsupport.stages.generate import USER_TASKS
from rgsupport.stages.verify import specification
from rgsupport.store import Run, to_problem
from rgsupport.types import ROLES, FinishReason, Problem
from rgsupport.verification import ScoreCache, verify

CHEAP = "dice,leg_counting,family_relationships,arc_1d,prime_factorization,palindrome_generation,power_function"


def jobs_of(tasks: Sequence[Task], *, problems: int, answers: int) -> list[Job]:
    """Return jobs with `answers` different answers to each of the first problems: near the reference, mostly wrong."""
    asked: list[tuple[Problem, str]] = []
    for task in tasks:
        for problem in task.problems(count=problems, seed=45):
            asked.append((problem, str(problem.reference)))
            asked += [(problem, f"{problem.reference} {n}") for n in range(answers - 1)]
    return [Job(key, problem, answer) for key, (problem, answer) in enumerate(asked)]


def bare(tasks: Sequence[Task], jobs: Sequence[Job]) -> list[bool]:
    """Score in this process, as a loop without any protection would."""
    by_name = {task.name: task for task in tasks}
    return [by_name[job.problem.task].score(job.problem, job.answer) >= 1 - 1e-9 for job in jobs]


def jailed(jail: Jail, jobs: Sequence[Job]) -> list[bool]:
    """Score in the jail; results in the order of the jobs."""
    found = {result.key: result.status == "correct" for result in jail.score(jobs)}
    return [found[job.key] for job in jobs]


def timed(work: Callable[[], object]) -> tuple[float, object]:
    """Return the seconds that a piece of work takes, and its result."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def compare(names: Sequence[str], *, problems: int, answers: int, rounds: int, workers: int) -> None:
    """Print the speed of both ways."""
    tasks = registry.load_tasks(names, params={}, user_folder=None)
    jobs = jobs_of(tasks, problems=problems, answers=answers)
    slow: list[float] = []
    fast: list[float] = []
    with Jail(Specification(tuple(names)), workers=workers) as jail:
        expected = bare(tasks, jobs[::answers])
        assert jailed(jail, jobs[::answers]) == expected
        assert jailed(jail, jobs[: 512 * workers]) == bare(tasks, jobs[: 512 * workers])  # every worker is up
        for _ in range(rounds):
            seconds, one = timed(lambda: bare(tasks, jobs))
            fast.append(len(jobs) / seconds)
            seconds, other = timed(lambda: jailed(jail, jobs))
            slow.append(len(jobs) / seconds)
            assert one == other
            print(f"bare {fast[-1]:9.0f} answers/s    jailed {slow[-1]:9.0f} answers/s    {slow[-1] / fast[-1]:.2f}")
    print(f"{len(jobs)} answers, {workers} workers: jailed / bare = {median(slow) / median(fast):.2f}")


def deduplicate(run: Run, *, workers: int) -> None:
    """Print what scoring identical answers once saves on a run."""
    record = run.record()
    problems = {row["problem_id"]: to_problem(row) for row in run.problems().iter_rows(named=True)}
    checked = registry.with_checker(record.tasks, user_folder=USER_TASKS)
    frames = {
        role: pl.concat([pl.read_parquet(path) for path in sorted((run.path / "completions" / role).glob("*.parquet"))])
        for role in ROLES
    }
    jobs: list[Job] = []
    for role, frame in frames.items():
        thinking = record.models[role].opens_thought
        for identity, reason, text in frame.select("problem_id", "finish_reason", "text").iter_rows():
            found = lenient(text, thinking=thinking, cut=reason == FinishReason.LENGTH)
            if found is not None:
                problem = problems[identity]
                asks = (Ask.AS_IS, Ask.NORMALISED, *([Ask.CHECKED] if problem.task in checked else []))
                jobs += [Job(len(jobs) + at, problem, found.answer, ask) for at, ask in enumerate(asks)]
    different = len({(job.problem.id, job.answer) for job in jobs})
    print(f"{sum(frame.height for frame in frames.values())} responses; {different} different answers to a problem")
    with Jail(specification(record, record.tasks), workers=workers) as jail:
        jailed(jail, jobs[: 512 * workers])
        every, _ = timed(lambda: jailed(jail, jobs))
        cache = ScoreCache()
        once, _ = timed(
            lambda: [
                verify(
                    frame,
                    problems,
                    thinking=record.models[role].opens_thought,
                    checked=checked,
                    jail=jail,
                    cache=cache,
                )
                for role, frame in frames.items()
            ]
        )
    print(f"every answer {every:.2f} s, each once {once:.2f} s: {every / once:.1f} times as fast")


def main() -> None:
    """Parse the options and measure."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tasks", default=CHEAP)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--answers", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--run", type=Path)
    given = parser.parse_args()
    if given.run is not None:
        deduplicate(Run(given.run), workers=given.workers)
        return
    compare(
        given.tasks.split(","),
        problems=given.problems,
        answers=given.answers,
        rounds=given.rounds,
        workers=given.workers,
    )


if __name__ == "__main__":
    main()
