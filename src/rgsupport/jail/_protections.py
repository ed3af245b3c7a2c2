"""What locks a worker down on this machine: applied by every worker, and told to whoever asks before a run."""

import json
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from rgsupport.jail._landlock import restrict
from rgsupport.jail._lockdown import drop_privileges, exit_at_hangup, limit_process
from rgsupport.jail._seccomp import refuse_calls

# What the loader, time zones and random numbers need, wherever Python itself lies.
_SYSTEM = (
    *("/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/etc/ld.so.cache", "/etc/localtime"),
    *("/usr/share/zoneinfo", "/dev/null", "/dev/zero", "/dev/random", "/dev/urandom"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Protections:
    """What the kernel enforces on a worker, beside killing it with its process group, and Python's own hooks."""

    landlock: int | None
    """Version of Landlock: no file is written, only Python's are read; from 4 no TCP, from 6 no signals to others."""
    seccomp: bool
    """No processes, threads, sockets, and changes of files, by whatever code."""
    address_space: bool
    """Memory is limited."""


def lock_down(*, pipe: int | None = None, folder: Path | None = None) -> Protections:
    """Give up, for good, what scoring needs not; what this machine cannot enforce is passed over and told.

    Threads and processes cannot be started after it, and files outside Python, the loaded modules and the folder not be
    read.

    Args:
        pipe: The process ends when nobody holds the other end of it any more.
        folder: A further folder to read: a task may keep its data beside its file.
    """
    drop_privileges()
    landlock = restrict([*_readable(), *([] if folder is None else [folder])])
    if pipe is not None:
        # Landlock binds a thread and those it starts, so this one is started after it; seccomp refuses to start any.
        exit_at_hangup(pipe)
    return Protections(landlock=landlock, seccomp=refuse_calls(), address_space=sys.platform.startswith("linux"))


def protections() -> Protections:
    """Return what locks the workers down on this machine, found out by doing it in a process that ends."""
    command = [sys.executable, "-P", "-W", "ignore", "-m", "rgsupport.jail._protections"]
    told = subprocess.run(command, capture_output=True, check=True, text=True).stdout
    return Protections(**json.loads(told))


def _readable() -> Iterator[Path]:
    """Yield what is read while answers are scored: Python, its packages, and the modules that are loaded."""
    yield Path.cwd()  # a worker's is empty
    yield from map(Path, _SYSTEM)
    yield from (Path(sysconfig.get_path(name)) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    yield from (Path(entry) for entry in sys.path if Path(entry).name in ("site-packages", "dist-packages"))
    for name, module in list(sys.modules.items()):
        if "." not in name:
            # A namespace package has a path and no file, and a package in a folder of scripts must not open the folder.
            places = list(getattr(module, "__path__", ())) or [getattr(module, "__file__", None)]
            yield from (Path(place) for place in places if isinstance(place, str))


if __name__ == "__main__":
    limit_process(memory=4 << 30)
    print(json.dumps(asdict(lock_down())), flush=True)  # noqa: T201 - it is read by `protections`
