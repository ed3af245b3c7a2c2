import gc
import hashlib
import tracemalloc
from dataclasses import replace
from itertools import groupby

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import DriftError, EngineError, UsageError
from rgsupport.prompting import Prompt, Prompts
from rgsupport.sampling import Sameness, Sealer, _facts, completion_inputs, requests, without_room
from rgsupport.seeds import sample_seed
from rgsupport.shards import Shard, missing
from rgsupport.store import ModelRecord, Plan, Record, Run
from rgsupport.types import BASE, RLVR, Completion, FinishReason, SamplingParams

PROBLEMS = ["0000000000000001", "0000000000000002", "0000000000000003"]
PROMPTS = {problem: Prompt((index,), f"text {index}") for index, problem in enumerate(PROBLEMS)}
RECORD = Record(
    seed=45,
    tasks={},
    plan=Plan(("dice",), problems=3, ks=(1,), samples=4),
    sampling=SamplingParams(),
    models={BASE: ModelRecord("a", None, "f"), RLVR: ModelRecord("b", None, "g")},
)


def sealer(path, owed):
    return Sealer(Run(path), RECORD, BASE, owed)


def completion(made, problem, index, *, seed=None):
    seed = made.seed(problem, index) if seed is None else seed
    return Completion(problem, index, seed, f"sample {index}", FinishReason.STOP, 3)


@given(samples=st.integers(1, 600))
def test_every_owed_sample_is_requested_once_with_its_own_seed_and_prompt(tmp_path_factory, samples):
    made = sealer(tmp_path_factory.mktemp("run"), missing(PROBLEMS, samples=samples, have=[]))
    asked = list(requests(made, PROMPTS))
    assert sorted((request.problem_id, request.sample_index) for request in asked) == [
        (problem, index) for problem in PROBLEMS for index in range(samples)
    ]
    assert all(Prompt(request.token_ids, request.text) == PROMPTS[request.problem_id] for request in asked)
    assert len({request.seed for request in asked}) == len(asked)


def test_the_problems_take_turns_in_stripes_so_that_each_prompt_is_computed_for_many_samples(tmp_path):
    made = sealer(tmp_path, missing(PROBLEMS, samples=32, have=[]))
    runs = [(problem, len(list(run))) for problem, run in groupby(requests(made, PROMPTS), lambda r: r.problem_id)]
    assert runs == [(problem, 16) for problem in PROBLEMS] * 2


def test_a_shard_is_sealed_when_its_last_sample_ends_whatever_the_order(tmp_path):
    owed = missing(PROBLEMS, samples=4, have=[])
    made = sealer(tmp_path, owed)
    inputs = completion_inputs(RECORD, BASE)
    folder = Run(tmp_path).completions(BASE)
    for index in (3, 0, 2):
        made.add(completion(made, PROBLEMS[1], index))
    assert folder.listing(inputs) == []
    made.add(completion(made, PROBLEMS[1], 1))
    assert folder.listing(inputs) == [Shard(PROBLEMS[1], 0, 4)]
    assert folder.read(Shard(PROBLEMS[1], 0, 4), inputs)["text"].to_list() == [f"sample {i}" for i in range(4)]


def test_what_an_interrupted_command_finished_is_not_owed_again_even_under_another_plan(tmp_path):
    first = sealer(tmp_path, missing(PROBLEMS, samples=4, have=[]))
    for index in (0, 2):
        first.add(completion(first, PROBLEMS[0], index))
    second = sealer(tmp_path, missing(PROBLEMS, samples=6, have=[]))
    assert second.recover() == 2
    owed = {(shard.problem_id, index) for shard in second.shards() for index in second.lacking(shard)}
    assert owed == {(p, i) for p in PROBLEMS for i in range(6)} - {(PROBLEMS[0], 0), (PROBLEMS[0], 2)}


def test_a_journal_of_another_seed_is_not_taken_over(tmp_path):
    first = sealer(tmp_path, missing(PROBLEMS, samples=4, have=[]))
    first.add(completion(first, PROBLEMS[0], 0, seed=1))
    assert sealer(tmp_path, missing(PROBLEMS, samples=4, have=[])).recover() == 0


def test_the_journal_goes_when_all_its_samples_are_sealed(tmp_path):
    made = sealer(tmp_path, missing(PROBLEMS, samples=2, have=[]))
    for problem in PROBLEMS:
        for index in range(2):
            made.add(completion(made, problem, index))
    made.close()
    assert not list(tmp_path.rglob("journal-*"))


def test_the_two_models_have_independent_streams(tmp_path):
    base, rlvr = (Sealer(Run(tmp_path), RECORD, role, []) for role in (BASE, RLVR))
    assert base.seed(PROBLEMS[0], 0) != rlvr.seed(PROBLEMS[0], 0)


