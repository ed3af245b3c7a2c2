"""The vLLM engine, for real: its CPU build, on the miniature pair."""

import os
import signal
from importlib.resources import files
from pathlib import Path
from random import Random

import polars as pl
import pytest
import torch
from transformers import AutoModelForCausalLM

from rgsupport import prompts
from rgsupport.generation import generate
from rgsupport.jail import Jail, Specification
from rgsupport.samplers.facts import read_facts
from rgsupport.samplers.hf import HfSampler
from rgsupport.shards import completions_frame
from rgsupport.types import FinishReason, Request, SamplingParams
from rgsupport.verification import ScoreCache, verify

# Importing vLLM brings warnings of its own and of torch, which are not ours to mend.
pytestmark = [pytest.mark.vllm, pytest.mark.filterwarnings("ignore::DeprecationWarning")]

MODEL = str(files("rgsupport") / "mini" / "rlvr")
TASKS = ["graph_color", "prime_factorization", "family_relationships"]
CONTEXT = 2048
EAGER = {"enforce_eager": True, "cpu_cache_gib": 1}
GREEDY = SamplingParams(temperature=0, max_tokens=200)


def load(notes, *, batch_size, **options):
    from rgsupport.samplers.vllm_engine import VllmSampler  # only where vLLM is installed

    return VllmSampler.load(
        MODEL,
        revision=None,
        dtype="float32",
        batch_size=batch_size,
        tensor_parallel=1,
        context_length=CONTEXT,
        longest_prompt=300,
        stop_ids=FACTS.stop_ids,
        logprobs=5,
        options={**EAGER, **options},
        note=notes.append,
    )


FACTS = read_facts(MODEL, revision=None)


@pytest.fixture(scope="module")
def problems():
    made = generate(TASKS, params={}, user_folder=None, count=20, seed=45, on_problem=None)
    return {problem.id: problem for problem in made}


@pytest.fixture(scope="module")
def token_ids(problems):
    texts = {
        identity: prompts.render(problem.question, system="", tokenizer=FACTS.tokenizer)
        for identity, problem in problems.items()
    }
    return {identity: prompts.encode(text, tokenizer=FACTS.tokenizer) for identity, text in texts.items()}


@pytest.fixture(scope="module")
def notes():
    return []


@pytest.fixture(scope="module")
def sampler(notes):
    made = load(notes, batch_size=128)
    yield made
    made.close()


@pytest.fixture(scope="module")
def hf():
    return HfSampler.load(MODEL, device="cpu")


def requests(token_ids, *, samples, seed):
    source = Random(seed)
    return [
        Request(identity, index, source.getrandbits(63), ids)
        for identity, ids in token_ids.items()
        for index in range(samples)
    ]


def by_key(completions):
    found = {(completion.problem_id, completion.sample_index): completion for completion in completions}
    return found


def test_greedy_texts_are_those_of_the_hf_engine(sampler, hf, token_ids):
    asked = requests(dict(list(token_ids.items())[::3]), samples=1, seed=1)
    assert len(asked) == 20
    ours, theirs = (by_key(engine.sample(asked, GREEDY)) for engine in (sampler, hf))
    assert ours == theirs


def test_the_same_seed_gives_the_same_text_and_each_sample_has_its_own(sampler, token_ids):
    asked = requests(dict(list(token_ids.items())[:4]), samples=64, seed=2)
    params = SamplingParams(max_tokens=100)
    first, again = (by_key(sampler.sample(order, params)) for order in (asked, asked[::-1]))
    assert len(first) == len(asked)
    same = sum(again[key].text == completion.text for key, completion in first.items())
    assert same >= 0.99 * len(asked)
    assert len({completion.text for completion in first.values()}) > 64
    assert {key: completion.seed for key, completion in first.items()} == {
        (request.problem_id, request.sample_index): request.seed for request in asked
    }


def test_a_response_is_cut_at_the_token_limit_and_says_so(sampler, token_ids):
    asked = requests(token_ids, samples=1, seed=3)
    params = SamplingParams(max_tokens=3)
    completions = list(sampler.sample(asked, params))
    assert {completion.finish_reason for completion in completions} == {FinishReason.LENGTH}
    assert {completion.n_tokens for completion in completions} == {3}


def pass_at_1(completions, problems, jail):
    frame = completions_frame(completions)
    verdicts = verify(frame, problems, thinking=False, checked=(), jail=jail, cache=ScoreCache())
    tasks = pl.DataFrame(
        [(identity, problem.task) for identity, problem in problems.items()],
        schema=["problem_id", "task"],
        orient="row",
    )
    correct = pl.col("lenient") == "correct"
    per_problem = verdicts.join(tasks, on="problem_id").group_by("task", "problem_id").agg(p=correct.mean(), n=pl.len())
    return per_problem.group_by("task").agg(
        pl.col("p").mean(), variance=(pl.col("p") * (1 - pl.col("p")) / pl.col("n")).sum() / pl.len() ** 2
    )


