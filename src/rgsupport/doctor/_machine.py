"""Looks at the machine: packages, GPUs, memory."""

import json
import os
import platform
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from rgsupport.doctor._check import Check, note, ok, problem, refusal, size
from rgsupport.engines import Engine
from rgsupport.errors import UsageError
from rgsupport.hardware import VISIBLE, Gpu, gpus, has_module, require_gpus

_SHOWN = ("torch", "transformers", "polars", "reasoning-gym")
_REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)\s*>=\s*(?P<version>[\d.]+)")
_BUSY = 0.5  # a GPU of which less is free is in somebody's use
_LITTLE_MEMORY = 4e9
_PROBE = (
    "import json, torch; print(json.dumps([torch.__version__, torch.version.cuda or torch.version.hip, "
    "torch.cuda.device_count() if torch.cuda.is_available() else 0]))"
)


def check_packages() -> Iterator[Check]:
    """Look at the versions of Python and of the packages we need."""
    yield ok("python", platform.python_version())
    yield ok("rgsupport", metadata.version("rgsupport"))
    for requirement in metadata.requires("rgsupport") or []:
        match = _REQUIREMENT.match(requirement)
        if match is not None and "extra ==" not in requirement:
            check = _check_package(match["name"], at_least=match["version"])
            if match["name"] in _SHOWN or check.remedy:
                yield check


def _check_package(name: str, *, at_least: str) -> Check:
    install = f"pip install --upgrade '{name}>={at_least}'"
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return problem(name, "not installed", remedy=install)
    if release(version) < release(at_least):
        return problem(name, f"{version} is too old: rgsupport needs {at_least} or newer", remedy=install)
    return ok(name, version)


def release(version: str) -> tuple[int, ...]:
    """Return the numbers of a version, without what marks a build or a candidate.

    >>> release("2.13.0+cpu"), release("5.0.0rc1")
    ((2, 13, 0), (5, 0, 0))
    """
    match = re.match(r"\d+(\.\d+)*", version)
    return tuple(int(number) for number in match[0].split(".")) if match else ()


def check_vllm(engine: Engine) -> Iterator[Check]:
    """Look whether vLLM is there, if it is of use."""
    if has_module("vllm"):
        names = metadata.packages_distributions().get("vllm", [])
        versions = [
            f"{metadata.version(name)}{'' if name == 'vllm' else f' ({name})'}" for name in dict.fromkeys(names)
        ]
        yield ok("vllm", ", ".join(versions) or "installed")
    elif engine.name == "vllm":
        remedy = "pip install vllm, in this environment; or take --engine hf"
        yield problem("vllm", "not installed, but --engine vllm needs it", remedy=remedy)
    elif gpus() and engine.name == "hf":
        remedy = "pip install vllm, in this environment: it keeps a GPU far busier than the hf engine"
        yield note("vllm", "not installed", remedy=remedy)
    else:
        yield ok("vllm", "not installed, not needed here")


def check_gpus(engine: Engine) -> Iterator[Check]:
    """Look at the GPUs, as `nvidia-smi` tells of them."""
    there = gpus()
    yield from judge_gpus(there, hidden_by=os.environ.get(VISIBLE), needed=engine.name != "openai")
    try:
        require_gpus(engine.gpus)
    except UsageError as error:
        yield refusal("--gpus", error, otherwise="name some of those")


def judge_gpus(there: Sequence[Gpu], *, hidden_by: str | None, needed: bool) -> Iterator[Check]:
    """Say what GPUs mean for a run.

    Args:
        there: Those that can be used.
        hidden_by: Value of `CUDA_VISIBLE_DEVICES`.
        needed: Whether the models run on this machine.
    """
    if not there and not needed:
        yield ok("GPUs", "none, and a server's models need none here")
    elif not there and hidden_by is not None:
        remedy = f"if there are GPUs and you want them: unset {VISIBLE}"
        yield note("GPUs", f"none is visible with {VISIBLE}={hidden_by[:60]!r}: models run on the CPU", remedy=remedy)
    elif not there:
        remedy = "for models of a billion parameters take a machine on which the command nvidia-smi lists a GPU"
        yield note("GPUs", "nvidia-smi finds none: models run on the CPU, which is for small ones", remedy=remedy)
    for gpu in there:
        topic = f"GPU {gpu.index}"
        if gpu.memory_free is None or gpu.memory_total is None:
            yield ok(topic, f"{gpu.name}, memory not told, driver {gpu.driver}")
            continue
        found = f"{gpu.name}, {size(gpu.memory_free)} of {size(gpu.memory_total)} free, driver {gpu.driver}"
        if gpu.memory_free < _BUSY * gpu.memory_total:
            remedy = "the command nvidia-smi lists who uses it: end that, or name other GPUs with --gpus"
            yield note(topic, found, remedy=remedy)
        else:
            yield ok(topic, found)


