import json
import random
import shutil
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

from random_models import CONTEXT, END, EOS, save_tokenizer
from rgsupport.errors import EngineError
from rgsupport.samplers._hf_batch import Batch
from rgsupport.samplers.hf import HfSampler
from rgsupport.types import FinishReason, LogprobSummary, Request, SamplingParams

ARCHITECTURES = ("llama", "qwen2", "mistral", "gpt2", "gpt_neox")
GREEDY = SamplingParams(temperature=0.0, top_p=1.0, max_tokens=25)
WARM = SamplingParams(temperature=1.0, top_p=0.95, max_tokens=30)
SHARP = SamplingParams(temperature=0.6, top_p=0.5, max_tokens=30)


def requests_for(lengths, *, samples=1, seed=0):
    """Return requests of random prompts of these lengths, the samples of a prompt one after the other."""
    source = random.Random(seed)
    prompts = [tuple(source.randrange(4, 60) for _ in range(length)) for length in lengths]
    return [
        Request(f"problem{i}", j, source.getrandbits(63), prompt)
        for i, prompt in enumerate(prompts)
        for j in range(samples)
    ]


def by_key(completions):
    """Return completions by problem and sample, having checked that none is there twice."""
    completions = list(completions)
    found = {(c.problem_id, c.sample_index): c for c in completions}
    assert len(found) == len(completions)
    return found


@pytest.fixture(scope="module", params=ARCHITECTURES)
def architecture(request, models_folder):
    return HfSampler.load(str(models_folder / request.param), batch_size=8)


@pytest.fixture(scope="module")
def sampler(models_folder):
    return HfSampler.load(str(models_folder / "llama"))


def with_rows(sampler, rows):
    return replace(sampler, limits=replace(sampler.limits, rows=rows))


def test_greedy_texts_equal_those_of_plain_generate(architecture):
    requests = requests_for([1, 2, 30, 5, 13, 8, 40, 3])
    found = by_key(architecture.sample(requests, GREEDY))
    for request in requests:
        prompt = torch.tensor([request.token_ids])
        whole = architecture.model.model.generate(
            prompt, attention_mask=torch.ones_like(prompt), do_sample=False, max_new_tokens=25
        )
        new = whole[0, prompt.shape[1] :].tolist()
        limit = min(25, architecture.context_length - prompt.shape[1])
        new = new[:limit]
        stopped = new[-1] in (EOS, END)
        completion = found[request.problem_id, 0]
        assert completion.text == architecture.tokenizer.decode(new[:-1] if stopped else new, skip_special_tokens=True)
        assert completion.n_tokens == len(new)
        assert completion.finish_reason == (FinishReason.STOP if stopped else FinishReason.LENGTH)


def test_texts_do_not_depend_on_the_batch_size(architecture):
    requests = requests_for([3, 17, 1, 30], samples=4)
    brief = replace(WARM, max_tokens=15)
    one, three, many = (by_key(with_rows(architecture, rows).sample(requests, brief)) for rows in (1, 3, 64))
    assert one == three == many
    assert len({completion.text for completion in one.values()}) > 10  # and they are not all alike


def test_the_same_requests_give_the_same_completions_in_the_same_order(sampler):
    requests = requests_for([4, 20, 9], samples=20)
    assert list(sampler.sample(requests, WARM)) == list(sampler.sample(requests, WARM))


def test_a_part_of_the_requests_in_another_order_gives_the_same_texts(sampler):
    requests = requests_for([4, 20, 9], samples=20)
    whole = by_key(sampler.sample(requests, WARM))
    part = by_key(sampler.sample(random.Random(1).sample(requests, 25), WARM))
    assert part == {key: whole[key] for key in part}
    assert len(part) == 25


def test_another_seed_gives_another_text(sampler):
    request = requests_for([12])[0]
    texts = {c.text for c in sampler.sample([replace(request, seed=seed) for seed in range(20)], WARM)}
    assert len(texts) > 15


def test_first_tokens_follow_the_truncated_distribution_of_the_model(sampler):
    request = requests_for([10])[0]
    n_samples, params = 4000, SamplingParams(temperature=0.7, top_p=0.8, max_tokens=1)
    requests = [replace(request, sample_index=i, seed=i) for i in range(n_samples)]
    counts = Counter(c.text for c in sampler.sample(requests, params))
    with torch.inference_mode():
        logits = sampler.model.model(torch.tensor([request.token_ids])).logits[0, -1].double()
    probabilities, order = (logits / 0.7).softmax(-1).sort(descending=True)
    n_kept = int((probabilities.cumsum(-1) < 0.8).sum()) + 1
    exact = Counter()  # special tokens share the empty text
    for token, probability in zip(order[:n_kept].tolist(), probabilities[:n_kept].tolist(), strict=True):
        exact[sampler.tokenizer.decode([token], skip_special_tokens=True)] += probability
    total = sum(exact.values())
    assert counts.keys() <= exact.keys()
    expected = [probability / total * n_samples for probability in exact.values()]
    assert min(expected) > 5
    assert chisquare([counts[text] for text in exact], expected).pvalue > 1e-3


