"""The program of a worker: `python -m rgsupport.jail._worker JOBS RESULTS PARENT` (two descriptors, a process id)."""

import gc
import importlib
import json
import math
import numbers
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

from rgsupport.errors import RgsupportError
from rgsupport.jail._lockdown import Guard, die_with_parent, limit_process, limit_processor_time
from rgsupport.jail._protections import lock_down
from rgsupport.jail._wire import LENGTH_SIZE, MAX_ANSWER, Ask, Kind, Record, encode_record, message_size
from rgsupport.protocols import Checks, Guesses, Normalises, Prepares, Task
from rgsupport.types import Problem


class Loader(Protocol):
    """What `Specification.loader` names."""

    def __call__(
        self, names: Sequence[str], *, params: Mapping[str, Mapping[str, object]], user_folder: Path | None
    ) -> Sequence[Task]:
        """Return the tasks of these names."""
        ...


def main() -> None:
    """Load the tasks and score batch after batch until the parent closes the pipe."""
    jobs, results, parent = (int(argument) for argument in sys.argv[1:])
    die_with_parent(parent)
    messages = _messages(os.fdopen(jobs, "rb"))
    setup = next(messages)
    limit_process(memory=setup["memory_limit"])
    try:
        tasks = _load(setup["tasks"])
    except RgsupportError as error:
        _send(results, Record(Kind.BROKEN, detail=str(error)))
        return
    except BaseException as error:  # noqa: BLE001 - the parent reports it; nobody reads a worker's standard error
        _send(results, Record(Kind.BROKEN, detail=_describe(error)))
        return
    # What is loaded stays: the collector need not walk it again and again.
    gc.collect()
    gc.freeze()
    folder = setup["tasks"]["user_folder"]
    lock_down(pipe=jobs, folder=None if folder is None else Path(folder))
    _send(results, Record(Kind.READY))
    guard = Guard()
    position = 0
    for batch in messages:
        problems: list[Problem] = [Problem(*fields) for fields in batch["problems"]]
        answers: list[tuple[int, str, str]] = batch["jobs"]
        limit_processor_time(setup["time_limit"] * len(answers))
        for place, answer, ask in answers:
            record = _answer(tasks, guard, problems[place], answer, Ask(ask))
            _send(results, record._replace(position=position))
            if record.kind is Kind.REFUSED:
                return
            position += 1


def _messages(stream: BinaryIO) -> Iterator[dict[str, Any]]:
    while head := stream.read(LENGTH_SIZE):
        yield json.loads(stream.read(message_size(head)))


def _send(descriptor: int, record: Record) -> None:
    data = encode_record(record)
    while data:
        data = data[os.write(descriptor, data) :]


def _load(wanted: Mapping[str, Any]) -> Mapping[str, Task]:
    module, _, function = wanted["loader"].partition(":")
    load: Loader = getattr(importlib.import_module(module), function)
    folder = wanted["user_folder"]
    tasks = load(wanted["names"], params=wanted["params"], user_folder=None if folder is None else Path(folder))
    for task in tasks:
        if isinstance(task, Prepares):
            task.prepare()
    return {task.name: task for task in tasks}


def _answer(tasks: Mapping[str, Task], guard: Guard, problem: Problem, answer: str, ask: Ask) -> Record:
    """Answer one job; whatever the task raises is its own record."""
    guard.arm()
    try:
        record = _ASKED[ask](tasks[problem.task], problem, answer)
    except BaseException as error:  # noqa: BLE001 - a verdict on this answer: verifiers raise anything, SystemExit too
        record = Record(Kind.FAILED, detail=_describe(error))
    refused = guard.disarm()
    if refused:
        return Record(Kind.REFUSED, answer=record.answer, detail=f"a verifier may not do this: {refused}")
    return record


def _as_is(task: Task, problem: Problem, answer: str) -> Record:
    return Record(Kind.SCORED, score=_number(task.score(problem, answer)))


def _in_its_form(task: Task, problem: Problem, answer: str) -> Record:
    text = _normalised(task, answer)
    if text == answer:
        return Record(Kind.UNCHANGED)
    try:
        return _as_is(task, problem, text)._replace(answer=text)
    except BaseException as error:  # noqa: BLE001 - as in _answer; here the text that failed is known
        return Record(Kind.FAILED, answer=text, detail=_describe(error))


def _checked(task: Task, problem: Problem, answer: str) -> Record:
    is_right = _checks(task).check(problem, answer)
    if type(is_right) is not bool:
        msg = f"check returned {type(is_right).__name__}, not a bool"
        raise TypeError(msg)
    return Record(Kind.SCORED, score=float(is_right))


def _doubt(task: Task, problem: Problem, answer: str) -> Record:  # noqa: ARG001 - a doubt is about the problem
    doubt = _checks(task).doubt(problem)
    if type(doubt) is not str:
        msg = f"doubt returned {type(doubt).__name__}, not a text"
        raise TypeError(msg)
    return Record(Kind.SCORED, score=float(not doubt), answer=" ".join(doubt[:MAX_ANSWER].split()))


def _chance(task: Task, problem: Problem, answer: str) -> Record:  # noqa: ARG001 - a chance is the problem's
    if not isinstance(task, Guesses):
        msg = f"task {task.name!r} has no guesser"
        raise TypeError(msg)
    chance = _number(task.chance(problem))
    if not 0 <= chance <= 1:
        msg = f"chance returned {chance}, not a probability"
        raise ValueError(msg)
    return Record(Kind.SCORED, score=chance)


def _checks(task: Task) -> Checks:
    if not isinstance(task, Checks):
        msg = f"task {task.name!r} has no checker"
        raise TypeError(msg)
    return task


_ASKED: Mapping[Ask, Callable[[Task, Problem, str], Record]] = {
    Ask.AS_IS: _as_is,
    Ask.NORMALISED: _in_its_form,
    Ask.CHECKED: _checked,
    Ask.DOUBT: _doubt,
    Ask.CHANCE: _chance,
}


def _normalised(task: Task, answer: str) -> str:
    text = task.normalise(answer) if isinstance(task, Normalises) else answer
    if type(text) is not str:
        msg = f"normalise returned {type(text).__name__}, not a text"
        raise TypeError(msg)
    if len(text) > MAX_ANSWER:
        msg = f"the normalised answer has {len(text)} characters; {MAX_ANSWER} are allowed"
        raise ValueError(msg)
    return text


def _number(score: object) -> float:
    if not isinstance(score, numbers.Real) or not math.isfinite(number := float(score)):
        msg = f"the verifier returned {type(score).__name__}, not a finite number"
        raise TypeError(msg)
    return number


def _describe(error: BaseException) -> str:
    """Return class and message of an exception in one line, as far as it lets itself be described."""
    try:
        return " ".join(f"{type(error).__name__}: {error}".split())
    except BaseException:  # noqa: BLE001 - the exception is the answer's, and so is its __str__
        return "an exception that cannot be described"


if __name__ == "__main__":
    main()
    # Without a goodbye: code of an answer may have registered exit handlers or left threads.
    os._exit(0)
