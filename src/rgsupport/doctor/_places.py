"""Looks at where the run would lie."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from rgsupport.doctor._check import Check, note, ok, problem, size

_TOO_LITTLE = 1e9
_LITTLE = 20e9
_ELSEWHERE = "choose another folder with --out"


def check_disk(out: Path) -> Iterator[Check]:
    """Look how much room there is for a run."""
    there = nearest_existing(out)
    free = shutil.disk_usage(there).free
    found = f"{size(free)} free at {there}"
    remedy = f"free some, or {_ELSEWHERE}; `rgsupport run --plan` says how much a run takes"
    if free < _TOO_LITTLE:
        yield problem("disk", found, remedy=remedy)
    elif free < _LITTLE:
        yield note("disk", found, remedy=remedy)
    else:
        yield ok("disk", found)


def check_folder(out: Path) -> Iterator[Check]:
    """Try what a run does to its files: write, sync, lock, link; what is tried leaves nothing behind."""
    topic = "run folder"
    there = nearest_existing(out)
    if not there.is_dir():
        yield problem(topic, f"{there} is a file, so {out} cannot be made", remedy=_ELSEWHERE)
        return
    step, can_link = "write", True
    try:
        with tempfile.TemporaryDirectory(prefix=".rgsupport-doctor-", dir=there) as name:
            path = Path(name) / "file"
            with path.open("wb") as file:
                file.write(b"rgsupport")
                file.flush()
                os.fsync(file.fileno())
                step = "lock a file"
                fcntl.flock(file.fileno(), fcntl.LOCK_EX | fcntl.LOCK_NB)
            try:
                os.link(path, Path(name) / "link")
            except OSError:
                can_link = False
    except OSError as error:
        remedy = f"mend that (its owner and mode: ls -ld {there}), or {_ELSEWHERE}"
        yield problem(topic, f"cannot {step} in {there}: {error.strerror or error}", remedy=remedy)
        return
    if can_link:
        yield ok(topic, f"files can be written, locked and linked in {there}")
    else:
        remedy = f"nothing, as long as one command at a time works on a run; else {_ELSEWHERE}, on a local disk"
        yield note(topic, f"the file system of {there} has no hard links", remedy=remedy)


def nearest_existing(path: Path) -> Path:
    """Return the path itself if it exists, else the nearest folder above it that does."""
    absolute = path.absolute()
    return next((place for place in (absolute, *absolute.parents) if place.exists()), Path(absolute.anchor))
