"""The openai engine against a real `vllm serve` process, with real faults between them."""

import json
import logging
import threading
import time
from importlib.resources import files
from random import Random

import pytest
import torch
from transformers import AutoModelForCausalLM

from faulty_proxy import DROP, Answer, FaultyProxy
from rgsupport import prompts
from rgsupport.engines import API_KEY
from rgsupport.errors import EngineError, UsageError
from rgsupport.samplers.facts import read_facts
from rgsupport.samplers.hf import HfSampler
from rgsupport.samplers.openai import OpenAISampler
from rgsupport.types import FinishReason, Request, SamplingParams
from vllm_server import VllmServer, free_port

MODEL = str(files("rgsupport") / "mini" / "base")
NAME = "served-name"
FACTS = read_facts(MODEL, revision=None)
GREEDY = SamplingParams(temperature=0, max_tokens=100)
LOGGED = SamplingParams(logprobs=2, max_tokens=5)
DRAWN = SamplingParams(temperature=1.0, max_tokens=60)
NUMBERS = (656, 789, 540, 97, 1001)


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with VllmServer(MODEL, folder=tmp_path_factory.mktemp("server"), name=NAME) as started:
        yield started


@pytest.fixture(scope="module")
def running_proxy(server):
    with FaultyProxy(server.url) as started:
        yield started


@pytest.fixture
def proxy(running_proxy):
    running_proxy.reset()
    return running_proxy


@pytest.fixture(scope="module")
def load():
    made = []

    def load(url, *, model=NAME, api="completions", batch_size=None, **options):
        given = {"timeout_seconds": 60.0, "patience_seconds": 60.0, **options}
        sampler = OpenAISampler.load(
            server=url, model=model, api=api, batch_size=batch_size, options=given, vocabulary=FACTS.vocabulary
        )
        made.append(sampler)
        return sampler

    yield load
    for sampler in made:
        sampler.close()


@pytest.fixture(scope="module")
def sampler(load, server):
    return load(server.url)


@pytest.fixture(scope="module")
def through_proxy(load, running_proxy):
    running_proxy.reset()
    return load(running_proxy.url, batch_size=16)


@pytest.fixture(scope="module")
def impatient(load, running_proxy):
    running_proxy.reset()
    return load(running_proxy.url, patience_seconds=0.2, timeout_seconds=10.0)


@pytest.fixture(scope="module")
def chatting(load, running_proxy):
    running_proxy.reset()
    return load(running_proxy.url, api="chat")


def question(number):
    return f"Find the prime factorization of {number}. Write the factors separated by × signs."


def request(number, *, index=0, seed=0):
    text = prompts.render(question(number), system="", tokenizer=FACTS.tokenizer)
    return Request(str(number), index, seed, prompts.encode(text, tokenizer=FACTS.tokenizer), text)


def as_chat(asked):
    """Return a request in the form in which a server applies its own template."""
    message = ("user", question(int(asked.problem_id)))
    return Request(asked.problem_id, asked.sample_index, asked.seed, (), "", (message,))


def requests(*, samples):
    source = Random(samples)
    return [request(number, index=index, seed=source.getrandbits(63)) for number in NUMBERS for index in range(samples)]


def by_key(completions):
    return {(completion.problem_id, completion.sample_index): completion for completion in completions}


# --- without vLLM ---------------------------------------------------------------------------------------------------


def test_a_server_that_is_not_there_is_told_at_once_with_its_address(load):
    url = f"http://127.0.0.1:{free_port()}/v1"
    began = time.monotonic()
    with pytest.raises(EngineError, match=f"no server answers at {url}"):
        load(url, patience_seconds=600.0)
    assert time.monotonic() - began < 60


@pytest.mark.parametrize("key", ["two words", "schlüssel", "a\nb"])
def test_what_can_be_no_key_is_refused_without_being_shown(load, monkeypatch, key):
    monkeypatch.setenv(API_KEY, key)
    with pytest.raises(UsageError, match=API_KEY) as caught:
        load("http://127.0.0.1:9/v1")
    assert key not in str(caught.value)


# --- what is sampled ------------------------------------------------------------------------------------------------


@pytest.mark.vllm
def test_greedy_texts_are_those_of_the_hf_engine(sampler):
    asked = [request(number) for number in NUMBERS]
    theirs = HfSampler.load(MODEL, device="cpu").sample(asked, GREEDY)
    assert by_key(sampler.sample(asked, GREEDY)) == by_key(theirs)


