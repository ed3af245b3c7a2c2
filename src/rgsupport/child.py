"""Run a stage in a child process: a job goes in as JSON, messages come back line by line, its errors are raised here.

Models and generators run in children, so that a model's memory is really freed, a generator has a fixed hash seed, and
what libraries print cannot mix with our output. A child dies with its parent, however that ends.
"""

import ctypes
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from rgsupport import errors
from rgsupport.errors import EngineError, RgsupportError

Emit = Callable[[Mapping[str, object]], None]
"""Sends a message of JSON values to the parent."""
_PR_SET_PDEATHSIG = 1


def run(
    module: str, job: Mapping[str, object], *, log: Path, environment: Mapping[str, str], cwd: Path | None = None
) -> Iterator[dict[str, Any]]:
    """Run `python -m module` and yield its messages; close the iterator to end it early.

    Args:
        module: A module whose main part calls `serve`.
        job: What it has to do, JSON values.
        log: File that takes what the child's libraries print.
        environment: Variables added to ours.
        cwd: Working directory, ours when None.

    Raises:
        RgsupportError: The child raised it; class and text are the child's.
        EngineError: The child died; names the log.
    """
    with log.open("wb") as printed:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=printed,
            env={**os.environ, **environment},
            cwd=cwd,
            start_new_session=True,  # Ctrl-C reaches us alone; we then end the child
        )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        # stdin stays open for as long as we live: the child takes its end for our death.
        process.stdin.write(json.dumps(job).encode() + b"\n")
        process.stdin.flush()
        for line in process.stdout:
            message = json.loads(line)
            if "done" in message:
                return
            if "error" in message:
                raise getattr(errors, message["error"])(message["text"])
            yield message
        raise EngineError(_obituary(module, process.wait(), log))
    except BrokenPipeError:
        raise EngineError(_obituary(module, process.wait(), log)) from None
    finally:
        process.kill()
        process.stdin.close()
        process.stdout.close()
        process.wait()


def _obituary(module: str, code: int, log: Path) -> str:
    how = f"was killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"
    lines = log.read_text(errors="replace").strip().splitlines()
    last = f": {lines[-1].strip()[:300]}" if lines else ""
    hint = " (out of memory?)" if code == -signal.SIGKILL else ""
    return f"the process of {module} {how}{hint}{last} (see {log}); what was finished is kept, the same command goes on"


def serve(main: Callable[[dict[str, Any], Emit], None]) -> None:
    """Do one job in a child process: read it, call `main(job, emit)`, report an error the user can fix.

    Standard output is taken for messages; what libraries print goes to standard error.
    """
    _die_with_parent()
    messages = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    job = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_exit_at_end_of_stdin, daemon=True).start()

    def emit(message: Mapping[str, object]) -> None:
        messages.write(json.dumps(message).encode() + b"\n")

    try:
        main(job, emit)
        emit({"done": True})
    except RgsupportError as error:
        emit({"error": type(error).__name__, "text": str(error)})


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def _exit_at_end_of_stdin() -> None:
    # The portable way, and the one that works when the parent died before prctl: its end of the pipe closes.
    # Read without Python's buffer, whose lock must be free when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(1)
