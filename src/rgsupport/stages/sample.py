"""Draw the samples that a run owes, one model after the other, each in processes of its own."""

import os
from collections.abc import Mapping
from dataclasses import asdict, astuple, replace
from pathlib import Path
from typing import Any

from rgsupport import child
from rgsupport.child import Call
from rgsupport.engines import Engine, check_engine
from rgsupport.errors import EngineError, RgsupportError, UsageError
from rgsupport.hardware import default_engine, gpus, require_gpus
from rgsupport.models import Model, find, fingerprint
from rgsupport.prompting import build_prompts, refuse_unequal, refuse_unequal_room
from rgsupport.sampling import completion_inputs, owed_shards
from rgsupport.settings import Settings, differences, refuse
from rgsupport.shards import Shard
from rgsupport.store import ModelRecord, Record, Run, planned_problems
from rgsupport.types import BASE, RLVR, ROLES, ModelRole, SamplingParams
from rgsupport.watch import Bar, Watcher


def sample(run: Run, settings: Settings, watcher: Watcher) -> None:
    """Draw what the plan owes both models.

    Raises:
        DriftError: The run was sampled with other models, parameters or prompt.
        UsageError: A prompt does not fit a model, or the two models would not be treated alike.
        EngineError: A model cannot be loaded, or its process died; what was finished is kept.
    """
    models = models_of(settings)
    settings = replace(settings, engine=_resolved(settings.engine))
    record = _with_sampling(run, settings, models)
    owed = {role: owed_shards(run, record, role) for role in ROLES}
    if any(owed.values()):
        record = _prepared(run, record, models, settings)
    run.write_record(record)
    for role in ROLES:
        if owed[role]:
            _sample_model(run, role, models[role], settings, owed[role], watcher)
        run.journal(role).drop(run.completions(role).listing(completion_inputs(record, role)))


def _resolved(engine: Engine) -> Engine:
    """Return the engine with its name, after checking that this machine can have it."""
    engine = replace(engine, name=engine.name or default_engine())
    check_engine(engine)
    require_gpus(engine.gpus)
    if engine.workers > 1 and engine.name != "openai" and engine.device != "cpu" and gpus():
        msg = f"--workers {engine.workers} would share one GPU; --gpus 0,1 gives each process a GPU of its own"
        raise UsageError(msg)
    return engine


def models_of(settings: Settings) -> dict[ModelRole, Model]:
    """Return the two models that are meant.

    Raises:
        UsageError: There is no such model.
    """
    served = settings.engine.api == "chat"
    return {BASE: find(settings.base, served=served), RLVR: find(settings.rlvr, served=served)}


def _with_sampling(run: Run, settings: Settings, models: Mapping[ModelRole, Model]) -> Record:
    """Return the record with models and parameters filled in, after comparing them with those of its samples."""
    record = run.record()
    found: dict[ModelRole, ModelRecord] = {
        role: ModelRecord(name=model.name, revision=model.revision, fingerprint=fingerprint(model))
        for role, model in models.items()
    }
    known = settings.prompt == record.prompt and not Path(settings.prompt).is_file()
    system = record.system if known else _system_prompt(settings.prompt)
    plan = replace(record.plan, ks=settings.ks, samples=settings.samples)
    record = replace(record, plan=plan, allow_unequal=settings.allow_unequal)
    if record.sampling is None or not any(run.has_samples(role) for role in ROLES):
        return replace(record, sampling=settings.sampling, prompt=settings.prompt, system=system, models=found)
    asked = _facts(settings.sampling, system, found)
    refuse(differences(asked, _facts(record.sampling, record.system, record.models)))
    return record


def _system_prompt(name: str) -> str | None:
    from rgsupport.reasoning_gym import system_prompt  # imports Reasoning Gym, which takes seconds

    return system_prompt(name)


def _facts(params: SamplingParams, system: str | None, models: Mapping[ModelRole, ModelRecord]) -> dict[str, object]:
    facts: dict[str, object] = {**asdict(params), "system prompt": system}
    for role, model in models.items():
        facts[f"the {role} model"] = "@".join(filter(None, (model.name, model.revision)))
        facts[f"the content of the {role} model"] = model.fingerprint
    return facts