@pytest.mark.vllm
def test_the_same_seed_gives_the_same_text_and_each_sample_has_its_own(sampler):
    asked = requests(samples=40)
    first, again = (by_key(sampler.sample(order, DRAWN)) for order in (asked, asked[::-1]))
    assert first.keys() == {(one.problem_id, one.sample_index) for one in asked}
    assert {key: completion.seed for key, completion in first.items()} == {
        (one.problem_id, one.sample_index): one.seed for one in asked
    }
    assert sum(again[key].text == completion.text for key, completion in first.items()) >= 0.99 * len(asked)
    assert len({completion.text for completion in first.values()}) > len(asked) / 4


@pytest.mark.vllm
def test_a_response_is_cut_at_the_token_limit_and_says_so(sampler):
    completions = list(sampler.sample(requests(samples=1), SamplingParams(max_tokens=2)))
    assert {(completion.finish_reason, completion.n_tokens) for completion in completions} == {(FinishReason.LENGTH, 2)}


@pytest.mark.vllm
def test_what_is_described_is_json_and_what_the_server_tells(sampler, server):
    described = sampler.describe()
    assert json.loads(json.dumps(described)) == described
    assert described["engine"] == "openai"
    assert described["server"] == server.url
    assert described["model"] == NAME
    assert described["context_length"] == 2048
    assert described["versions"].startswith("vllm 0.")
    assert described["prompt"] == "token ids"
    assert described["not_honoured"] == []
    assert (described["top_k"], described["penalties"]) == ("off", "off")


@pytest.mark.vllm
def test_a_chat_server_writes_the_same_prompt_and_gives_the_same_texts(chatting, proxy, sampler):
    asked = [request(number) for number in NUMBERS]
    assert by_key(chatting.sample(map(as_chat, asked), GREEDY)) == by_key(sampler.sample(asked, GREEDY))
    assert chatting.describe()["not_honoured"] == []
    assert chatting.describe()["prompt"] == "messages"


@pytest.mark.vllm
def test_a_thought_that_a_chat_server_keeps_apart_is_joined_with_the_answer(chatting, proxy):
    def apart(path, body, answer):
        message = answer["choices"][0]["message"]
        message["reasoning_content"], message["content"] = "so " + message["content"][:3], message["content"][3:]
        return answer

    asked = [as_chat(request(number)) for number in NUMBERS]
    plain = by_key(chatting.sample(asked, GREEDY))
    proxy.after = apart
    joined = by_key(chatting.sample(asked, GREEDY))
    for key, completion in joined.items():
        whole = plain[key].text
        assert completion.text == f"<think>so {whole[:3]}</think>{whole[3:]}"


# --- log-probabilities ----------------------------------------------------------------------------------------------


def exact_summary(model, prompt, response):
    """Return cumulative log-probability and mean entropy of a response by one plain forward pass."""
    with torch.inference_mode():
        logs = model(torch.tensor([[*prompt, *response]])).logits[0].double().log_softmax(-1)[len(prompt) - 1 : -1]
    drawn = logs[torch.arange(len(response)), torch.tensor(response)]
    return float(drawn.sum()), float(-(logs.exp() * logs).sum(-1).mean())


@pytest.mark.vllm
@pytest.mark.parametrize("api", ["completions", "chat"])
def test_log_probabilities_are_the_models_own_and_their_bounds_hold_the_entropy(sampler, chatting, proxy, api):
    asked = requests(samples=2)
    params = SamplingParams(temperature=1.5, top_p=0.9, max_tokens=30, logprobs=3)
    drawn = chatting.sample(map(as_chat, asked), params) if api == "chat" else sampler.sample(asked, params)
    completions = by_key(drawn)
    model = AutoModelForCausalLM.from_pretrained(MODEL, dtype=torch.float32).eval()
    n_checked = 0
    for one in asked:
        completion = completions[one.problem_id, one.sample_index]
        response = FACTS.tokenizer.encode(completion.text, add_special_tokens=False)
        if completion.finish_reason is FinishReason.STOP:
            response = [*response, FACTS.stop_ids[0]]
        if len(response) != completion.n_tokens:
            continue  # a text that its tokenizer would write with other tokens
        n_checked += 1
        cumulative, entropy = exact_summary(model, one.token_ids, response)
        assert completion.logprobs.cumulative == pytest.approx(cumulative, abs=1e-3)
        assert completion.logprobs.mean == pytest.approx(cumulative / len(response), abs=1e-4)
        assert completion.logprobs.entropy_low - 1e-4 <= entropy <= completion.logprobs.entropy_high + 1e-4
        assert completion.logprobs.entropy_low < completion.logprobs.entropy_high
    assert n_checked >= 3


