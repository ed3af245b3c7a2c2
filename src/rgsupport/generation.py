"""Problems of tasks, made in a child process in which nothing of ours can change them, nor they anything of ours.

The child has a fixed hash seed (questions of some datasets depend on the order of sets), an empty working directory
of its own (some datasets write files), and a pipe that what the datasets print cannot reach.
"""

import os
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rgsupport import child
from rgsupport.errors import EngineError, RgsupportError, UsageError, one_line
from rgsupport.protocols import Task
from rgsupport.registry import load_tasks
from rgsupport.seeds import problem_id
from rgsupport.typed import build
from rgsupport.types import Problem


def generate(
    names: Sequence[str],
    *,
    params: Mapping[str, Mapping[str, object]],
    user_folder: Path | None,
    count: int,
    seed: int,
    on_problem: Callable[[Problem], None] | None,
    on_task: Callable[[str, float], None] | None = None,
    hash_seed: int = 0,
) -> list[Problem]:
    """Return the problems of tasks, task after task: the same arguments give the same problems in every process.

    Args:
        names: As in `registry.load_tasks`.
        params: As in `registry.load_tasks`; JSON values.
        user_folder: Folder of the user's own task files.
        count: Problems per task; a smaller count gives the first of a larger one. A user's task may have fewer.
        seed: Seed of every task.
        on_problem: Called with each problem as it arrives; those of one task arrive together.
        on_task: Called with each task's name and the seconds that making its problems took, before they arrive.
        hash_seed: PYTHONHASHSEED of the child. With another than 0, which every run has, some datasets make other
            problems: only who wants to know that asks for it.

    Raises:
        UsageError: A task or a parameter is unknown, or a task cannot make what was asked for.
        EngineError: The child process died; the message ends with what it said last.
    """
    job = {
        "names": list(names),
        "params": {name: dict(values) for name, values in params.items()},
        "user_folder": None if user_folder is None else str(user_folder.absolute()),
        "count": count,
        "seed": seed,
    }
    log = Path(tempfile.gettempdir()) / f"rgsupport-generation-{os.getpid()}.log"
    problems: list[Problem] = []
    try:
        with tempfile.TemporaryDirectory(prefix="rgsupport-") as folder:
            for message in child.run(child.Call(__name__, job, log, _environment(hash_seed), cwd=Path(folder))):
                if "seconds" in message:
                    if on_task is not None:
                        on_task(message["task"], message["seconds"])
                    continue
                problem = Problem(**message)
                problems.append(problem)
                if on_problem is not None:
                    on_problem(problem)
    except EngineError:
        raise  # its message names the log
    except BaseException:
        log.unlink(missing_ok=True)
        raise
    log.unlink(missing_ok=True)
    return problems


def _environment(hash_seed: int) -> dict[str, str]:
    """Return what the child's environment has differently from ours."""
    search_path = os.environ.get("PYTHONPATH", "")
    return {
        "PYTHONHASHSEED": str(hash_seed),
        "PYTHONPATH": os.pathsep.join(str(Path(part).absolute()) for part in search_path.split(os.pathsep) if part),
        "PYTHONOPTIMIZE": "",  # the datasets check their parameters with assert
        "PYTHONWARNINGS": "ignore",  # bundled programs warn; as errors, the warnings would change their results
    }


def _make(job: dict[str, Any], emit: child.Emit) -> None:
    """Send the problems of the job's tasks."""
    user_folder = None if job["user_folder"] is None else Path(job["user_folder"])
    for task in load_tasks(job["names"], params=job["params"], user_folder=user_folder):
        start = time.perf_counter()
        problems = _checked(task, _problems(task, count=job["count"], seed=job["seed"]), count=job["count"])
        emit({"task": task.name, "seconds": time.perf_counter() - start})
        for problem in problems:
            emit(asdict(problem))


def _problems(task: Task, *, count: int, seed: int) -> list[Problem]:
    """Return what a task makes.

    Raises:
        UsageError: It raises, or what it makes are no problems; a user's own task may err so.
    """
    try:
        made = [build(Problem, asdict(problem)) for problem in task.problems(count=count, seed=seed)]
        for problem in made:
            "".join((problem.question, problem.reference or "", problem.entry)).encode()
            if not 0 <= problem.index < 2**63:
                msg = f"the index {problem.index}"
                raise ValueError(msg)  # noqa: TRY301 - told like every other fault of a task
    except RgsupportError:
        raise
    except (Exception, SystemExit) as error:
        msg = f"task {task.name!r} cannot make problems: {type(error).__name__}: {one_line(error)}"
        raise UsageError(msg) from error
    return made


def _checked(task: Task, problems: Sequence[Problem], *, count: int) -> Sequence[Problem]:
    """Return the problems a task made.

    Raises:
        UsageError: They are none, too many, not distinct, or not of this task; a user's own task may err so.
    """
    ids = {problem_id(task=task.name, question=problem.question): problem.id for problem in problems}
    faults = {
        "no problems": not problems,
        f"{len(problems)} problems where {count} were asked for": len(problems) > count,
        "the same question twice": len(ids) < len(problems),
        "problems under another task's name": any(problem.task != task.name for problem in problems),
        "an id that is not rgsupport.seeds.problem_id(task=..., question=...)": any(a != b for a, b in ids.items()),
    }
    for fault, holds in faults.items():
        if holds:
            msg = f"task {task.name!r} made {fault}"
            raise UsageError(msg)
    return problems


if __name__ == "__main__":
    child.serve(_make)
    os._exit(0)  # bundled programs may have left threads running
