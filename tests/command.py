"""Run the real command in a real process."""

import os
import subprocess
import sys
from pathlib import Path

RGSUPPORT = str(Path(sys.executable).with_name("rgsupport"))


def environment(**more):
    """Return the variables a command runs with: no colours, one thread, so that many tests fit on a small machine."""
    return {**os.environ, "NO_COLOR": "1", "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1", **more}


def rgsupport(*arguments, cwd, **more):
    """Run `rgsupport` to its end and return what it printed."""
    command = [RGSUPPORT, *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env=environment(**more), capture_output=True, text=True, timeout=900, check=False
    )


def done(*arguments, cwd, **more):
    """Run `rgsupport`, which must succeed, and return its standard output."""
    result = rgsupport(*arguments, cwd=cwd, **more)
    assert result.returncode == 0, result.stderr
    return result.stdout


def refusal(*arguments, cwd, code, **more):
    """Run `rgsupport`, which must fail with this exit code and one line, and return the line."""
    result = rgsupport(*arguments, cwd=cwd, **more)
    assert result.returncode == code, result.stdout + result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("rgsupport: ")
    return lines[0]