def test_waiting_completions_are_not_held_in_memory(tmp_path):
    made = sealer(tmp_path, missing(PROBLEMS, samples=256, have=[]))
    gc.collect()
    before = len(gc.get_objects())
    text = "x" * 100_000
    tracemalloc.start()
    for index in range(200):
        made.add(replace(completion(made, PROBLEMS[0], index), text=text + str(index)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 2_000_000  # their texts are 20 MB
    assert len(gc.get_objects()) - before < 20_000


def test_prompts_without_room_cost_their_own_samples_only(tmp_path):
    made = sealer(tmp_path, missing(PROBLEMS, samples=4, have=[]))
    for lost in without_room(made, {PROBLEMS[1]}):
        assert lost.finish_reason is FinishReason.PROMPT_TOO_LONG
        assert (lost.text, lost.n_tokens) == ("", 0)
        made.add(lost)
    fitting = {problem: prompt for problem, prompt in PROMPTS.items() if problem != PROBLEMS[1]}
    assert {request.problem_id for request in requests(made, fitting)} == fitting.keys()
    assert Run(tmp_path).completions(BASE).listing(completion_inputs(RECORD, BASE)) == [Shard(PROBLEMS[1], 0, 4)]


def alike(made, *, problems, samples):
    """Return completions of 50 tokens, the samples of a problem identical."""
    return [
        Completion(f"{problem:016}", index, 1, "same", FinishReason.STOP, 50)
        for index in range(samples)
        for problem in range(problems)
    ]


def test_sameness_is_told_after_many_tokens_on_several_problems_without_one_difference(tmp_path):
    made = sealer(tmp_path, [])
    watched = Sameness()
    *most, last = alike(made, problems=5, samples=3)
    for one in most:
        watched.add(one)
    with pytest.raises(EngineError, match="all 10 repeated responses are identical"):
        watched.add(last)


def test_one_difference_or_a_single_easy_problem_is_no_fault_of_sampling(tmp_path):
    made = sealer(tmp_path, [])
    unlike = Sameness()
    unlike.add(completion(made, f"{0:016}", 0))
    for one in alike(made, problems=9, samples=40):
        unlike.add(one)
    sure = Sameness()
    for one in alike(made, problems=4, samples=200):
        sure.add(one)


def test_aborted_samples_are_no_identical_responses(tmp_path):
    made = sealer(tmp_path, [])
    watched = Sameness()
    for index in range(1000):
        lost = Completion(PROBLEMS[0], index, made.seed(PROBLEMS[0], index), "", FinishReason.ABORT, 100)
        watched.add(lost)


def test_no_two_samples_of_the_papers_whole_sweep_share_a_seed():
    """Check all 24.6 million (15 tasks x 50 questions x 2 models x 16,384 samples), whoever of the workers has them."""
    problems = [f"{index:016x}" for index in range(15 * 50)]
    seeds = np.empty((2, len(problems), 16_384), dtype=np.int64)
    for at, role in enumerate((BASE, RLVR)):
        for place, problem in enumerate(problems):
            prefix = hashlib.sha256(f"45\0{role}\0{problem}\0".encode())
            for index in range(16_384):
                key = prefix.copy()
                key.update(str(index).encode())
                seeds[at, place, index] = int.from_bytes(key.digest()[:8], "big") >> 1
    generator = np.random.default_rng(1)
    for at, place, index in zip(*(generator.integers(0, size, 1000) for size in seeds.shape), strict=True):
        role = (BASE, RLVR)[at]
        assert seeds[at, place, index] == sample_seed(
            run_seed=45, stream=role, problem_id=problems[place], sample_index=int(index)
        )
    ordered = np.sort(seeds, axis=None)
    assert (ordered[1:] != ordered[:-1]).all()
    assert ordered[0] >= 0


@given(samples=st.integers(1, 2000), workers=st.integers(1, 8))
def test_the_processes_of_a_model_share_out_the_plan(samples, workers):
    owed = missing(PROBLEMS, samples=samples, have=[])
    parts = [owed[place::workers] for place in range(workers)]
    dealt = sorted((shard.problem_id, index) for part in parts for shard in part for index in shard.indices())
    assert dealt == [(problem, index) for problem in PROBLEMS for index in range(samples)]
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


class Described:
    """What `_facts` wants of a sampler: its description."""

    def __init__(self, **facts):
        self._facts = facts

    def describe(self):
        return self._facts


def facts(record, role, **described):
    return _facts(record, role, Prompts({}), Described(**described))


def with_facts(**of):
    models = {role: replace(RECORD.models[role], facts=of.get(role, {})) for role in (BASE, RLVR)}
    return replace(RECORD, models=models)


def test_a_model_is_not_mixed_from_two_engines_even_where_the_models_may_differ():
    before = facts(RECORD, BASE, engine="vllm", versions="1")
    assert before["temperature"] == 0.6
    assert before["penalties"] == "off"
    record = replace(with_facts(base=before), allow_unequal=("versions",))
    assert facts(record, BASE, engine="vllm", versions="1") == before
    with pytest.raises(DriftError, match="versions is 1 in the run, 2 was asked"):
        facts(record, BASE, engine="vllm", versions="2")
    assert facts(record, RLVR, engine="vllm", versions="2")["versions"] == "2"
    with pytest.raises(UsageError, match="versions is 1 for base and 2 for RLVR"):
        facts(replace(record, allow_unequal=()), RLVR, engine="vllm", versions="2")


def test_servers_of_unequal_context_are_refused_where_the_shorter_one_would_cut():
    short = facts(RECORD, BASE, engine="openai", context_length=200)
    with pytest.raises(UsageError, match="200 of base"):
        facts(with_facts(base=short), RLVR, engine="openai", context_length=3000)
    facts(with_facts(base=short), RLVR, engine="openai", context_length=200)
    enough = replace(with_facts(base=short | {"max_tokens": 150}), sampling=SamplingParams(max_tokens=150))
    facts(enough, RLVR, engine="openai", context_length=3000)
