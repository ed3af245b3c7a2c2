"""Sample one model for a run: what is owed, drawn, journaled, and sealed into shards. Runs as a child process."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl

from rgsupport import child, prompts
from rgsupport.child import Emit
from rgsupport.errors import UsageError
from rgsupport.models import Model
from rgsupport.seeds import sample_seed
from rgsupport.settings import Engine
from rgsupport.shards import BLOCK, Inputs, Shard, completions_frame, missing
from rgsupport.store import Record, Run, planned_problems
from rgsupport.types import BASE, RLVR, Completion, ModelRole, Request, SamplingParams

_STRIPE = 16  # samples of one problem that are drawn in a row; small, so that all problems progress together
_EVENT_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Prompts:
    """The prompts of one model.

    Attributes:
        token_ids: Of each problem.
        opens_thought: Whether they end inside a `<think>` block.
        context_length: How many tokens the model can hold, prompt and response together.
    """

    token_ids: Mapping[str, tuple[int, ...]]
    opens_thought: bool
    context_length: int


def build_prompts(model: Model, problems: pl.DataFrame, *, system: str) -> Prompts:
    """Return a model's prompts, after checking that they fit its context. Loads the tokenizer, not the weights.

    Raises:
        UsageError: A prompt leaves no room for a response.
        EngineError: The model has no usable tokenizer.
    """
    from rgsupport.samplers.facts import read_facts  # heavy: imports torch and transformers

    tokenizer, limit = read_facts(model.location, revision=model.revision)
    texts = {
        identity: prompts.render(question, system=system, tokenizer=tokenizer)
        for identity, question in problems.select("problem_id", "question").iter_rows()
    }
    token_ids = {identity: prompts.encode(text, tokenizer=tokenizer) for identity, text in texts.items()}
    for task, rows in problems.group_by("task", maintain_order=True):
        longest = max(len(token_ids[identity]) for identity in rows["problem_id"])
        if longest >= limit:
            msg = (
                f"the context of {model.name} is {limit} tokens, but a question of {task[0]} takes {longest}; "
                f"leave {task[0]} out, or name a model with a longer context"
            )
            raise UsageError(msg)
    return Prompts(token_ids, any(map(prompts.opens_thought, texts.values())), limit)


def refuse_unequal_room(base: tuple[Model, Prompts], rlvr: tuple[Model, Prompts], params: SamplingParams) -> None:
    """Refuse a pair of which one model's context cuts its responses earlier than the other's.

    Raises:
        UsageError: Names both contexts and the largest `--max-tokens` that gives both models the same room.
    """
    contexts = [made.context_length for _, made in (base, rlvr)]
    if contexts[0] == contexts[1]:
        return
    longest = max(len(ids) for _, made in (base, rlvr) for ids in made.token_ids.values())
    room = min(contexts) - longest
    if params.max_tokens > room:
        (one, _), (other, _) = base, rlvr
        msg = (
            f"{one.name} holds {contexts[0]} tokens and {other.name} {contexts[1]}: --max-tokens {params.max_tokens} "
            f"would cut them at different lengths; --max-tokens {room} gives both the same room"
        )
        raise UsageError(msg)


def completion_inputs(record: Record, role: ModelRole) -> Inputs:
    """Return what the content of a completion shard is a function of, besides its problem and its range."""
    assert record.sampling is not None
    system = hashlib.sha256((record.system or "").encode()).hexdigest()
    parts = [record.models[role].fingerprint, role, str(record.seed), system, repr(asdict(record.sampling))]
    return lambda _: "\0".join(parts)


def owed_shards(run: Run, record: Record, role: ModelRole) -> list[Shard]:
    """Return the shards of a model that the plan still owes."""
    wanted = planned_problems(run.problems(), record.plan)["problem_id"].to_list()
    have = run.completions(role).listing(completion_inputs(record, role))
    return missing(wanted, samples=record.plan.samples, have=have)


class Sealer:
    """Journals completions as they end and seals every shard that is whole."""

    def __init__(self, run: Run, record: Record, role: ModelRole, owed: Sequence[Shard]) -> None:
        self._folder = run.completions(role)
        self._journal = run.journal(role)
        self._inputs = completion_inputs(record, role)
        self._record, self._role = record, role
        self._open: dict[Shard, dict[int, Completion]] = {shard: {} for shard in owed}
        self._shard_of: dict[str, list[Shard]] = {}
        for shard in owed:
            self._shard_of.setdefault(shard.problem_id, []).append(shard)

    def recover(self) -> int:
        """Take over what an interrupted command left in the journal; return how many samples that saved."""
        taken = 0
        for completion in self._journal.read():
            if completion.seed == self.seed(completion.problem_id, completion.sample_index):
                taken += self._keep(completion)
        return taken

    def add(self, completion: Completion) -> None:
        """Journal a completion, and seal its shard when that is whole."""
        begun = self._journal.append(completion)
        self._keep(completion)
        if begun:
            self._journal.drop(self._folder.listing(self._inputs))

    def owed(self) -> Iterator[tuple[Shard, list[int]]]:
        """Yield each open shard with the sample indices it still lacks."""
        for shard, held in list(self._open.items()):
            yield shard, [index for index in shard.indices() if index not in held]

    def seed(self, problem_id: str, sample_index: int) -> int:
        """Return the seed of one sample of this model."""
        return sample_seed(
            run_seed=self._record.seed, stream=self._role, problem_id=problem_id, sample_index=sample_index
        )

    def finish(self) -> None:
        """Delete the journal's files whose completions are all in shards."""
        self._journal.close()
        self._journal.drop(self._folder.listing(self._inputs))

    def _keep(self, completion: Completion) -> bool:
        for shard in self._shard_of.get(completion.problem_id, ()):
            held = self._open.get(shard)
            if held is not None and shard.low <= completion.sample_index < shard.high:
                new = completion.sample_index not in held
                held.setdefault(completion.sample_index, completion)
                if len(held) == shard.high - shard.low:
                    self._folder.write(shard, completions_frame(held.values()), self._inputs)
                    del self._open[shard]
                return new
        return False