def test_pass_at_1_over_1000_samples_of_three_tasks_is_that_of_the_hf_engine_within_sampling_error(
    sampler, hf, problems, token_ids
):
    params = SamplingParams(max_tokens=200)
    with Jail(Specification(tuple(TASKS), params={}, user_folder=Path("tasks").absolute()), workers=2) as jail:
        ours, theirs = (
            pass_at_1(engine.sample(requests(token_ids, samples=50, seed=seed), params), problems, jail)
            for engine, seed in ((sampler, 4), (hf, 5))
        )
    both = ours.join(theirs, on="task")
    assert both.height == len(TASKS)
    z = (both["p"] - both["p_right"]).abs() / (both["variance"] + both["variance_right"]).sqrt()
    assert z.max() < 4, both
    assert both["p"].min() > 0.02


def exact_summary(model, prompt, response):
    """Return cumulative log-probability and mean entropy of a response by one plain forward pass."""
    ids = torch.tensor([[*prompt, *response]])
    with torch.inference_mode():
        logs = model(ids).logits[0].double().log_softmax(-1)[len(prompt) - 1 : -1]
    drawn = logs[torch.arange(len(response)), torch.tensor(response)]
    return float(drawn.sum()), float(-(logs.exp() * logs).sum(-1).mean())


def test_log_probabilities_are_the_models_own_and_their_bounds_hold_the_entropy(sampler, token_ids):
    asked = requests(dict(list(token_ids.items())[:6]), samples=2, seed=6)
    completions = by_key(sampler.sample(asked, SamplingParams(max_tokens=40, logprobs=5)))
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    for request in asked:
        completion = completions[request.problem_id, request.sample_index]
        response = FACTS.tokenizer.encode(completion.text, add_special_tokens=False)
        if completion.finish_reason is FinishReason.STOP:
            response = [*response, FACTS.stop_ids[0]]
        if len(response) != completion.n_tokens:
            continue  # a text that its tokenizer would write with other tokens
        cumulative, entropy = exact_summary(model, request.token_ids, response)
        summary = completion.logprobs
        assert summary.cumulative == pytest.approx(cumulative, abs=1e-3)
        assert summary.mean == pytest.approx(cumulative / len(response), abs=1e-4)
        assert summary.entropy_low - 1e-4 <= entropy <= summary.entropy_high + 1e-4
        assert summary.entropy_low < summary.entropy_high


def engine_core():
    import psutil

    (found,) = [child for child in psutil.Process().children() if "EngineCore" in child.name()]
    return found.pid


def test_an_engine_that_is_killed_is_started_again_and_loses_nothing(sampler, notes, token_ids):
    asked = requests(token_ids, samples=8, seed=7)
    params = SamplingParams(max_tokens=100)
    completions = []
    for completion in sampler.sample(asked, params):
        completions.append(completion)
        if len(completions) == 50:
            os.kill(engine_core(), signal.SIGKILL)
    assert len(completions) == len(asked)
    assert set(by_key(completions)) == {(request.problem_id, request.sample_index) for request in asked}
    assert FinishReason.ABORT not in {completion.finish_reason for completion in completions}
    assert len(notes) == 1
    undisturbed = by_key(sampler.sample(asked, params))
    same = sum(undisturbed[key].text == completion.text for key, completion in by_key(completions).items())
    assert same >= 0.99 * len(asked)


def test_a_request_that_kills_the_engine_three_times_is_given_up_and_costs_no_other(token_ids):
    """Use a real fault: vLLM's CPU engine dies when a prompt with a seed is computed in pieces."""
    made = load(notes := [], batch_size=8, enable_chunked_prefill=True, max_num_batched_tokens=256)
    try:
        short = FACTS.tokenizer.encode("What is 2 + 2?", add_special_tokens=True)
        fatal = Request("fatal", 0, 99, tuple(short * (400 // len(short))))
        other = Request("other", 0, 1, tuple(short))
        completions = by_key(made.sample([other, fatal], SamplingParams(max_tokens=4)))
    finally:
        made.close()
    assert completions["fatal", 0].finish_reason is FinishReason.ABORT
    assert completions["fatal", 0].text == ""
    assert completions["other", 0].finish_reason in (FinishReason.STOP, FinishReason.LENGTH)
    assert len(notes) == 3  # twice to find it, once to see that the engine works without it


def test_what_is_described_is_what_the_engine_has(sampler):
    described = sampler.describe()
    assert described["engine"] == "vllm"
    assert described["dtype"] == "float32"
    assert described["prefix_caching"] is True
    assert described["context_length"] == CONTEXT
    assert described["stop_ids"] == list(FACTS.stop_ids)
    assert "vllm 0." in described["versions"]
