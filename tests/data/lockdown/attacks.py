"""A task whose verifier attacks through the C library, with functions bound before anything was locked.

So no hook sees it. Its question is a JSON object with what to attack. A score of 1 means that the attack was refused, 0
that it went through.
"""

import ctypes
import json
import os
import resource
import signal
import struct
import sys
import threading
import time
from pathlib import Path

LIBC = ctypes.CDLL(None, use_errno=True)
O_CREATE = os.O_WRONLY | os.O_CREAT
NAMES = (
    *("fork", "vfork", "kill", "open", "socket", "execv", "ptrace", "setsid", "unlink", "rename", "symlink", "mkdir"),
    *("chmod", "malloc", "memfd_create", "unshare", "shmget", "tgkill", "sched_setaffinity", "truncate", "connect"),
    *("setrlimit", "capset", "signal", "gettid"),
)
C = {name: getattr(LIBC, name) for name in NAMES}
C["malloc"].restype = ctypes.c_void_p
C["malloc"].argtypes = (ctypes.c_size_t,)
SYSCALL = LIBC.syscall
MINE = os.getpid()
BUFFER = ctypes.create_string_buffer(128)


def refused(result):
    return float(result == -1)


def fork():
    child = C["fork"]()
    if child == 0:
        os._exit(0)
    return refused(child)


def bomb():
    for _ in range(1000):
        if C["fork"]() != -1:
            return 0.0
    return 1.0


def read(path):
    return refused(C["open"](str(path).encode(), os.O_RDONLY))


def write(path):
    return refused(C["open"](str(path).encode(), O_CREATE, 0o644))


LEFT_TO_READ, READ = [], []


@ctypes.CFUNCTYPE(None, ctypes.c_int)
def read_here(number):
    READ.append((C["gettid"](), read(LEFT_TO_READ[0])))


def execute():
    arguments = (ctypes.c_char_p * 2)(b"/bin/true", None)
    return refused(C["execv"](b"/bin/true", arguments))


def raise_limits():
    """Lift every limit, then ask for more memory than was allowed, and for a processor for ever."""
    unlimited = (ctypes.c_uint64 * 2)(2**64 - 1, 2**64 - 1)
    lifted = [C["setrlimit"](which, unlimited) == 0 for which in (resource.RLIMIT_AS, resource.RLIMIT_FSIZE)]
    return float(not any(lifted) and C["malloc"](64 << 30) is None)


def in_another_thread(path):
    """Read in the thread that watches the parent, which is not the one that scores: by a signal, handled there in C."""
    (other,) = [thread.native_id for thread in threading.enumerate() if thread is not threading.main_thread()]
    LEFT_TO_READ.append(path)
    C["signal"](signal.SIGUSR2, read_here)
    C["tgkill"](os.getpid(), other, signal.SIGUSR2)
    deadline = time.monotonic() + 4
    while not READ and time.monotonic() < deadline:
        time.sleep(0.01)
    return float(len(READ) == 1 and READ[0] == (other, 1.0))


ATTACKS = {
    "fork": lambda at: fork(),
    "fork bomb": lambda at: bomb(),
    "execute": lambda at: execute(),
    "signal the parent": lambda at: refused(C["kill"](os.getppid(), signal.SIGKILL)),
    "ask for the parent": lambda at: refused(C["kill"](os.getppid(), 0)),
    "signal a bystander": lambda at: refused(C["kill"](at["bystander"], signal.SIGKILL)),
    "signal everyone": lambda at: refused(C["kill"](-1, signal.SIGUSR1)),
    "signal a thread of the parent": lambda at: refused(C["tgkill"](os.getppid(), os.getppid(), signal.SIGKILL)),
    "trace the parent": lambda at: refused(C["ptrace"](16, os.getppid(), None, None)),
    "leave the group": lambda at: refused(C["setsid"]()),
    "leave the namespaces": lambda at: refused(C["unshare"](0x10000000)),
    "write here": lambda at: write("here"),
    "write to tmp": lambda at: write("/tmp/rgsupport-attack"),
    "write to memory": lambda at: write("/dev/shm/rgsupport-attack"),
    "write to the terminal": lambda at: write("/dev/tty"),
    "write beside the task": lambda at: write(Path(__file__).parent / "here.py"),
    "write at home": lambda at: write(Path(at["folder"]) / "here"),
    "remove": lambda at: refused(C["unlink"](at["secret"].encode())),
    "rename": lambda at: refused(C["rename"](at["secret"].encode(), at["secret"].encode() + b"2")),
    "link": lambda at: refused(C["symlink"](b"/bin/true", at["folder"].encode() + b"/link")),
    "make a folder": lambda at: refused(C["mkdir"](at["folder"].encode() + b"/new", 0o755)),
    "open up": lambda at: refused(C["chmod"](at["secret"].encode(), 0o777)),
    "cut": lambda at: refused(C["truncate"](at["secret"].encode(), 0)),
    "share memory": lambda at: refused(C["shmget"](42, 4096, 0o1666)),
    "a file in memory": lambda at: refused(C["memfd_create"](b"x", 0)),
    "slow down others": lambda at: refused(C["sched_setaffinity"](os.getppid(), 128, BUFFER)),
    "read a secret": lambda at: read(at["secret"]),
    "read accounts": lambda at: read("/etc/passwd"),
    "read the parent's environment": lambda at: read(f"/proc/{os.getppid()}/environ"),
    "read the parent's memory": lambda at: read(f"/proc/{os.getppid()}/mem"),
    "a socket": lambda at: refused(C["socket"](2, 1, 0)),
    "a unix socket": lambda at: refused(C["socket"](1, 1, 0)),
    "a packet socket": lambda at: refused(C["socket"](17, 3, 0)),
    "io_uring": lambda at: refused(SYSCALL(ctypes.c_long(425), 1, None)),
    "another set of numbers": lambda at: refused(SYSCALL(ctypes.c_long(0x40000000 + 39))),
    "much memory": lambda at: float(C["malloc"](64 << 30) is None),
    "no secret in the environment": lambda at: float("hunter2" not in os.environ.values()),
    "lift the limits": lambda at: raise_limits(),
    "take privileges": lambda at: refused(C["capset"](struct.pack("Ii", 0x20080522, 0), struct.pack("6I", *[32] * 6))),
    "read a secret in another thread": lambda at: in_another_thread(at["secret"]),
    "read what lies beside the task": lambda at: float("attack" in Path(__file__).read_text()),
    "leave at once": lambda at: os._exit(7),
    "kill itself": lambda at: C["kill"](MINE, signal.SIGKILL),
    "read what Python needs": lambda at: float(Path(os.__file__).read_text() != "" and bool(sys.path)),
    "right": lambda at: 1.0,
    "wrong": lambda at: 0.0,
}


class Attacks:
    name = "attacks"

    def problems(self, *, count, seed):
        return ()

    def score(self, problem, answer):
        return ATTACKS[answer](json.loads(problem.question))


TASKS = (Attacks(),)
