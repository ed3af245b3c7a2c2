"""Landlock: the kernel's means for a process without privileges to give up files, the network and signals for good.

See https://docs.kernel.org/userspace-api/landlock.html. Called through ctypes: three system calls with the same numbers
on every architecture, and no library to depend on.
"""

import ctypes
import os
import sys
from collections.abc import Iterable
from pathlib import Path

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_VERSION = 1 << 0
_PATH_BENEATH = 1
_PR_SET_NO_NEW_PRIVS = 38

_READ_FILE, _READ_DIR = 1 << 2, 1 << 3
# All rights over files that an ABI knows: from 1 to 5 some were added each time but once.
_FILE_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1, 5: (1 << 16) - 1}
_NETWORK = (1 << 0) | (1 << 1)  # from ABI 4: TCP bind, TCP connect
_SCOPES = (1 << 0) | (1 << 1)  # from ABI 6: abstract sockets and signals reach nobody outside


class _Ruleset(ctypes.Structure):
    _fields_ = (("files", ctypes.c_uint64), ("network", ctypes.c_uint64), ("scopes", ctypes.c_uint64))


class _PathBeneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"  # what a packed structure has; newer Pythons want it said
    _fields_ = (("allowed", ctypes.c_uint64), ("parent", ctypes.c_int32))


def landlock_abi() -> int | None:
    """Return the version of Landlock that the kernel offers; None if it offers none."""
    if not sys.platform.startswith("linux"):
        return None
    abi = _call(_CREATE_RULESET, None, 0, _VERSION)
    return abi if abi >= 1 else None


def restrict(readable: Iterable[Path]) -> int | None:
    """Give up all files but for reading the given ones, TCP, and signals and abstract sockets to other processes.

    What is open stays open. It holds for this thread and all that it starts, for good.

    Args:
        readable: Files, and folders with everything below them; those that do not exist are passed over.

    Returns:
        The version of Landlock that enforces it; None if nothing does.
    """
    abi = landlock_abi()
    if abi is None:
        return None
    rights = _FILE_RIGHTS[min(abi, max(_FILE_RIGHTS))]
    wanted = _Ruleset(rights, _NETWORK if abi >= 4 else 0, _SCOPES if abi >= 6 else 0)
    size = 8 if abi < 4 else 16 if abi < 6 else 24  # an older kernel takes a shorter structure
    ruleset = _call(_CREATE_RULESET, ctypes.byref(wanted), size, 0)
    if ruleset < 0:
        return None
    try:
        for path in readable:
            _allow_reading(ruleset, path)
        _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        return abi if _call(_RESTRICT_SELF, ruleset, 0) == 0 else None
    finally:
        os.close(ruleset)


def _allow_reading(ruleset: int, path: Path) -> None:
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:  # it is not there, or may not be read anyway
        return
    try:
        rights = _READ_FILE | _READ_DIR if path.is_dir() else _READ_FILE
        rule = _PathBeneath(rights, handle)
        _call(_ADD_RULE, ruleset, _PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(handle)


def _call(number: int, *arguments: object) -> int:
    return _libc().syscall(ctypes.c_long(number), *arguments)


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
