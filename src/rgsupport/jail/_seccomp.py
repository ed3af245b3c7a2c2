"""Seccomp: a filter in the kernel that refuses system calls which no verifier needs, whoever makes them.

See https://docs.kernel.org/userspace-api/seccomp_filter.html. The filter names what is refused and lets the rest pass:
what Python and its libraries call in harmless ways differs by version. Refused are processes and threads, signals to
others, sockets, changes of files, memory shared with others, and the kernel's own controls.
"""

import ctypes
import errno
import os
import platform
import struct
import sys

_PR_SET_NO_NEW_PRIVS = 38
_SET_MODE_FILTER, _TSYNC = 1, 1
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06  # classic BPF: ld [k], jeq k, jge k, ret k
_NUMBER_AT, _ARCHITECTURE_AT, _FIRST_AT = 0, 4, 16  # offsets in struct seccomp_data; the first argument has 64 bits

# Calls with the same number everywhere.
_COMMON = {
    "pidfd_send_signal": 424, "io_uring_setup": 425, "io_uring_enter": 426, "io_uring_register": 427, "open_tree": 428,
    "move_mount": 429, "fsopen": 430, "fsconfig": 431, "fsmount": 432, "fspick": 433, "pidfd_open": 434,
    "pidfd_getfd": 438, "process_madvise": 440, "mount_setattr": 442, "memfd_secret": 447, "fchmodat2": 452,
}  # fmt: skip
_X86_64 = {
    "shmget": 29, "shmat": 30, "shmctl": 31, "socket": 41, "connect": 42, "accept": 43, "bind": 49, "listen": 50,
    "socketpair": 53, "clone": 56, "fork": 57, "vfork": 58, "execve": 59, "semget": 64, "semop": 65, "semctl": 66,
    "msgget": 68, "msgsnd": 69, "msgrcv": 70, "msgctl": 71, "truncate": 76, "rename": 82, "mkdir": 83, "rmdir": 84,
    "creat": 85, "link": 86, "unlink": 87, "symlink": 88, "chmod": 90, "fchmod": 91, "chown": 92, "fchown": 93,
    "lchown": 94, "ptrace": 101, "syslog": 103, "setpgid": 109, "setsid": 112, "rt_sigqueueinfo": 129, "utime": 132,
    "mknod": 133, "personality": 135, "setpriority": 141, "sched_setparam": 142, "sched_setscheduler": 144,
    "pivot_root": 155, "adjtimex": 159, "chroot": 161, "acct": 163, "settimeofday": 164, "mount": 165, "umount2": 166,
    "swapon": 167, "reboot": 169, "iopl": 172, "ioperm": 173, "init_module": 175, "delete_module": 176,
    "quotactl": 179, "setxattr": 188, "lsetxattr": 189, "fsetxattr": 190, "removexattr": 197, "lremovexattr": 198,
    "fremovexattr": 199, "tkill": 200, "sched_setaffinity": 203, "semtimedop": 220, "clock_settime": 227,
    "utimes": 235, "mq_open": 240, "kexec_load": 246, "add_key": 248, "request_key": 249, "keyctl": 250,
    "ioprio_set": 251, "mkdirat": 258, "mknodat": 259, "fchownat": 260, "futimesat": 261, "unlinkat": 263,
    "renameat": 264, "linkat": 265, "symlinkat": 266, "fchmodat": 268, "unshare": 272, "utimensat": 280,
    "accept4": 288, "rt_tgsigqueueinfo": 297, "perf_event_open": 298, "clock_adjtime": 305, "setns": 308,
    "process_vm_readv": 310, "process_vm_writev": 311, "kcmp": 312, "finit_module": 313, "sched_setattr": 314,
    "renameat2": 316, "memfd_create": 319, "bpf": 321, "execveat": 322, "userfaultfd": 323,
}  # fmt: skip
_AARCH64 = {
    "setxattr": 5, "lsetxattr": 6, "fsetxattr": 7, "removexattr": 14, "lremovexattr": 15, "fremovexattr": 16,
    "ioprio_set": 30, "mknodat": 33, "mkdirat": 34, "unlinkat": 35, "symlinkat": 36, "linkat": 37, "renameat": 38,
    "umount2": 39, "mount": 40, "pivot_root": 41, "truncate": 45, "chroot": 51, "fchmod": 52, "fchmodat": 53,
    "fchownat": 54, "fchown": 55, "quotactl": 60, "utimensat": 88, "acct": 89, "personality": 92, "unshare": 97,
    "kexec_load": 104, "init_module": 105, "delete_module": 106, "clock_settime": 112, "syslog": 116, "ptrace": 117,
    "sched_setparam": 118, "sched_setscheduler": 119, "sched_setaffinity": 122, "tkill": 130, "rt_sigqueueinfo": 138,
    "setpriority": 140, "reboot": 142, "setpgid": 154, "setsid": 157, "settimeofday": 170, "adjtimex": 171,
    "mq_open": 180, "msgget": 186, "msgctl": 187, "msgrcv": 188, "msgsnd": 189, "semget": 190, "semctl": 191,
    "semtimedop": 192, "semop": 193, "shmget": 194, "shmctl": 195, "shmat": 196, "socket": 198, "socketpair": 199,
    "bind": 200, "listen": 201, "accept": 202, "connect": 203, "add_key": 217, "request_key": 218, "keyctl": 219,
    "clone": 220, "execve": 221, "swapon": 224, "rt_tgsigqueueinfo": 240, "perf_event_open": 241, "accept4": 242,
    "clock_adjtime": 266, "setns": 268, "process_vm_readv": 270, "process_vm_writev": 271, "kcmp": 272,
    "finit_module": 273, "sched_setattr": 274, "renameat2": 276, "memfd_create": 279, "bpf": 280, "execveat": 281,
    "userfaultfd": 282,
}  # fmt: skip
# Of each architecture: what the kernel calls it, its refused calls, seccomp, clone3, prlimit64, kill and tgkill.
_ARCHITECTURES = {
    "x86_64": (0xC000003E, _X86_64, 317, 435, 302, (62, 234)),
    "aarch64": (0xC00000B7, _AARCH64, 277, 435, 261, (129, 131)),
}
_X32 = 0x40000000