@dataclass(frozen=True, slots=True)
class TorchBuild:
    """What torch tells of itself.

    Attributes:
        version: Its version.
        platform: Version of CUDA or ROCm it was built for; None if for neither.
        devices: GPUs that it can use.
    """

    version: str
    platform: str | None
    devices: int


def check_torch(engine: Engine) -> Iterator[Check]:
    """Look whether torch works and sees the GPUs; in a process of its own, which a broken driver may take down."""
    told = subprocess.run([sys.executable, "-c", _PROBE], capture_output=True, text=True, timeout=300, check=False)
    lines = told.stdout.strip().splitlines()
    if told.returncode or not lines:
        last = (told.stderr.strip().splitlines() or [f"exit code {told.returncode}"])[-1]
        yield problem("torch", f"it cannot be imported: {last[:300]}", remedy="pip install --force-reinstall torch")
    else:
        yield judge_torch(TorchBuild(*json.loads(lines[-1])), n_gpus=len(gpus()), needed=engine.name != "openai")


def judge_torch(torch: TorchBuild, *, n_gpus: int, needed: bool) -> Check:
    """Say whether torch sees the GPUs that are there."""
    topic = "torch and GPUs"
    if torch.devices >= n_gpus or not needed:
        return ok(
            topic, f"torch sees {torch.devices} of {n_gpus} GPUs" if n_gpus else "none of either: the CPU is used"
        )
    if torch.platform is None:
        remedy = (
            "pip uninstall -y torch && pip install torch (on Linux that is a build for NVIDIA GPUs; others are at "
            "https://pytorch.org/get-started/locally), or pip install vllm, which brings its own"
        )
        return problem(
            topic,
            f"torch {torch.version} was built without CUDA, so it cannot use the {n_gpus} GPUs here",
            remedy=remedy,
        )
    remedy = (
        "update the driver, or install a torch that was built for an older CUDA: "
        "https://pytorch.org/get-started/previous-versions"
    )
    found = f"torch {torch.version}, built for CUDA {torch.platform}, sees {torch.devices} of {n_gpus} GPUs"
    return problem(topic, f"{found}: the driver may be too old for it", remedy=remedy)


def check_engine(engine: Engine) -> Iterator[Check]:
    """Say which engine `run` takes, and where."""
    where = "the CPU"
    if engine.name == "openai":
        where = " and ".join(engine.servers)
    elif engine.gpus:
        where = f"GPUs {', '.join(map(str, engine.gpus))}"
    elif engine.device is not None:
        where = engine.device
    elif there := gpus():
        where = f"GPU {there[0].index}"
        if len(there) > 1:
            remedy = f"--gpus {','.join(str(gpu.index) for gpu in there)} uses all {len(there)}, a process on each"
            yield note("engine", f"{engine.name} on {where} alone", remedy=remedy)
            return
    yield ok("engine", f"{engine.name} on {where}")


def check_memory() -> Iterator[Check]:
    """Look at the machine's memory and processors."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    free = available_memory()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    found = f"{size(free)} of {size(total)} free, {cores} CPU cores"
    if free < _LITTLE_MEMORY:
        yield note("memory", found, remedy="end what you do not need, or take a machine with more")
    else:
        yield ok("memory", found)


def available_memory() -> int:
    """Return the bytes of memory that processes can still take; all there is where the system does not tell."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) << 10
    except (OSError, ValueError):
        pass
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
