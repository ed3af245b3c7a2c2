"""Draw the samples that a run owes, one model after the other, each in a process of its own."""

import os
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path

from rgsupport import child
from rgsupport.models import Model, find, fingerprint
from rgsupport.sampling import build_prompts, owed_shards, refuse_unequal_room
from rgsupport.settings import Engine, Settings, differences, refuse
from rgsupport.store import ModelRecord, Record, Run, planned_problems
from rgsupport.types import BASE, RLVR, ROLES, ModelRole, SamplingParams
from rgsupport.watch import Watcher


def sample(run: Run, settings: Settings, watcher: Watcher) -> None:
    """Draw what the plan owes both models.

    Raises:
        DriftError: The run was sampled with other models, parameters or prompt.
        UsageError: A prompt does not fit a model, or the two models would not be treated alike.
        EngineError: A model cannot be loaded, or its process died; what was finished is kept.
    """
    models: dict[ModelRole, Model] = {BASE: find(settings.base), RLVR: find(settings.rlvr)}
    record = _with_sampling(run, settings, models)
    if any(owed_shards(run, record, role) for role in ROLES):
        record = _prepared(run, record, models)
    run.write_record(record)
    for role in ROLES:
        if owed_shards(run, record, role):
            _sample_model(run, role, models[role], settings.engine, watcher)


def _with_sampling(run: Run, settings: Settings, models: Mapping[ModelRole, Model]) -> Record:
    """Return the record with models and parameters filled in, after comparing them with those of its samples."""
    record = run.record()
    found: dict[ModelRole, ModelRecord] = {
        role: ModelRecord(name=model.name, revision=model.revision, fingerprint=fingerprint(model))
        for role, model in models.items()
    }
    known = settings.prompt == record.prompt and not Path(settings.prompt).is_file()
    system = record.system if known else _system_prompt(settings.prompt)
    record = replace(record, plan=replace(record.plan, ks=settings.ks, samples=settings.samples))
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


def _prepared(run: Run, record: Record, models: Mapping[ModelRole, Model]) -> Record:
    """Check both models' prompts before either is sampled: a fault of the second must not cost the first's GPU time."""
    assert record.sampling is not None
    problems = planned_problems(run.problems(), record.plan)
    made = {role: build_prompts(models[role], problems, system=record.system or "") for role in ROLES}
    refuse_unequal_room((models[BASE], made[BASE]), (models[RLVR], made[RLVR]), record.sampling)
    described = {role: replace(record.models[role], opens_thought=made[role].opens_thought) for role in ROLES}
    return replace(record, models=described)


def _sample_model(run: Run, role: ModelRole, model: Model, engine: Engine, watcher: Watcher) -> None:
    job = {"run": str(run.path.resolve()), "role": role, "model": asdict(model), "engine": asdict(engine)}
    # Waiting threads that spin take the processor from those that work wherever anything else runs beside them.
    environment = {"OMP_WAIT_POLICY": os.environ.get("OMP_WAIT_POLICY", "PASSIVE")}
    messages = child.run("rgsupport.sampling", job, log=run.log(f"sample-{role}"), environment=environment)
    start = next(messages)
    if start["recovered"]:
        watcher.note(f"{role}: {start['recovered']} samples of an interrupted command were kept")
    with watcher.stage(f"sampling {role} ({model.name})", total=start["owed"], unit="samples") as bar:
        for message in messages:
            if "facts" in message:
                _record_facts(run, role, message["facts"])
            else:
                bar.advance(message["samples"], message["tokens"])


def _record_facts(run: Run, role: ModelRole, facts: dict[str, object]) -> None:
    record = run.record()
    models = {**record.models, role: replace(record.models[role], facts=facts)}
    run.write_record(replace(record, models=models))