def test_a_stop_token_counts_but_is_not_part_of_the_text(sampler):
    completions = list(sampler.sample(requests_for([5, 9], samples=100), replace(WARM, max_tokens=70)))
    stopped = [c for c in completions if c.finish_reason == FinishReason.STOP]
    cut = [c for c in completions if c.finish_reason == FinishReason.LENGTH]
    assert min(len(stopped), len(cut)) > 5
    # Other special tokens, which are not in the text either, may have been drawn.
    assert all(c.n_tokens > len(c.text) and "<" not in c.text for c in stopped)
    assert all(c.n_tokens == 70 for c in cut)
    assert any(c.n_tokens == len(c.text) + 1 for c in stopped)


def test_the_end_of_the_context_cuts_a_text(sampler):
    lengths = [CONTEXT - 1, CONTEXT - 2, CONTEXT - 7, 3]
    found = by_key(sampler.sample(requests_for(lengths), replace(GREEDY, max_tokens=1000)))
    assert [found[f"problem{i}", 0].n_tokens for i in range(2)] == [1, 2]
    assert all(found[f"problem{i}", 0].n_tokens <= CONTEXT - length for i, length in enumerate(lengths))
    assert found["problem0", 0].finish_reason == FinishReason.LENGTH


def test_a_prompt_without_room_for_an_answer_is_named(sampler):
    requests = requests_for([5, CONTEXT, 5])
    with pytest.raises(EngineError, match=f"problem1 has {CONTEXT} tokens; the model takes 1 to {CONTEXT - 1}"):
        list(sampler.sample(requests, GREEDY))


def test_an_empty_prompt_is_named(sampler):
    with pytest.raises(EngineError, match="problem0 has 0 tokens"):
        list(sampler.sample(requests_for([0]), GREEDY))


def test_no_requests_give_no_completions(sampler):
    assert list(sampler.sample([], WARM)) == []


def test_requests_are_drawn_lazily_and_completions_come_as_they_end(sampler):
    n_drawn = 0

    def counted():
        nonlocal n_drawn
        for request in requests_for([5] * 40):
            n_drawn += 1
            yield request

    completions = with_rows(sampler, 4).sample(counted(), WARM)
    assert n_drawn == 0
    for n_yielded in range(1, 41):
        next(completions)
        assert n_drawn <= n_yielded + 4
    assert list(completions) == []


def test_a_short_text_overtakes_a_long_one(sampler):
    completions = list(sampler.sample(requests_for([5, 9], samples=30), replace(WARM, max_tokens=60)))
    lengths = [c.n_tokens for c in completions]
    assert lengths == sorted(lengths)  # all start together, so they end in the order of their lengths
    assert lengths[0] < lengths[-1]


def test_a_prompt_is_computed_once_for_all_its_samples(sampler):
    prompts = []
    hook = sampler.model.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: prompts.append(kwargs["input_ids"].shape), with_kwargs=True
    )
    with hook:
        list(with_rows(sampler, 4).sample(requests_for([11, 12, 13], samples=10), WARM))
    assert sorted(shape[1] for shape in prompts if shape[1] > 1) == [11, 12, 13]


def test_little_memory_bounds_the_rows_in_flight_and_changes_no_text(sampler):
    requests = requests_for([5, 30], samples=20)
    small = replace(sampler, limits=replace(sampler.limits, tokens=150))
    rows = []
    hook = sampler.model.model.register_forward_pre_hook(
        lambda _module, _args, kwargs: rows.append(kwargs["input_ids"].shape[0]), with_kwargs=True
    )
    with hook:
        found = by_key(small.sample(requests, WARM))
    assert max(rows) == 150 // (5 + WARM.max_tokens)
    assert found == by_key(sampler.sample(requests, WARM))


def test_only_the_stop_tokens_of_the_generation_configuration_are_read(models_folder, sampler, tmp_path):
    folder = shutil.copytree(models_folder / "llama", tmp_path / "model")
    path = folder / "generation_config.json"
    tuned = {
        **json.loads(path.read_text()),
        "top_k": 1,
        "temperature": 0.1,
        "repetition_penalty": 9.0,
        "do_sample": True,
    }
    path.write_text(json.dumps(tuned))
    requests = requests_for([8, 3], samples=10)
    assert list(HfSampler.load(str(folder)).sample(requests, WARM)) == list(sampler.sample(requests, WARM))


