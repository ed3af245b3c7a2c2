"""A look at what locks the processes down that score answers."""

import platform
import sys
from collections.abc import Iterator

from rgsupport.doctor._check import Check, note, ok
from rgsupport.jail import Protections, protections

_ALWAYS = "killed with all they start at a time limit, no secrets in their environment"


def check_jail() -> Iterator[Check]:
    """Look at what the kernel enforces on workers that score answers."""
    yield from describe(protections())


def describe(found: Protections) -> Iterator[Check]:
    """Yield what these protections mean for a run."""
    topic = "jail"
    if lacks := list(_lacks(found)):
        yield note(
            topic,
            f"workers that score answers are {_ALWAYS}; not enforced by the kernel here: {', '.join(lacks)}",
            remedy="score on Linux 6.12 or newer, outside a container that forbids Landlock and seccomp, "
            "if you do not trust what the models write",
        )
    else:
        yield ok(topic, f"locked down by Landlock {found.landlock} and seccomp; {_ALWAYS}")


def _lacks(found: Protections) -> Iterator[str]:
    """Yield in words what is not enforced."""
    if found.landlock is None:
        yield "which files are read and written"
    elif found.landlock < 6:  # the first that keeps signals in; seccomp does so, too
        yield f"some of Landlock (version {found.landlock} of 6)"
    if not found.seccomp:
        yield f"no processes and no network (no filter for {sys.platform} on {platform.machine()})"
    if not found.address_space:
        yield "a memory limit"