@pytest.mark.vllm
def test_a_server_without_log_probabilities_is_refused_before_anything_is_sampled(through_proxy, proxy):
    proxy.before = lambda _, body: {name: value for name, value in body.items() if name != "logprobs"}
    with pytest.raises(EngineError, match="the server gives none"):
        list(through_proxy.sample(requests(samples=1), LOGGED))
    assert {body["max_tokens"] for _, _, body in proxy.seen} == {1}


@pytest.mark.vllm
def test_log_probabilities_that_change_with_temperature_are_refused(through_proxy, proxy):
    def tempered(path, body, answer):
        (top,) = answer["choices"][0]["logprobs"]["top_logprobs"]
        top.update({token: value / max(body["temperature"], 0.1) for token, value in top.items()})
        return answer

    proxy.after = tempered
    with pytest.raises(EngineError, match="not the model's own"):
        list(through_proxy.sample(requests(samples=1), LOGGED))


# --- what a server does not honour ----------------------------------------------------------------------------------


def without(*names):
    return lambda _, body: body and {name: value for name, value in body.items() if name not in names}


def refusing(*names):
    def before(_, body):
        strange = [name for name in names if body and name in body]
        return Answer(400, {"error": {"message": f"unknown field {strange[0]!r}"}}) if strange else body

    return before


def only_text(_, body):
    return Answer(422, {"detail": "prompt must be text"}) if body and isinstance(body["prompt"], list) else body


def always_greedy(_, body):
    return body and {**body, "temperature": 0}


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("before", "not_honoured"),
    [
        (without("seed"), ["seed"]),
        (refusing("seed"), ["seed"]),
        (without("top_p"), ["top_p"]),
        (without("top_k", "min_p", "repetition_penalty"), ["neutral_defaults"]),
        (refusing("min_p"), ["neutral_defaults"]),
        (only_text, ["token_ids"]),
        (without("seed", "top_p", "top_k"), ["neutral_defaults", "seed", "top_p"]),
        # Whether a server heeds a seed cannot be seen where it always says the same.
        (always_greedy, []),
    ],
)
def test_what_a_server_does_not_honour_is_found_out_and_told(load, proxy, before, not_honoured):
    proxy.before = before
    described = load(proxy.url).describe()
    assert described["not_honoured"] == not_honoured
    assert (described["top_k"] == "off") is ("neutral_defaults" not in not_honoured)
    assert described["prompt"] == ("text" if "token_ids" in not_honoured else "token ids")


@pytest.mark.vllm
def test_where_no_token_ids_are_taken_the_text_gives_the_same_responses(load, proxy, sampler):
    proxy.before = only_text
    asked = [request(number) for number in NUMBERS]
    assert by_key(load(proxy.url).sample(asked, GREEDY)) == by_key(sampler.sample(asked, GREEDY))


@pytest.mark.vllm
def test_a_server_that_reads_another_prompt_than_ours_is_refused(through_proxy, proxy):
    """Some servers put the prompts of completions into a template, too, or add a second BOS."""
    proxy.before = lambda _, body: {**body, "prompt": [1, *body["prompt"]]}
    with pytest.raises(EngineError, match=r"read \d+ tokens where the prompt of problem .*--api chat"):
        list(through_proxy.sample(requests(samples=1), GREEDY))


@pytest.mark.vllm
def test_narrow_seeds_and_another_name_of_the_token_limit_are_found_out(load, proxy):
    def old_and_new(_, body):
        if body is None:
            return body
        if "max_tokens" in body:
            return Answer(400, {"error": {"message": "Unsupported parameter: 'max_tokens'"}})
        if body.get("seed", 0) >= 2**31:
            return Answer(400, {"error": {"message": "seed is no 32-bit integer"}})
        body["max_tokens"] = body.pop("max_completion_tokens")
        return body

    proxy.before = old_and_new
    sampler = load(proxy.url, api="chat")
    completions = list(sampler.sample(map(as_chat, requests(samples=8)), DRAWN))
    assert len({completion.text for completion in completions}) > len(NUMBERS)
    assert sampler.describe()["seed_bits"] == 31
    assert sampler.describe()["not_honoured"] == []


# --- faults ---------------------------------------------------------------------------------------------------------

PASSING_FAULTS = (
    Answer(429, {"error": {"message": "slow down"}}, {"Retry-After": "1"}),
    Answer(500, {"error": {"message": "oh"}}),
    Answer(503, "busy"),
    DROP,
    Answer(200, "<html>not JSON"),
    Answer(200, {"choices": []}),
    Answer(408, "late", delay=0.5),
)


