# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
"""Which model a name means, and which weights exactly: a folder, a hub name with `@revision`, or the miniature pair."""

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from rgsupport.errors import EngineError, UsageError, one_line
from rgsupport.types import BASE, RLVR, ROLES, ModelRole

MINIATURE: dict[ModelRole, str] = {role: f"mini-{role}" for role in ROLES}
PAPER: dict[ModelRole, str] = {
    BASE: "deepseek-ai/DeepSeek-R1-Distill-Qwen-1.5B",
    RLVR: "nvidia/Nemotron-Research-Reasoning-Qwen-1.5B",
}
"""The pair of the paper's Tables 15 to 19."""
_HUB_NAME = re.compile(r"[\w.-]+(/[\w.-]+)?")
# What decides a model's output; training leftovers (optimizer states, logs) do not.
_MODEL_FILES = ("*.json", "*.jinja", "*.model", "*.txt", "*.safetensors", "*.bin")


@dataclass(frozen=True, slots=True)
class Model:
    """A model as it was named and as it was found.

    Attributes:
        name: What the user wrote, without the revision.
        location: Folder or hub name to load from.
        revision: Hub revision; None for a folder, and for a hub name that was given without one.
        served: Whether only a server knows it, by this name.
    """

    name: str
    location: str
    revision: str | None
    served: bool = False

    @property
    def is_local(self) -> bool:
        """Whether the model lies in a folder."""
        return not self.served and Path(self.location).is_dir()

    @property
    def slug(self) -> str:
        """A name for folders: unlike for models that are unlike."""
        readable = re.sub(r"[^\w.-]+", "-", "@".join(filter(None, (self.name, self.revision)))).strip("-.")
        if self.served:
            return f"{readable[-60:]}-{hashlib.sha256(self.name.encode()).hexdigest()[:6]}"
        if self.name in MINIATURE.values() or not self.is_local:
            return readable
        return f"{readable[-60:]}-{hashlib.sha256(self.location.encode()).hexdigest()[:6]}"


def find(name: str, *, served: bool = False) -> Model:
    """Return the model that a name means.

    Args:
        name: `mini-base` or `mini-rlvr`, a folder, or a hub name; the last may carry `@revision`.
        served: Whether the name is one that only a server has to know.

    Raises:
        UsageError: The folder is missing or holds no model, or the name cannot be a hub's.
    """
    if served:
        return Model(name=name, location=name, revision=None, served=True)
    if name in MINIATURE.values():
        return Model(name=name, location=str(files("rgsupport") / "mini" / name.removeprefix("mini-")), revision=None)
    try:
        folder = Path(name).expanduser()
        is_there = folder.exists()
    except (RuntimeError, OSError, ValueError) as error:  # no such user, a name too long, a NUL in it
        msg = f"no model {name[:100]!r}: {one_line(error)}"
        raise UsageError(msg) from error
    if folder.is_dir():
        if not (folder / "config.json").is_file():
            msg = f"no model in {name}: the folder has no config.json"
            raise UsageError(msg)
        return Model(name=name.rstrip("/"), location=str(folder.resolve()), revision=None)
    hub_name, _, revision = name.partition("@")
    if is_there or name.startswith((".", "/", "~")) or not _HUB_NAME.fullmatch(hub_name):
        msg = (
            f"no model {name!r}: there is no such folder, and a hub name looks like owner/model or owner/model@revision"
        )
        raise UsageError(msg)
    return Model(name=hub_name, location=hub_name, revision=revision or None)


def fingerprint(model: Model) -> str:
    """Return 16 hex digits that change when the model's files change: a hash of them, or of the hub's commit.

    Of a model that only a server knows, nothing but its name can be told.

    Raises:
        EngineError: A file cannot be read, or the hub's model cannot be reached and is not cached.
    """
    if model.served:
        return hashlib.sha256(f"served\0{model.name}".encode()).hexdigest()[:16]
    if not model.is_local:
        return commit(model)[:16]
    digest = hashlib.sha256()
    folder = Path(model.location)
    paths = {path for pattern in _MODEL_FILES for path in folder.glob(pattern) if path.is_file()}
    try:
        for path in sorted(paths):
            digest.update(path.name.encode() + b"\0")
            with path.open("rb") as file:
                digest.update(hashlib.file_digest(file, "sha256").digest())
    except OSError as error:
        msg = f"the model {model.name!r} cannot be read: {one_line(error)}"
        raise EngineError(msg) from error
    return digest.hexdigest()[:16]


def commit(model: Model) -> str:
    """Return the hub's commit hash for a hub model, asking the hub and then the local cache.

    Raises:
        EngineError: Neither knows the model or the revision.
    """
    from transformers.utils import hub  # heavy: imported where a hub model is used

    try:
        config = hub.cached_file(model.location, "config.json", revision=model.revision)
    except OSError as error:
        reason = str(error).strip().splitlines()[0]
        msg = f"cannot get the model {model.name!r}: {reason}; name a local folder, or check the name and the network"
        raise EngineError(msg) from error
    found = hub.extract_commit_hash(config, None)
    if found is None:
        msg = f"cannot tell which commit of {model.name!r} lies in the cache; delete {config} and try again"
        raise EngineError(msg)
    return found


def describe_default(pair: Mapping[ModelRole, str]) -> str:
    """Return the line that says which pair is used where none is named."""
    if pair == MINIATURE:
        return (
            "no model named: using the miniature pair that ships with rgsupport "
            "(two real language models of 1M parameters); --base and --rlvr name others"
        )
    base, rlvr = (pair[role] for role in ROLES)
    return f"no model named: using the paper's pair, {base} and {rlvr}; --base and --rlvr name others"
