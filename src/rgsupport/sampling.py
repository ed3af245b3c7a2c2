"""Sample one model for a run: what is owed, drawn, journaled, and sealed into shards. Runs as a child process."""

import hashlib
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import groupby
from pathlib import Path
from typing import Any

from rgsupport import child
from rgsupport.child import Emit
from rgsupport.engines import COMPARED, Engine
from rgsupport.errors import EngineError, UsageError
from rgsupport.journal import Place
from rgsupport.loading import open_sampler
from rgsupport.models import Model
from rgsupport.outcomes import IDENTICAL_PROBLEMS, IDENTICAL_TOKENS, identical_responses
from rgsupport.prompting import Prompt, Prompts, build_prompts, refuse_unequal
from rgsupport.protocols import Sampler
from rgsupport.seeds import sample_seed
from rgsupport.settings import differences, refuse
from rgsupport.shards import BLOCK, Inputs, Shard, completions_frame, missing
from rgsupport.store import Record, Run, planned_problems
from rgsupport.typed import build
from rgsupport.types import BASE, RLVR, Completion, FinishReason, ModelRole, Request

_STRIPE = 16  # samples of one problem that are drawn in a row; small, so that all problems progress together
_EVENT_SECONDS = 0.1


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
    """Journals completions as they end and seals every shard that is whole.

    Of a completion that waits for the rest of its shard only its place in the journal is held in memory.
    """

    def __init__(self, run: Run, record: Record, role: ModelRole, owed: Sequence[Shard]) -> None:
        self._folder = run.completions(role)
        self._journal = run.journal(role)
        self._inputs = completion_inputs(record, role)
        self._record, self._role = record, role
        self._open: dict[Shard, dict[int, Place]] = {shard: {} for shard in owed}
        self._shards_of: dict[str, list[Shard]] = {}
        for shard in owed:
            self._shards_of.setdefault(shard.problem_id, []).append(shard)

    def recover(self) -> int:
        """Take over what an interrupted command left in the journal; return how many samples that saved."""
        taken = 0
        for place, completion in self._journal.read_all():
            if completion.seed == self.seed(completion.problem_id, completion.sample_index):
                taken += self._keep(completion, place)
        return taken

    def add(self, completion: Completion) -> None:
        """Journal a completion, and seal its shard when that is whole."""
        self._keep(completion, self._journal.append(completion))

    def shards(self) -> list[Shard]:
        """Return the shards that are not whole, in the order of the plan."""
        return list(self._open)

    def lacking(self, shard: Shard) -> list[int]:
        """Return the sample indices that a shard still lacks."""
        held = self._open.get(shard)
        return [] if held is None else [index for index in shard.indices() if index not in held]

    def n_owed(self) -> int:
        """Return how many samples are lacking in all."""
        return sum(shard.high - shard.low - len(held) for shard, held in self._open.items())

    def seed(self, problem_id: str, sample_index: int) -> int:
        """Return the seed of one sample of this model."""
        return sample_seed(
            run_seed=self._record.seed, stream=self._role, problem_id=problem_id, sample_index=sample_index
        )

    def close(self) -> None:
        """End the journal; what of it is in no shard stays for the next command."""
        self._journal.close()

    def _keep(self, completion: Completion, place: Place) -> bool:
        """Hold a completion's place; tell whether its sample was owed."""
        for shard in self._shards_of.get(completion.problem_id, ()):
            held = self._open.get(shard)
            if held is not None and shard.low <= completion.sample_index < shard.high:
                new = completion.sample_index not in held
                held.setdefault(completion.sample_index, place)
                if len(held) == shard.high - shard.low:
                    self._seal(shard, list(held.values()))
                return new
        return False

    def _seal(self, shard: Shard, places: Sequence[Place]) -> None:
        self._folder.write(shard, completions_frame(self._journal.read(places)), self._inputs)
        self._journal.release(places)
        del self._open[shard]