def _prepared(run: Run, record: Record, models: Mapping[ModelRole, Model], settings: Settings) -> Record:
    """Check both models' prompts before either is sampled: a fault of the second must not cost the first's GPU time."""
    assert record.sampling is not None
    problems = planned_problems(run.problems(), record.plan)
    made = {
        role: build_prompts(models[role], problems, system=record.system or "", engine=settings.engine)
        for role in ROLES
    }
    for role in ROLES:
        vocabulary = made[role].vocabulary
        if vocabulary is not None and record.sampling.logprobs > vocabulary:
            msg = f"--logprobs {record.sampling.logprobs} is more than the {vocabulary} tokens of {models[role].name}"
            raise UsageError(msg)
    refuse_unequal_room((models[BASE], made[BASE]), (models[RLVR], made[RLVR]), record.sampling)
    refuse_unequal({role: made[role].facts for role in ROLES}, settings.allow_unequal)
    described = {role: replace(record.models[role], opens_thought=made[role].opens_thought) for role in ROLES}
    return replace(record, models=described)


def _sample_model(
    run: Run, role: ModelRole, model: Model, settings: Settings, owed: list[Shard], watcher: Watcher
) -> None:
    """Draw the owed shards of one model, dealt out to its processes.

    Raises:
        RgsupportError: The first error of a process; the others have done their part before it is raised.
    """
    environments = _environments(settings)
    calls = [
        Call("rgsupport.sampling", _job(run, role, model, settings, part), run.log(_log_name(role, place)), environment)
        for place, environment in enumerate(environments)
        if (part := owed[place :: len(environments)])
    ]
    total = sum(shard.high - shard.low for shard in owed)
    failures: list[RgsupportError] = []
    with watcher.stage(f"sampling {role} ({model.name})", total=total, unit="samples") as bar:
        for place, message in child.run_all(calls):
            if isinstance(message, RgsupportError):
                failures.append(message)
                if len(calls) > 1:
                    watcher.note(f"{role}: process {place} stopped, the others go on: {message}")
            else:
                _take(message, run, role, bar, watcher)
    if failures:
        raise failures[0]
    if left := owed_shards(run, run.record(), role):
        msg = (
            f"{len(left)} shards of {role} are still owed though its processes ended well; give the same command again"
        )
        raise EngineError(msg)


def _job(run: Run, role: ModelRole, model: Model, settings: Settings, shards: list[Shard]) -> dict[str, Any]:
    return {
        "run": str(run.path.resolve()),
        "role": role,
        "model": asdict(model),
        "engine": asdict(settings.engine),
        "shards": [astuple(shard) for shard in shards],
    }


def _log_name(role: ModelRole, place: int) -> str:
    return f"sample-{role}" if place == 0 else f"sample-{role}-{place}"


def _environments(settings: Settings) -> list[dict[str, str]]:
    """Return the variables of each process of a model: which GPUs it sees, how many threads it takes."""
    engine = settings.engine
    # Waiting threads that spin take the processor from those that work wherever anything else runs beside them.
    common = {"OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE")}
    if engine.gpus:
        groups = [
            engine.gpus[start : start + engine.tensor_parallel]
            for start in range(0, len(engine.gpus), engine.tensor_parallel)
        ]
        # The order of nvidia-smi, from which a user has the numbers.
        common["CUDA_DEVICE_ORDER"] = "PCI_BUS_ID"
        return [{**common, "CUDA_VISIBLE_DEVICES": ",".join(map(str, group))} for group in groups]
    if engine.workers > 1:
        threads = max(1, (os.cpu_count() or 1) // engine.workers)
        common["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", str(threads))
        common["VLLM_CPU_OMP_THREADS_BIND"] = "nobind"  # or all processes would share the first cores
    return [common] * engine.workers


def _take(message: Mapping[str, Any], run: Run, role: ModelRole, bar: Bar, watcher: Watcher) -> None:
    """Show or record what a process tells."""
    if "recovered" in message:
        if message["recovered"]:
            watcher.note(f"{role}: {message['recovered']} samples of an interrupted command were kept")
            bar.skip(message["recovered"])
    elif "note" in message:
        watcher.note(f"{role}: {message['note']}")
    elif "facts" in message:
        record = run.record()
        models = {**record.models, role: replace(record.models[role], facts=message["facts"])}
        run.write_record(replace(record, models=models))
        bar.advance(0)  # the engine has started
    else:
        bar.advance(message["samples"], message["tokens"])