def requests(sealer: Sealer, token_ids: Mapping[str, tuple[int, ...]]) -> Iterator[Request]:
    """Yield the requests that are owed: a stripe of samples per problem in turn, within one block of samples."""
    owed = list(sealer.owed())
    for _, block in groupby(owed, key=lambda item: item[0].low // BLOCK):
        stripes = [
            (start, shard, indices[start : start + _STRIPE])
            for shard, indices in block
            for start in range(0, len(indices), _STRIPE)
        ]
        for _, shard, stripe in sorted(stripes, key=lambda item: item[0]):
            for index in stripe:
                seed = sealer.seed(shard.problem_id, index)
                yield Request(shard.problem_id, index, seed, token_ids[shard.problem_id])


def sample(run: Run, role: ModelRole, model: Model, engine: Engine, emit: Emit) -> None:
    """Draw everything the plan owes one model.

    Args:
        run: The run directory; its record names plan and parameters.
        role: Which of the run's models.
        model: Where it lies.
        engine: How to hold it.
        emit: Takes messages: `owed` and `recovered` once, then `samples` and `tokens` since the last message.
    """
    from rgsupport.samplers.hf import HfSampler  # heavy: imports torch and transformers

    record = run.record()
    assert record.sampling is not None
    sealer = Sealer(run, record, role, owed_shards(run, record, role))
    recovered = sealer.recover()
    emit({"owed": sum(len(indices) for _, indices in sealer.owed()), "recovered": recovered})
    wanted = {shard.problem_id for shard, _ in sealer.owed()}
    problems = planned_problems(run.problems(), record.plan).filter(pl.col("problem_id").is_in(list(wanted)))
    if wanted:
        made = build_prompts(model, problems, system=record.system or "")
        sampler = HfSampler.load(model.location, revision=model.revision, **asdict(engine))
        facts = sampler.describe()
        _refuse_unequal_facts(record, role, facts)
        emit({"facts": facts})
        _draw(sampler.sample(requests(sealer, made.token_ids), record.sampling), sealer, emit)
    sealer.finish()


def _refuse_unequal_facts(record: Record, role: ModelRole, facts: Mapping[str, object]) -> None:
    """Refuse to sample a model otherwise than the other one was."""
    other = record.models[RLVR if role == BASE else BASE].facts
    if other and other.get("dtype") != facts["dtype"]:
        msg = (
            f"the {role} model would run with dtype {facts['dtype']}, the other ran with {other.get('dtype')}; "
            "give both the same with --dtype, in a new folder with --out"
        )
        raise UsageError(msg)


def _draw(completions: Iterable[Completion], sealer: Sealer, emit: Emit) -> None:
    samples = tokens = 0
    told = time.monotonic()
    for completion in completions:
        sealer.add(completion)
        samples, tokens = samples + 1, tokens + completion.n_tokens
        if time.monotonic() - told > _EVENT_SECONDS:
            emit({"samples": samples, "tokens": tokens})
            samples = tokens = 0
            told = time.monotonic()
    emit({"samples": samples, "tokens": tokens})


def _main(job: dict[str, Any], emit: Emit) -> None:
    sample(Run(Path(job["run"])), job["role"], Model(**job["model"]), Engine(**job["engine"]), emit)


if __name__ == "__main__":
    child.serve(_main)
