"""What a worker gives up: memory, files, processor time, and, while it scores an answer, everything outside itself."""

import _thread
import ctypes
import math
import os
import resource
import select
import signal
import struct
import sys
import threading
import time

_PR_SET_PDEATHSIG = 1
_CAPABILITY_VERSION = 0x20080522
_CAP_DAC_READ_SEARCH = 2

# Audit events (https://docs.python.org/3/library/audit_events.html) of what an answer has no business with.
_REFUSED = ("os.", "subprocess.", "socket.", "ctypes.", "signal.", "resource.", "fcntl.", "pty.")
# Importing a module lists directories.
_HARMLESS = frozenset({"os.listdir", "os.scandir", "os.walk", "os.fwalk", "os.getxattr", "os.listxattr"})
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND


def die_with_parent(parent: int) -> None:
    """End this process when its parent does, however that ends; on Linux only.

    Args:
        parent: Process id of the parent.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:  # it died before the line above
            os._exit(1)


def exit_at_hangup(pipe: int) -> None:
    """End this process when nobody holds the other end of the pipe any more; by a thread that sleeps until then."""
    threading.Thread(target=_exit_at_hangup, args=(pipe,), daemon=True).start()


def _exit_at_hangup(pipe: int) -> None:
    # With no events asked for, poll returns only when the other end is closed.
    poll = select.poll()
    poll.register(pipe, 0)
    poll.poll()
    os._exit(1)


def limit_process(*, memory: int) -> None:
    """Give up writing files, core dumps, and memory beyond `memory` bytes of address space."""
    _lower(resource.RLIMIT_FSIZE, 0)
    _lower(resource.RLIMIT_CORE, 0)
    if sys.platform == "linux":  # elsewhere the address space cannot be limited
        _lower(resource.RLIMIT_AS, memory)


def drop_privileges() -> None:
    """Give up what root may and others may not, but for reading files; without it root could raise its own limits."""
    if sys.platform == "linux":
        header = struct.pack("Ii", _CAPABILITY_VERSION, 0)
        libc = ctypes.CDLL(None)
        _, permitted, *_ = _capabilities(libc, header)
        kept = permitted & 1 << _CAP_DAC_READ_SEARCH  # Python may lie in a folder of its owner's alone
        libc.capset(header, struct.pack("6I", kept, kept, 0, 0, 0, 0))


def _capabilities(libc: ctypes.CDLL, header: bytes) -> tuple[int, ...]:
    """Return the lower and the upper half of what this thread may: effective, permitted, inheritable of each."""
    buffer = ctypes.create_string_buffer(24)
    libc.capget(header, buffer)
    return struct.unpack("6I", buffer.raw)


def _lower(which: int, value: int) -> None:
    _, hard = resource.getrlimit(which)
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(which, (value, value))


def limit_processor_time(seconds: float) -> None:
    """Have this process killed after that much more processor time: for when the parent cannot, being stopped."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    wanted = math.ceil(time.process_time() + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (wanted if hard == resource.RLIM_INFINITY else min(wanted, hard), hard))


class Guard:
    """Refuses, while armed, what reaches outside the process; installed once and for good."""

    def __init__(self) -> None:
        self._armed = False
        self._refused = ""
        self._threads = 0
        sys.addaudithook(self._audit)

    def arm(self) -> None:
        """Refuse from now on."""
        self._refused = ""
        self._threads = _thread_count()
        self._armed = True

    def disarm(self) -> str:
        """Refuse no more; return what was refused first since `arm`, empty if nothing was.

        It is told here because code may have swallowed the exception. A thread that was left running counts, too.
        """
        self._armed = False
        return self._refused or ("a thread left running" if _thread_count() > self._threads else "")

    def _audit(self, event: str, args: tuple[object, ...]) -> None:
        if not self._armed or not _reaches_out(event, args):
            return
        self._refused = self._refused or event
        msg = f"a verifier may not do this: {event}"
        raise PermissionError(msg)


def _thread_count() -> int:
    # Unlike threading.active_count, it counts the threads that bypass the module of that name.
    return _thread._count()  # pyright: ignore[reportPrivateUsage]


def _reaches_out(event: str, args: tuple[object, ...]) -> bool:
    if event == "open":
        flags = args[2]
        return isinstance(flags, int) and bool(flags & _WRITING)
    return event.startswith(_REFUSED) and event not in _HARMLESS
