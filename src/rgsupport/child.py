"""Run stages in child processes: a job goes in as JSON, messages come back line by line, errors are raised here.

Models and generators run in children, so that a model's memory is really freed, a generator has a fixed hash seed, and
what libraries print cannot mix with our output. A child dies with its parent, however that ends, and whatever it has
started (an engine's own processes, which hold a GPU) dies with it.
"""

import ctypes
import json
import os
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn, Self

from rgsupport import errors
from rgsupport.errors import EngineError, RgsupportError, one_line

Emit = Callable[[Mapping[str, object]], None]
"""Sends a message of JSON values to the parent."""
_PR_SET_PDEATHSIG = 1
_GUARD_SECONDS = 1.0  # how often a guard looks whether its child lives


@dataclass(frozen=True, slots=True)
class Call:
    """A job for a child process.

    Attributes:
        module: A module whose main part calls `serve`.
        job: What it has to do, JSON values.
        log: File that takes what the child's libraries print.
        environment: Variables added to ours.
        cwd: Working directory, ours when None.
    """

    module: str
    job: Mapping[str, object]
    log: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str])
    cwd: Path | None = None


def run(call: Call) -> Iterator[dict[str, Any]]:
    """Run `python -m module` and yield its messages; close the iterator to end it early.

    Raises:
        RgsupportError: The child raised it; class and text are the child's.
        EngineError: The child died; names the log.
    """
    with _Child(call) as child:
        yield from child.messages()


def run_all(calls: Sequence[Call]) -> Iterator[tuple[int, dict[str, Any] | RgsupportError]]:
    """Run several children at the same time; yield the messages of each with its place, or the error it ended with.

    One that fails does not end the others; closing the iterator ends them all.
    """
    if len(calls) == 1:  # nothing to wait for beside it
        try:
            yield from ((0, message) for message in run(calls[0]))
        except RgsupportError as error:
            yield 0, error
        return
    arrived: queue.SimpleQueue[tuple[int, dict[str, Any] | RgsupportError | None]] = queue.SimpleQueue()

    def forward(place: int, child: "_Child") -> None:
        try:
            for message in child.messages():
                arrived.put((place, message))
        except RgsupportError as error:
            arrived.put((place, error))
        except Exception as error:  # noqa: BLE001 - raised by whoever takes the messages, not lost with the thread
            arrived.put((place, EngineError(f"{type(error).__name__}: {one_line(error)}")))
        finally:
            arrived.put((place, None))

    with ExitStack() as stack:
        # Started here and not in the threads: a child would die with the thread that started it.
        children = [stack.enter_context(_Child(call)) for call in calls]
        threads = [threading.Thread(target=forward, args=pair, daemon=True) for pair in enumerate(children)]
        stack.callback(lambda: [thread.join() for thread in threads])
        stack.callback(lambda: [child.kill() for child in children])
        for thread in threads:
            thread.start()
        running = len(children)
        while running:
            place, message = arrived.get()
            if message is None:
                running -= 1
            else:
                yield place, message


class _Child:
    """A child process at work."""

    def __init__(self, call: Call) -> None:
        self._call = call
        with call.log.open("wb") as printed:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", call.module],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=printed,
                env={**os.environ, **call.environment},
                cwd=call.cwd,
                start_new_session=True,  # Ctrl-C reaches us alone, and what the child starts can be killed with it
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    def messages(self) -> Iterator[dict[str, Any]]:
        """Yield the messages of the child until it says that it is done."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            # stdin stays open for as long as we live: the child takes its end for our death.
            process.stdin.write(json.dumps(self._call.job).encode() + b"\n")
            process.stdin.flush()
            for line in process.stdout:
                if not line.endswith(b"\n"):
                    break  # its death cut a message
                message = json.loads(line)
                if "done" in message:
                    return
                if "error" in message:
                    raise getattr(errors, message["error"])(message["text"])
                yield message
        except BrokenPipeError:
            pass
        raise EngineError(_obituary(self._call, process.wait()))

    def kill(self) -> None:
        """Kill the child and everything it started."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def _obituary(call: Call, code: int) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    lines = call.log.read_text(errors="replace").strip().splitlines()
    last = f": {lines[-1].strip()[:300]}" if lines else ""
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    return (
        f"the process of {call.module} {how}{hint}{last} (see {call.log}); "
        "what was finished is kept, the same command goes on"
    )


def serve(main: Callable[[dict[str, Any], Emit], None]) -> None:
    """Do one job in a child process: read it, call `main(job, emit)`, report an error the user can fix.

    Standard output is taken for messages; what libraries print goes to standard error.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    job = json.loads(sys.stdin.buffer.readline())
    _start_guard()
    messages = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)

    def emit(message: Mapping[str, object]) -> None:
        messages.write(json.dumps(message).encode() + b"\n")

    try:
        main(job, emit)
        emit({"done": True})
    except RgsupportError as error:
        emit({"error": type(error).__name__, "text": str(error)})


def _start_guard() -> None:
    """Fork a guard: when the parent or this process is gone, it kills the process group, itself included."""
    watched = os.getpid()
    if os.fork() == 0:
        _guard(watched)


def _guard(watched: int) -> NoReturn:
    os.close(1)  # or the parent would wait for messages after the child's death
    while os.getppid() == watched:
        readable, _, _ = select.select([0], [], [], _GUARD_SECONDS)
        if readable and not os.read(0, 4096):  # the end of our standard input: the parent is gone
            break
    os.killpg(0, signal.SIGKILL)
    os._exit(1)
