"""Looks at the two models: whether all their files are here, and whether they can be compared."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from rgsupport.doctor._check import Check, note, ok, problem, refusal, size
from rgsupport.doctor._machine import available_memory
from rgsupport.engines import Engine
from rgsupport.errors import RgsupportError, UsageError
from rgsupport.hardware import gpus
from rgsupport.models import Model, find
from rgsupport.prompting import Prompts, build_prompts, refuse_unequal
from rgsupport.types import BASE, RLVR, ModelRole

_TOKENIZER_FILES = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model", "tekken.json")
_POINTER = b"version https://git-lfs"
_QUESTION = pl.DataFrame({"task": ["doctor"], "problem_id": ["0" * 16], "question": ["What is 1 + 1?"]})
_SYSTEM = "Answer the question."


def check_models(
    names: Mapping[ModelRole, str], engine: Engine, allow_unequal: Sequence[str], *, offline: bool
) -> Iterator[Check]:
    """Look at each model, then at both together."""
    made: dict[ModelRole, Prompts] = {}
    for role, name in names.items():
        topic = f"{role} model"
        try:
            model = find(name, served=engine.api == "chat")
            if model.served:
                yield ok(topic, f"{name}, of which only the server knows anything")
                continue
            folder, absence = _folder(model, topic, engine, offline=offline)
            if folder is None:
                yield from absence
                continue
            made[role] = build_prompts(Model(model.name, str(folder), None), _QUESTION, system=_SYSTEM, engine=engine)
            yield from _described(topic, model, folder, made[role], engine)
        except RgsupportError as error:
            yield refusal(topic, error, otherwise=f"name another with --{role}, or mend it")
    if len(made) > 1:
        yield from _compared(made, allow_unequal)


def _folder(model: Model, topic: str, engine: Engine, *, offline: bool) -> tuple[Path | None, list[Check]]:
    """Return where a model's files lie, if all are here; else what to do."""
    needs_weights = engine.name != "openai"
    if model.is_local:
        folder = Path(model.location)
        gaps = lacking(folder, weights=needs_weights)
        if gaps:
            found = f"{model.name} is incomplete: it lacks {', '.join(gaps)}"
            return None, [problem(topic, found, remedy=f"copy the whole folder again, to {folder}")]
        return folder, []
    folder = _snapshot(model)
    gaps = [] if folder is None else lacking(folder, weights=needs_weights)
    if folder is not None and not gaps:
        return folder, []
    revision = "" if model.revision is None else f" --revision {model.revision}"
    download = f"hf download {model.location}{revision}"
    state = "not in the local cache" if folder is None else f"only partly in the local cache: {', '.join(gaps)} missing"
    if offline:
        remedy = f"unset HF_HUB_OFFLINE and: {download}; or copy a folder here and name that"
        return None, [problem(topic, f"{model.name} is {state}, and HF_HUB_OFFLINE forbids to fetch it", remedy=remedy)]
    remedy = f"nothing, if this machine reaches the hub: `run` fetches it; to do that now: {download}"
    return None, [note(topic, f"{model.name} is {state}", remedy=remedy)]


def _snapshot(model: Model) -> Path | None:
    """Return the folder of a hub model in the local cache; None if it is not there."""
    from huggingface_hub import try_to_load_from_cache  # slow to import

    found = try_to_load_from_cache(model.location, "config.json", revision=model.revision)
    return Path(found).parent if isinstance(found, str) else None


def lacking(folder: Path, *, weights: bool) -> list[str]:
    """Return what a model folder lacks, in words.

    Args:
        folder: A folder as transformers saves it.
        weights: Whether the weights are needed.
    """
    gaps = [] if (folder / "config.json").is_file() else ["config.json"]
    if not any((folder / name).is_file() for name in _TOKENIZER_FILES):
        gaps.append("a tokenizer (tokenizer.json)")
    if not weights:
        return gaps
    files = weight_files(folder)
    if not files:
        gaps.append("weights (*.safetensors)")
    for path in files:
        if not path.is_file():
            gaps.append(path.name)
        elif path.stat().st_size < 1024 and path.read_bytes().startswith(_POINTER):
            gaps.append(f"{path.name} (there is a pointer of git-lfs only; git lfs pull)")
    return gaps


def weight_files(folder: Path) -> list[Path]:
    """Return the files that hold a model's weights; those that an index names, whether they are there or not."""
    for pattern in ("*.safetensors", "pytorch_model*.bin"):
        indexes = [json.loads(path.read_text(encoding="utf-8")) for path in folder.glob(f"{pattern}.index.json")]
        named = {folder / str(name) for index in indexes for name in index["weight_map"].values()}
        if found := named or set(folder.glob(pattern)):
            return sorted(found)
    return []


def _described(topic: str, model: Model, folder: Path, made: Prompts, engine: Engine) -> Iterator[Check]:
    from rgsupport.samplers.facts import read_facts  # heavy: imports torch and transformers

    stored = read_facts(str(folder), revision=None).dtype
    weights = sum(path.stat().st_size for path in weight_files(folder))
    where = "in its folder" if model.is_local else "in the local cache"
    held = f", {size(weights)} of {stored} weights" if engine.name != "openai" else ""
    yield ok(
        topic,
        f"{model.name}, complete {where}{held}, context {made.context_length:,} tokens, "
        f"chat template {made.facts['template']}",
    )
    if engine.name != "openai":
        yield from _fits(topic, weights, stored=stored, used=str(made.facts["dtype"]), engine=engine)


def _fits(topic: str, weights: int, *, stored: str, used: str, engine: Engine) -> Iterator[Check]:
    """Compare the weights with the memory that they have to fit into."""
    grown = weights * (4 if used == "float32" else 2) / (4 if stored == "float32" else 2)
    there = [] if engine.device == "cpu" else [gpu for gpu in gpus() if not engine.gpus or gpu.index in engine.gpus]
    free = [gpu.memory_free for gpu in there if gpu.memory_free is not None]
    if there and not free:
        return
    room = min(free) * engine.tensor_parallel if free else available_memory()
    if grown > room:
        remedy = "take a smaller model, or --dtype bfloat16"
        if free:
            remedy = "take a smaller model, a larger or idle GPU, or several for one model with --tensor-parallel"
        found = f"its weights take {size(grown)} as {used}, but {size(room)} of memory are free"
        yield problem(topic, found, remedy=remedy)


def _compared(made: Mapping[ModelRole, Prompts], allow_unequal: Sequence[str]) -> Iterator[Check]:
    topic = "both models"
    contexts = {role: made[role].context_length for role in made}
    if contexts[BASE] != contexts[RLVR]:
        remedy = "give a --max-tokens that leaves both the same room; `run` names the largest one"
        found = f"contexts differ: base holds {contexts[BASE]:,} tokens, RLVR {contexts[RLVR]:,}"
        yield note(topic, found, remedy=remedy)
    try:
        refuse_unequal({role: made[role].facts for role in made}, allow_unequal)
    except UsageError as error:
        yield refusal(topic, error, otherwise="name models that are alike")
        return
    if contexts[BASE] == contexts[RLVR]:
        yield ok(topic, "the same context, dtype, chat template, BOS and stop tokens")
