"""What this machine can sample with; nothing heavy is imported to find out."""

import os
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

from rgsupport.errors import UsageError

VISIBLE = "CUDA_VISIBLE_DEVICES"
"""Environment variable that hides GPUs."""
_QUERY = "index,name,memory.total,memory.free,driver_version"
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class Gpu:
    """One NVIDIA GPU.

    Attributes:
        index: As `nvidia-smi` counts.
        name: What it is.
        memory_total: Bytes; None where it shares the machine's memory or does not tell.
        memory_free: Bytes, likewise.
        driver: Version of the driver.
    """

    index: int
    name: str
    memory_total: int | None
    memory_free: int | None
    driver: str


def gpus() -> tuple[Gpu, ...]:
    """Return the GPUs that `nvidia-smi` lists and that are not hidden; none where there is no such program or it fails.

    A list of numbers in `CUDA_VISIBLE_DEVICES` hides the others; one of other identifiers hides none here.
    """
    program = shutil.which("nvidia-smi")
    if program is None:
        return ()
    try:
        told = subprocess.run(
            [program, f"--query-gpu={_QUERY}", "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=30,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return ()
    return visible(parse_gpus(told.stdout), os.environ.get(VISIBLE))


def parse_gpus(listing: str) -> tuple[Gpu, ...]:
    r"""Return the GPUs of a listing of `nvidia-smi`; lines that do not describe one are left out.

    >>> parse_gpus("0, NVIDIA H200, 143771, 143125, 570.86\n")[0].name
    'NVIDIA H200'
    """
    found: list[Gpu] = []
    for line in listing.splitlines():
        fields = [field.strip() for field in line.split(",")]
        if len(fields) == 5 and _is_number(fields[0]) and fields[1]:
            index, name, total, free, driver = fields
            found.append(Gpu(int(index), name, _bytes(total), _bytes(free), driver))
    return tuple(found)


def visible(found: Sequence[Gpu], setting: str | None) -> tuple[Gpu, ...]:
    """Return the GPUs that a value of `CUDA_VISIBLE_DEVICES` leaves, in the order of `nvidia-smi`."""
    if setting is None:
        return tuple(found)
    names = [name.strip() for name in setting.split(",") if name.strip()]
    if not names or names[0] == "-1":
        return ()
    if not all(map(_is_number, names)):  # UUIDs, or parts of a GPU
        return tuple(found)
    return tuple(gpu for gpu in found if str(gpu.index) in names)


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) < 10


def _bytes(mebibytes: str) -> int | None:
    """Return a number of MiB in bytes; None for `[N/A]` and the like."""
    return int(mebibytes) * _MIB if _is_number(mebibytes) else None


def has_module(name: str) -> bool:
    """Tell whether a top-level module is installed, without importing it."""
    return find_spec(name) is not None


def default_engine() -> str:
    """Return the engine that is taken where none is named."""
    return "vllm" if has_module("vllm") and gpus() else "hf"


def require_gpus(asked: tuple[int, ...]) -> None:
    """Refuse GPUs that are not there.

    Raises:
        UsageError: Names those that are.
    """
    if not asked:
        return
    there = [gpu.index for gpu in gpus()]
    hidden = f" ({VISIBLE}={os.environ[VISIBLE][:60]} hides others)" if VISIBLE in os.environ else ""
    if not there:
        msg = (
            f"--gpus {','.join(map(str, asked))}: this machine has no NVIDIA GPU{hidden}; leave --gpus out, or take "
            "--workers N for several processes on a CPU"
        )
        raise UsageError(msg)
    if missing := [index for index in asked if index not in there]:
        msg = f"--gpus {missing[0]}: this machine has the GPUs {', '.join(map(str, there))}{hidden}"
        raise UsageError(msg)