def test_texts_are_valid_unicode_even_from_random_bytes(models_folder, tmp_path):
    folder = shutil.copytree(models_folder / "llama", tmp_path / "model")
    save_tokenizer(folder, vocabulary=[chr(code) for code in range(192, 252)])  # the bytes from 0xc0 to 0xfb
    texts = [c.text for c in HfSampler.load(str(folder)).sample(requests_for([4], samples=20), WARM)]
    assert any("\ufffd" in text for text in texts)
    assert all(text.encode() for text in texts)


def test_weights_that_are_not_numbers_are_reported_and_not_sampled(models_folder):
    broken = HfSampler.load(str(models_folder / "llama"))
    broken.model.model.get_output_embeddings().weight.data.fill_(torch.nan)
    with pytest.raises(EngineError, match=r"NaN or infinity.*problem0"):
        list(broken.sample(requests_for([4]), WARM))


def test_the_facts_of_a_loaded_model_are_described(sampler):
    facts = sampler.describe()
    assert facts["architecture"] == "LlamaForCausalLM"
    assert (facts["device"], facts["dtype"]) == ("cpu", "float32")
    assert (facts["context_length"], facts["stop_ids"], facts["batch_size"]) == (CONTEXT, [EOS, END], 256)
    assert torch.__version__ in facts["versions"]
    json.dumps(facts)


def taught(model, prompt, response):
    """Return log-probability and mean entropy of a response by one plain forward pass over all of it."""
    with torch.inference_mode():
        logits = model(torch.tensor([[*prompt, *response]])).logits[0].double()
    logs = logits.log_softmax(-1)[len(prompt) - 1 : -1]
    drawn = logs[torch.arange(len(response)), torch.tensor(response)]
    return float(drawn.sum()), float(-(logs.exp() * logs).sum(-1).mean())


def all_ended(sampler, requests, params):
    """Return what becomes of the requests, token by token, by problem and sample."""
    is_stop = np.isin(np.arange(sampler.model.vocabulary), sampler.stop_ids)
    batch = Batch(sampler.model, is_stop=is_stop, limits=sampler.limits, params=params)
    source, found = iter(requests), {}
    batch.fill(source)
    while len(batch):
        found |= {(ended.request.problem_id, ended.request.sample_index): ended for ended in batch.draw()}
        batch.advance()
        batch.fill(source)
    return found


@pytest.mark.parametrize("params", [GREEDY, WARM, SHARP], ids=["greedy", "warm", "sharp"])
def test_log_probabilities_and_entropies_are_those_of_a_plain_forward_pass(architecture, params):
    requests = requests_for([1, 20, 7, 13, 2], samples=6, seed=3)  # more than the eight rows, so that rows are reused
    ended = all_ended(architecture, requests, replace(params, logprobs=4))
    completions = by_key(architecture.sample(requests, replace(params, logprobs=4)))
    assert ended.keys() == completions.keys()
    assert len(ended) == 30
    for key, row in ended.items():
        n_tokens = len(row.token_ids)  # the token that ends the text included
        cumulative, entropy = taught(architecture.model.model, row.request.token_ids, row.token_ids)
        assert row.logprob == pytest.approx(cumulative, abs=1e-4 * n_tokens)
        assert row.entropy / n_tokens == pytest.approx(entropy, abs=1e-4)
        mean = row.entropy / n_tokens
        assert completions[key].n_tokens == n_tokens
        assert completions[key].logprobs == LogprobSummary(row.logprob, row.logprob / n_tokens, mean, mean)


def test_the_rows_that_were_compared_end_at_different_times_some_by_themselves(architecture):
    ended = all_ended(architecture, requests_for([1, 20, 7, 13, 2], samples=6, seed=3), WARM)
    assert len({len(row.token_ids) for row in ended.values()}) > 3
    assert {row.stopped for row in ended.values()} == {True, False}


def test_asking_for_log_probabilities_changes_nothing_else(architecture):
    requests = requests_for([1, 20, 7, 13, 2], samples=6, seed=3)
    plain, with_sums = (by_key(architecture.sample(requests, replace(WARM, logprobs=asked))) for asked in (0, 4))
    assert all(completion.logprobs is None for completion in plain.values())
    assert plain == {key: replace(completion, logprobs=None) for key, completion in with_sums.items()}