def requests(sealer: Sealer, prompts: Mapping[str, Prompt]) -> Iterator[Request]:
    """Yield the requests that are owed: a stripe of samples per problem in turn, within one block of samples.

    Problems without a prompt are passed over.
    """
    for _, block in groupby(sealer.shards(), key=lambda shard: shard.low // BLOCK):
        lacking = [(shard, sealer.lacking(shard)) for shard in block if shard.problem_id in prompts]
        for start in range(0, BLOCK, _STRIPE):
            for shard, indices in lacking:
                for index in indices[start : start + _STRIPE]:
                    prompt = prompts[shard.problem_id]
                    seed = sealer.seed(shard.problem_id, index)
                    yield Request(shard.problem_id, index, seed, prompt.token_ids, prompt.text, prompt.messages)


def without_room(sealer: Sealer, too_long: set[str]) -> Iterator[Completion]:
    """Yield a completion for every owed sample of the problems whose prompt leaves no room for a response."""
    for shard in sealer.shards():
        if shard.problem_id in too_long:
            for index in sealer.lacking(shard):
                seed = sealer.seed(shard.problem_id, index)
                yield Completion(shard.problem_id, index, seed, "", FinishReason.PROMPT_TOO_LONG, 0)


def sample(run: Run, role: ModelRole, model: Model, engine: Engine, shards: Sequence[Shard], emit: Emit) -> None:
    """Draw the samples of some shards that the plan owes one model.

    Args:
        run: The run directory; its record names plan and parameters.
        role: Which of the run's models.
        model: Where it lies.
        engine: How to hold it.
        shards: Which samples; no other process has any of them.
        emit: Takes messages: `owed` and `recovered` once, `facts` once, then `samples` and `tokens` since the last
            message.
    """
    record = run.record()
    assert record.sampling is not None
    sealer = Sealer(run, record, role, shards)
    recovered = sealer.recover()
    emit({"owed": sealer.n_owed(), "recovered": recovered})
    wanted = {shard.problem_id for shard in sealer.shards()}
    if wanted:
        problems = planned_problems(run.problems(), record.plan)
        made = build_prompts(model, problems, system=record.system or "", engine=engine)
        too_long = made.too_long()
        _draw(without_room(sealer, too_long), sealer, emit)
        with open_sampler(
            model, role, engine, made, record.sampling, note=lambda text: emit({"note": text})
        ) as sampler:
            emit({"facts": _facts(record, role, made, sampler)})
            prompts = {identity: prompt for identity, prompt in made.of.items() if identity not in too_long}
            _draw(sampler.sample(requests(sealer, prompts), record.sampling), sealer, emit)
    sealer.close()


def _facts(record: Record, role: ModelRole, made: Prompts, sampler: Sampler) -> dict[str, object]:
    """Return what the engine really uses, after comparing it with what the run's samples were drawn with."""
    assert record.sampling is not None
    neutral = {"top_k": "off", "penalties": "off"}
    facts: dict[str, object] = {**asdict(record.sampling), **neutral, **made.facts, **sampler.describe()}
    earlier = record.models[role].facts
    if earlier:
        # What may differ between the models must still not be mixed within one.
        refuse(differences(*({name: known.get(name) for name in COMPARED} for known in (facts, earlier))))
    other = record.models[RLVR if role == BASE else BASE].facts
    if other:
        both: dict[ModelRole, Mapping[str, object]] = {role: facts, RLVR if role == BASE else BASE: other}
        refuse_unequal(both, record.allow_unequal)
        _refuse_unequal_servers(both, record.sampling.max_tokens + made.longest)
    return facts


def _refuse_unequal_servers(facts: Mapping[ModelRole, Mapping[str, object]], wanted: int) -> None:
    """Refuse two servers of which one cuts responses earlier than the other."""
    contexts = {known.get("context_length") for known in facts.values() if known["engine"] == "openai"} - {None}
    shortest = min((context for context in contexts if isinstance(context, int)), default=wanted)
    if len(contexts) > 1 and shortest < wanted:
        told = " and ".join(f"{known.get('context_length')} of {role}" for role, known in facts.items())
        msg = (
            f"the servers hold contexts of unequal length, {told}, and the shorter one cuts responses earlier: lower "
            f"--max-tokens, or start both with the same length"
        )
        raise UsageError(msg)


def _draw(completions: Iterable[Completion], sealer: Sealer, emit: Emit) -> None:
    samples = tokens = 0
    told = time.monotonic()
    sameness = Sameness()
    for completion in completions:
        sealer.add(completion)
        sameness.add(completion)
        samples, tokens = samples + 1, tokens + completion.n_tokens
        if time.monotonic() - told > _EVENT_SECONDS:
            emit({"samples": samples, "tokens": tokens})
            samples = tokens = 0
            told = time.monotonic()
    emit({"samples": samples, "tokens": tokens})


class Sameness:
    """Watches whether a model gives every problem the same response over and over."""

    def __init__(self) -> None:
        self._first: dict[str, int] = {}
        self._repeated: set[str] = set()
        self._repeats = self._tokens = 0
        self._differ = False

    def add(self, completion: Completion) -> None:
        """Take note of a completion.

        Raises:
            EngineError: So much was drawn again, and not once differently, that sampling must be at fault.
        """
        if self._differ or completion.finish_reason not in (FinishReason.STOP, FinishReason.LENGTH):
            return
        text = hash(completion.text)
        if completion.problem_id not in self._first:
            self._first[completion.problem_id] = text
            return
        self._differ = self._first[completion.problem_id] != text
        self._repeated.add(completion.problem_id)
        self._repeats += 1
        self._tokens += completion.n_tokens
        enough = self._tokens >= IDENTICAL_TOKENS and len(self._repeated) >= IDENTICAL_PROBLEMS
        if enough and not self._differ:
            raise EngineError(identical_responses(repeats=self._repeats, tokens=self._tokens))


def _main(job: dict[str, Any], emit: Emit) -> None:
    shards = [Shard(*shard) for shard in job["shards"]]
    sample(Run(Path(job["run"])), job["role"], Model(**job["model"]), build(Engine, job["engine"]), shards, emit)


if __name__ == "__main__":
    child.serve(_main)
