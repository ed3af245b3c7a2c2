from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.errors import UsageError
from rgsupport.models import find
from rgsupport.sampling import Prompts, Sealer, completion_inputs, refuse_unequal_room, requests
from rgsupport.shards import Shard, missing
from rgsupport.store import ModelRecord, Plan, Record, Run
from rgsupport.types import BASE, RLVR, Completion, FinishReason, SamplingParams

PROBLEMS = ["0000000000000001", "0000000000000002", "0000000000000003"]
TOKENS = {problem: (index,) for index, problem in enumerate(PROBLEMS)}
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
    asked = list(requests(made, TOKENS))
    assert sorted((request.problem_id, request.sample_index) for request in asked) == [
        (problem, index) for problem in PROBLEMS for index in range(samples)
    ]
    assert all(request.token_ids == TOKENS[request.problem_id] for request in asked)
    assert len({request.seed for request in asked}) == len(asked)


def test_the_problems_take_turns_in_stripes_so_that_each_prompt_is_computed_for_many_samples(tmp_path):
    made = sealer(tmp_path, missing(PROBLEMS, samples=32, have=[]))
    runs = [(problem, len(list(run))) for problem, run in groupby(requests(made, TOKENS), lambda r: r.problem_id)]
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
    owed = {(shard.problem_id, index) for shard, indices in second.owed() for index in indices}
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
    made.finish()
    assert not list(tmp_path.rglob("journal-*"))


def test_the_two_models_have_independent_streams(tmp_path):
    base, rlvr = (Sealer(Run(tmp_path), RECORD, role, []) for role in (BASE, RLVR))
    assert base.seed(PROBLEMS[0], 0) != rlvr.seed(PROBLEMS[0], 0)


def test_models_of_unlike_context_are_refused_only_where_the_difference_would_show():
    long = (find("owner/long"), Prompts(TOKENS, opens_thought=False, context_length=1000))
    short = (find("owner/short"), Prompts(TOKENS, opens_thought=False, context_length=100))
    refuse_unequal_room(long, short, SamplingParams(max_tokens=99))
    refuse_unequal_room(long, long, SamplingParams(max_tokens=5000))
    with pytest.raises(UsageError, match="--max-tokens 99 gives both"):
        refuse_unequal_room(long, short, SamplingParams(max_tokens=100))
