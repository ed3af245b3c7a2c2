"""A task whose verifier does what the answer says: everything a verifier should not do, and a few things it may."""

# ruff: noqa: BLE001, EM101, N818, PTH116, PTH208, SIM105, T201, TRY003

import os
import resource
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

from rgsupport.jail._wire import Kind, Record, encode_record


class Unprintable(Exception):
    def __str__(self):
        raise SystemExit("not me")


def hang():
    while True:
        pass


def recurse():
    return recurse() + 1


def chatter():
    for _ in range(1000):
        print("x" * 10_000)
        print("x" * 10_000, file=sys.stderr)
        os.write(1, b"x" * 10_000)
        os.write(2, b"x" * 10_000)
    return 1.0


def raise_(error):
    raise error


def pipes():
    """Return the descriptors of open pipes."""
    found = []
    for name in range(3, 1024):
        try:
            if stat.S_ISFIFO(os.fstat(name).st_mode):
                found.append(name)
        except OSError:
            pass
    return found


def babble(data):
    for descriptor in pipes():
        try:
            os.write(descriptor, data)
        except OSError:
            pass
    return 0.0


def forge():
    frame = sys._getframe()
    while "position" not in frame.f_locals:
        frame = frame.f_back
    return babble(encode_record(Record(Kind.SCORED, frame.f_locals["position"], 0.5)))


def close_pipes():
    for descriptor in pipes():
        os.close(descriptor)
    return 0.0


def swallow(action):
    try:
        action()
    except BaseException:
        pass
    return 1.0


def only_these_descriptors():
    # Besides the standard ones: the two pipes.
    return float(len(open_descriptors()) <= 5)


def open_descriptors():
    found = []
    for name in range(1024):
        try:
            os.fstat(name)
            found.append(name)
        except OSError:
            pass
    return found


ACTIONS = {
    "hang": hang,
    "sleep": lambda: time.sleep(1000),
    "raise": lambda: raise_(KeyError("no such colour")),
    "unprintable": lambda: raise_(Unprintable()),
    "exit": sys.exit,
    "interrupt": lambda: raise_(KeyboardInterrupt()),
    "exit at once": lambda: os._exit(7),
    "abort": os.abort,
    "memory": lambda: bytearray(64 << 30),
    "recursion": recurse,
    "chatter": chatter,
    "nan": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "text": lambda: "1.0",
    "nothing": lambda: None,
    "true": lambda: True,
    "almost": lambda: 1 - 1e-6,
    "rounded": lambda: 1 - 1e-12,
    "babble": lambda: babble(b"\xff" * 100),
    "flood": lambda: babble(b"\x02" * 10_000_000),
    "forge": forge,
    "close pipes": close_pipes,
    "write": lambda: swallow(lambda: Path("here").write_text("x")),
    "touch": lambda: swallow(lambda: os.system("touch here")),
    "remove": lambda: swallow(lambda: Path(__file__).unlink()),
    "kill parent": lambda: swallow(lambda: os.kill(os.getppid(), signal.SIGKILL)),
    "process": lambda: swallow(lambda: subprocess.run(["true"])),
    "fork": lambda: swallow(os.fork),
    "thread": lambda: swallow(threading.Thread(target=hang).start),
    "joined thread": lambda: swallow(lambda: [thread.start() or thread.join() for thread in [threading.Thread()]]),
    "network": lambda: swallow(lambda: socket.create_connection(("127.0.0.1", 9))),
    "raise limits": lambda: swallow(lambda: resource.setrlimit(resource.RLIMIT_CPU, (1000, 1000))),
    "no secrets": lambda: float("RGSUPPORT_TEST_SECRET" not in os.environ),
    "no input": lambda: float(sys.stdin.read() == ""),
    "empty directory": lambda: float(os.listdir() == [] and not os.stat(".").st_mode & 0o222),
    "own session": lambda: float(os.getsid(0) == os.getpid() == os.getpgid(0)),
    "fixed hashes": lambda: float(not sys.flags.hash_randomization),
    "few descriptors": only_these_descriptors,
    "right": lambda: 1,
    "wrong": lambda: 0,
    "\0": lambda: 1.0,
    "\ud800": lambda: 1.0,
}

NORMALISERS = {
    "same": lambda text: text,
    "other": lambda text: "right",
    "hang": lambda text: hang(),
    "raise": lambda text: raise_(ValueError("unreadable")),
    "number": lambda text: 5,
    "endless": lambda text: "x" * 20_000,
    "surrogate": lambda text: "\ud800",
}


CHECKS = {
    "right": lambda: True,
    "wrong": lambda: False,
    "number": lambda: 1,
    "hang": hang,
    "kill": lambda: os._exit(7),
    "files": lambda: swallow(lambda: Path("here").write_text("x")),
}


class Misbehaving:
    name = "misbehaving"
    has_checker = True

    def problems(self, *, count, seed):
        return ()

    def normalise(self, answer):
        return NORMALISERS[answer.removeprefix("normalise: ")](answer)

    def score(self, problem, answer):
        return ACTIONS[answer.removeprefix("score: ")]()

    def check(self, problem, answer):
        return CHECKS[answer]()

    def doubt(self, problem):
        doubts = {"fine": "", "doubted": "wrong reference:\nit is not so", "number": 5}
        return doubts[problem.question]


TASKS = (Misbehaving(),)