def refuse_calls() -> bool:
    """Have the kernel refuse the calls from now on, in every thread of this process; tell whether it does."""
    architecture = _ARCHITECTURES.get(platform.machine())
    if not sys.platform.startswith("linux") or architecture is None or struct.calcsize("P") != 8:
        return False
    program = b"".join(_filter(platform.machine()))
    buffer = ctypes.create_string_buffer(program, len(program))
    described = struct.pack("HxxxxxxP", len(program) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    return libc.syscall(ctypes.c_long(architecture[2]), _SET_MODE_FILTER, _TSYNC, described) == 0


def _filter(machine: str) -> list[bytes]:
    """Return the instructions of the filter."""
    audit, refused, _, clone3, prlimit, kills = _ARCHITECTURES[machine]
    refusal = _ERRNO | errno.EPERM
    program = [
        _do(_LOAD, _ARCHITECTURE_AT),
        _do(_EQUAL, audit, if_so=1),
        _do(_RETURN, _KILL_PROCESS),
        _do(_LOAD, _NUMBER_AT),
    ]
    if machine == "x86_64":  # a second set of numbers for the same calls
        program += [_do(_AT_LEAST, _X32, if_not=1), _do(_RETURN, _KILL_PROCESS)]
    # Without clone3 the C library falls back to clone, which is refused with a plain error.
    program += [_do(_EQUAL, clone3, if_not=1), _do(_RETURN, _ERRNO | errno.ENOSYS)]
    # Limits and signals may be set for and sent to oneself: the worker lowers its limits, abort() raises a signal.
    for number, oneself in ((prlimit, 0), *((kill, os.getpid()) for kill in kills)):
        program += [
            _do(_EQUAL, number, if_not=4),
            _do(_LOAD, _FIRST_AT),
            _do(_EQUAL, oneself, if_not=1),
            _do(_RETURN, _ALLOW),
            _do(_RETURN, refusal),
        ]
    for number in sorted({*refused.values(), *_COMMON.values()}):
        program += [_do(_EQUAL, number, if_not=1), _do(_RETURN, refusal)]
    return [*program, _do(_RETURN, _ALLOW)]


def _do(code: int, value: int, *, if_so: int = 0, if_not: int = 0) -> bytes:
    """Return one instruction: struct sock_filter."""
    return struct.pack("HBBI", code, if_so, if_not, value)