@pytest.mark.vllm
def test_passing_faults_lose_nothing_and_give_nothing_twice(through_proxy, proxy, sampler):
    asked = requests(samples=12)
    was_asked = set()

    def faulty(_, body):
        if body["seed"] in was_asked:
            return body
        was_asked.add(body["seed"])
        return PASSING_FAULTS[body["seed"] % len(PASSING_FAULTS)]

    proxy.before = faulty
    completions = list(through_proxy.sample(iter(asked), DRAWN))
    assert len(completions) == len(asked)
    assert len(proxy.seen) == 2 * len(asked)
    undisturbed = by_key(sampler.sample(asked, DRAWN))
    assert by_key(completions).keys() == undisturbed.keys()
    same = sum(completion.text == undisturbed[key].text for key, completion in by_key(completions).items())
    assert same >= 0.99 * len(asked)


@pytest.mark.vllm
@pytest.mark.parametrize("fault", [Answer(500, "this one always fails"), DROP, Answer(200, {"choices": None})])
def test_a_request_at_which_the_server_fails_three_times_is_given_up_and_costs_no_other(through_proxy, proxy, fault):
    asked = requests(samples=2)
    proxy.before = lambda _, body: fault if body["seed"] == asked[3].seed else body
    completions = by_key(through_proxy.sample(asked, DRAWN))
    given_up = completions.pop((asked[3].problem_id, asked[3].sample_index))
    assert (given_up.finish_reason, given_up.text, given_up.n_tokens) == (FinishReason.ABORT, "", 0)
    assert {completion.finish_reason for completion in completions.values()} <= {FinishReason.STOP, FinishReason.LENGTH}
    assert len([body for _, _, body in proxy.seen if body and body.get("seed") == asked[3].seed]) == 3


@pytest.mark.vllm
@pytest.mark.parametrize("fault", [Answer(500, "ill"), Answer(429, "full"), DROP, Answer(200, "no JSON")])
def test_a_server_that_fails_at_everything_is_waited_for_and_then_reported(impatient, proxy, fault):
    proxy.before = lambda _, body: fault
    with pytest.raises(EngineError, match=r"has been away for \d+ s .*what was finished is kept") as caught:
        list(impatient.sample(requests(samples=2), DRAWN))
    assert "\n" not in str(caught.value)


@pytest.mark.vllm
def test_a_response_that_takes_too_long_is_asked_again(load, proxy):
    sampler = load(proxy.url, timeout_seconds=3.0)
    slow = [Answer(200, {}, delay=5.0)]
    proxy.before = lambda _, body: slow.pop() if slow else body
    completions = list(sampler.sample(requests(samples=1), GREEDY))
    assert {completion.finish_reason for completion in completions} == {FinishReason.STOP}


@pytest.mark.vllm
@pytest.mark.parametrize("status", [400, 401, 404, 422])
def test_a_refusal_is_one_line_with_the_servers_words_and_asked_once(through_proxy, proxy, status):
    proxy.before = lambda _, body: Answer(status, {"error": {"message": "no\nsuch thing"}})
    with pytest.raises(EngineError, match=f"{status} no such thing"):
        list(through_proxy.sample([request(97)], DRAWN))
    assert len(proxy.seen) == 1


@pytest.mark.vllm
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda answer: answer.pop("usage"), "does not count tokens"),
        (lambda answer: answer["choices"][0].update(finish_reason="bored"), "unknown reason 'bored'"),
    ],
)
def test_a_reply_that_cannot_be_recorded_is_an_error(through_proxy, proxy, change, told):
    def after(path, body, answer):
        change(answer)
        return answer

    proxy.after = after
    with pytest.raises(EngineError, match=told):
        list(through_proxy.sample(requests(samples=1), DRAWN))


@pytest.mark.vllm
def test_an_unknown_model_is_refused_with_the_names_that_are_served(load, server):
    with pytest.raises(EngineError, match=rf"does not serve 'served-nam'; did you mean {NAME}\?; it serves {NAME}"):
        load(server.url, model="served-nam")


@pytest.mark.vllm
def test_a_model_is_also_known_by_the_folder_it_was_loaded_from(load, server):
    assert load(server.url, model=MODEL).describe()["model"] == NAME


# --- prompts that do not fit ----------------------------------------------------------------------------------------


def hides_the_context(path, body, answer):
    if path.endswith("/models"):
        for card in answer["data"]:
            del card["max_model_len"]
    return answer


LONG = Request("long", 0, 1, (100,) * 2048, "")
LONG_CHAT = Request("long", 0, 1, (), "", (("user", question(97) * 200),))


