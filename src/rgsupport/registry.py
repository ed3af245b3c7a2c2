"""Tasks by name: the built-in task files, the user's own, and every dataset of Reasoning Gym with its defaults."""

import ast
import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import cast

from rgsupport import reasoning_gym
from rgsupport.errors import UsageError, nearest, one_line
from rgsupport.protocols import Checks, Configurable, Guesses, Task

PAPER = "paper"
"""The name that stands for all tasks of the paper."""

PAPER_TASKS = (
    "dice",
    "prime_factorization",
    "prime_factorization_hard",
    "palindrome_generation",
    "advanced_geometry",
    "advanced_geometry_hard",
    "graph_color",
    "graph_color_hard",
    "graph_color_vertex15",
    "graph_color_vertex20",
    "arc_1d",
    "boxnet",
    "leg_counting",
    "family_relationships",
    "power_function",
)
"""The 15 tasks of the paper (section 4, figures 2-4), those it classes together side by side."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_MEMBERS = ("name", "problems", "score")


@dataclass(frozen=True, slots=True)
class _TaskFile:
    """A Python file that assigns `TASKS`."""

    path: Path
    source: bytes
    is_builtin: bool

    @property
    def label(self) -> str:
        """What listings and messages call the file."""
        return f"built-in {self.path.name}" if self.is_builtin else str(self.path)

    def tasks(self) -> tuple[Task, ...]:
        """Return the tasks of the file, which is executed once per process and content."""
        return _execute(self.path, self.source)


def expand(names: Sequence[str]) -> tuple[str, ...]:
    """Return the task names that are meant, each once, in the order given; `paper` stands for the paper's 15.

    >>> expand(["leg_counting", "dice", "dice"])
    ('leg_counting', 'dice')
    """
    given = [part for name in names for part in (PAPER_TASKS if name == PAPER else (name,))]
    return tuple(dict.fromkeys(given))


def load_tasks(
    names: Sequence[str], *, params: Mapping[str, Mapping[str, object]], user_folder: Path | None
) -> tuple[Task, ...]:
    """Return the tasks of these names, each once, in the order given.

    Args:
        names: Task names, dataset names of Reasoning Gym, or `paper`.
        params: Parameters that are not to have their default, by task.
        user_folder: Folder of the user's own task files; it need not exist.

    Raises:
        UsageError: A name is unknown, a task file cannot be used, or parameters do not fit.
    """
    wanted = expand(names)
    if not wanted:
        msg = f"no task was named; name some, or {PAPER!r} for the paper's {len(PAPER_TASKS)}"
        raise UsageError(msg)
    for name in params:
        if name not in wanted:
            msg = f"parameters are set for {name!r}, which is not among the tasks {', '.join(wanted)}"
            raise UsageError(msg)
    known = _tasks_of_files(user_folder)
    return tuple(_configured(_find(name, known), params.get(name, {})) for name in wanted)


def list_tasks(user_folder: Path | None) -> tuple[Task, ...]:
    """Return every task there is: the paper's, the user's, then the other datasets of Reasoning Gym by name."""
    known = _tasks_of_files(user_folder)
    first = [name for name in PAPER_TASKS if name in known]
    datasets = [name for name in reasoning_gym.dataset_names() if name not in known]
    return tuple(_find(name, known) for name in dict.fromkeys([*first, *known, *datasets]))


def task_source(name: str, *, user_folder: Path | None) -> str:
    """Return where a task comes from: `built-in FILE`, the path of a user's file, or `reasoning-gym`."""
    file = _file_of(name, user_folder)
    return "reasoning-gym" if file is None else file.label


def task_digest(name: str, *, user_folder: Path | None) -> str:
    """Return a hash of the file a task is defined in; empty for a task that is a Reasoning Gym dataset as it is."""
    file = _file_of(name, user_folder)
    return "" if file is None else hashlib.sha256(file.source).hexdigest()


def with_checker(names: Iterable[str], *, user_folder: Path | None) -> frozenset[str]:
    """Return those of the tasks that have a checker of their own; a Reasoning Gym dataset as it is has none."""
    known = _tasks_of_files(user_folder)
    return frozenset(name for name in names if name in known and _has_checker(known[name][0]))


def with_doubts(names: Iterable[str], *, user_folder: Path | None) -> frozenset[str]:
    """Return those of the tasks that can be asked to doubt a problem."""
    known = _tasks_of_files(user_folder)
    return frozenset(name for name in names if name in known and isinstance(known[name][0], Checks))


def with_guesser(names: Iterable[str], *, user_folder: Path | None) -> frozenset[str]:
    """Return those of the tasks that have a guesser."""
    known = _tasks_of_files(user_folder)
    return frozenset(name for name in names if name in known and _has_guesser(known[name][0]))


def _has_guesser(task: Task) -> bool:
    return isinstance(task, Guesses) and task.has_guesser


def _has_checker(task: Task) -> bool:
    return isinstance(task, Checks) and task.has_checker