@pytest.mark.vllm
@pytest.mark.parametrize(("api", "long"), [("completions", LONG), ("chat", LONG_CHAT)])
def test_a_prompt_that_does_not_fit_costs_that_prompt_only(load, proxy, api, long):
    proxy.after = hides_the_context
    sampler = load(proxy.url, api=api)
    short = [as_chat(one) if api == "chat" else one for one in requests(samples=1)]
    completions = by_key(sampler.sample([long, *short], GREEDY))
    too_long = completions.pop(("long", 0))
    assert (too_long.finish_reason, too_long.text, too_long.n_tokens) == (FinishReason.PROMPT_TOO_LONG, "", 0)
    assert {completion.finish_reason for completion in completions.values()} == {FinishReason.STOP}


@pytest.mark.vllm
def test_a_known_context_spares_the_server_the_question(through_proxy, proxy):
    (completion,) = through_proxy.sample([LONG], GREEDY)
    assert completion.finish_reason is FinishReason.PROMPT_TOO_LONG
    assert not proxy.seen


@pytest.mark.vllm
def test_a_server_that_refuses_more_tokens_than_fit_is_asked_for_those_that_fit(load, proxy):
    """Strict servers refuse a prompt that fits when not all the tokens asked for would."""
    room = 2048 - len(request(97).token_ids)

    def strict(_, body):
        if body and body["max_tokens"] > room:
            said = f"This model's maximum context length is 2048 tokens. However, you requested {body['max_tokens']}"
            return Answer(400, {"error": {"message": said}})
        return body

    proxy.before, proxy.after = strict, hides_the_context
    (completion,) = load(proxy.url).sample([request(97)], SamplingParams(temperature=0, max_tokens=32768))
    assert completion.finish_reason is FinishReason.STOP
    assert completion.text
    assert [body["max_tokens"] for _, _, body in proxy.seen if body][-3:] == [32768, 1, room]


@pytest.mark.vllm
def test_a_prompt_that_a_server_cuts_silently_is_not_taken_for_the_whole(through_proxy, proxy):
    proxy.before = lambda _, body: {**body, "prompt": body["prompt"][-8:]}
    (completion,) = through_proxy.sample([request(98)], GREEDY)
    assert completion.finish_reason is FinishReason.PROMPT_TOO_LONG


# --- keys and proxies -----------------------------------------------------------------------------------------------


@pytest.mark.vllm
def test_the_key_goes_to_the_server_and_nowhere_else(load, proxy, monkeypatch, caplog):
    key = "sk-secret-0123456789"
    monkeypatch.setenv(API_KEY, key)
    caplog.set_level(logging.DEBUG)
    sampler = load(proxy.url, patience_seconds=0.2)
    assert {headers["Authorization"] for _, headers, _ in proxy.seen} == {f"Bearer {key}"}
    told = [repr(sampler), json.dumps(sampler.describe()), repr(list(sampler.sample([request(97)], GREEDY)))]
    for status in (400, 401, 500):
        proxy.before = lambda _, body, status=status: Answer(status, {"error": {"message": f"wrong key {key}"}})
        with pytest.raises(EngineError, match=r"wrong key \*\*\*") as caught:
            list(sampler.sample([request(97)], GREEDY))
        told.append("".join(map(repr, (caught.value, caught.value.__cause__))))
    told.append(caplog.text)
    assert "trying again" in caplog.text
    assert not [text for text in told if key in text]


@pytest.mark.vllm
def test_this_machine_is_reached_past_a_proxy_of_the_environment(load, server, monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    assert len(list(load(server.url).sample(requests(samples=1), GREEDY))) == len(NUMBERS)


# --- last, since it takes the server away ---------------------------------------------------------------------------


@pytest.mark.vllm
def test_a_server_that_is_killed_and_started_again_loses_nothing(load, server):
    asked = requests(samples=40)
    sampler = load(server.url, patience_seconds=1800.0)
    undisturbed = by_key(sampler.sample(asked, DRAWN))
    starter = threading.Thread(target=server.start)
    completions = []
    for completion in sampler.sample(iter(asked), DRAWN):
        completions.append(completion)
        if len(completions) == 50:
            server.kill()
            starter.start()
    starter.join()
    assert len(completions) == len(asked)
    assert by_key(completions).keys() == undisturbed.keys()
    assert FinishReason.ABORT not in {completion.finish_reason for completion in completions}
    same = sum(completion.text == undisturbed[key].text for key, completion in by_key(completions).items())
    assert same >= 0.99 * len(asked)