def _find(name: str, known: Mapping[str, tuple[Task, _TaskFile]]) -> Task:
    if name in known:
        return known[name][0]
    datasets = reasoning_gym.dataset_names()
    if name in datasets:
        return reasoning_gym.default_task(name)
    hint = nearest(name, dict.fromkeys([*known, *datasets, PAPER])) or "; `rgsupport tasks` lists them"
    msg = f"no task {name!r}{hint}"
    raise UsageError(msg)


def _configured(task: Task, params: Mapping[str, object]) -> Task:
    if not params:
        return task
    if not isinstance(task, Configurable):
        msg = f"task {task.name!r} has no parameters (its class has no with_params), {', '.join(params)} cannot be set"
        raise UsageError(msg)
    return task.with_params(params)


def _file_of(name: str, user_folder: Path | None) -> _TaskFile | None:
    known = _tasks_of_files(user_folder)
    return known[name][1] if name in known else None


def _tasks_of_files(user_folder: Path | None) -> dict[str, tuple[Task, _TaskFile]]:
    """Return the tasks of all files by name, with their files.

    Raises:
        UsageError: Two files give a task of the same name.
    """
    found: dict[str, tuple[Task, _TaskFile]] = {}
    for file in _files(user_folder):
        for task in file.tasks():
            if task.name in found:
                msg = f"task {task.name!r} is defined twice: in {found[task.name][1].label} and in {file.label}"
                raise UsageError(msg)
            found[task.name] = (task, file)
    return found


def _files(user_folder: Path | None) -> list[_TaskFile]:
    """Return the task files; a user's file takes the place of a built-in one of the same name."""
    builtin = _read_folder(_builtin_folder(), is_builtin=True)
    own = {} if user_folder is None else _read_folder(user_folder, is_builtin=False)
    # A working copy of this project has the built-in files in ./tasks, too: those are no user's.
    changed = {name: file for name, file in own.items() if name not in builtin or file.source != builtin[name].source}
    return list((builtin | changed).values())


def _builtin_folder() -> Path:
    here = Path(__file__).resolve().parent
    installed = here / "builtin_tasks"
    return installed if installed.is_dir() else here.parents[1] / "tasks"


def _read_folder(folder: Path, *, is_builtin: bool) -> dict[str, _TaskFile]:
    """Return a folder's task files by file name; other Python files are none of our business and never executed."""
    paths = sorted(path for path in folder.glob("*.py") if path.is_file())
    try:
        files = {path.name: _TaskFile(path.resolve(), path.read_bytes(), is_builtin) for path in paths}
    except OSError as error:
        msg = f"a file of {folder} cannot be read: {one_line(error)}"
        raise UsageError(msg) from error
    return {name: file for name, file in files.items() if _assigns_tasks(file.path, file.source)}


@cache
def _assigns_tasks(path: Path, source: bytes) -> bool:
    """Tell whether a source assigns TASKS at its top level, without executing it.

    Raises:
        UsageError: It seems to, but is no valid Python.
    """
    try:
        body = ast.parse(source).body
    except (SyntaxError, ValueError) as error:
        if b"TASKS" not in source:
            return False
        msg = f"task file {path} is not valid Python: {one_line(error)}"
        raise UsageError(msg) from error
    targets = [
        target
        for statement in body
        if isinstance(statement, ast.Assign | ast.AnnAssign)
        for target in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
    ]
    return any(isinstance(target, ast.Name) and target.id == "TASKS" for target in targets)


@cache
def _execute(path: Path, source: bytes) -> tuple[Task, ...]:
    """Run a task file and return its tasks, checked.

    Raises:
        UsageError: It raises, or what it calls TASKS are no tasks.
    """
    name = f"rgsupport_task_file_{path.stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    spec = importlib.util.spec_from_loader(name, loader=None, origin=str(path))
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(path)
    sys.modules[name] = module  # dataclasses look their module up
    try:
        exec(compile(source, str(path), "exec"), module.__dict__)
    except (Exception, SystemExit) as error:
        msg = f"task file {path} cannot be loaded: {type(error).__name__}: {one_line(error)}"
        raise UsageError(msg) from error
    tasks: object = module.__dict__.get("TASKS")
    if not isinstance(tasks, tuple | list):
        msg = f"TASKS of {path} is a {type(tasks).__name__}; it must be a tuple of tasks"
        raise UsageError(msg)
    return tuple(_checked(task, path) for task in cast("Sequence[object]", tasks))


def _checked(task: object, path: Path) -> Task:
    missing = [member for member in _MEMBERS if not hasattr(task, member)]
    if missing:
        msg = f"a task of {path} has no {' and no '.join(missing)} (it is a {type(task).__name__})"
        raise UsageError(msg)
    named = cast("Task", task)
    if not isinstance(cast("object", named.name), str) or not _NAME.fullmatch(named.name) or named.name == PAPER:
        msg = f"a task of {path} has the name {named.name!r}; names are letters, digits, _ . and -, and not {PAPER!r}"
        raise UsageError(msg)
    return named
