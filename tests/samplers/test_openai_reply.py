"""What replies and refusals of servers mean; no server needed."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rgsupport.entropy import token_entropy_bounds
from rgsupport.errors import EngineError
from rgsupport.samplers._openai_reply import (
    MalformedError,
    best_logprob,
    encodable,
    error_message,
    join,
    named_context,
    read_reply,
    says_too_long,
    summary,
)
from rgsupport.types import FinishReason

USAGE = {"prompt_tokens": 3, "completion_tokens": 2}


def completion(**changes):
    return {"choices": [{"text": "4", "finish_reason": "stop", "logprobs": None, **changes}], "usage": USAGE}


def chat(message, **changes):
    return {"choices": [{"message": message, "finish_reason": "stop", **changes}], "usage": USAGE}


def test_a_completion_is_read_with_its_tokens_and_its_end():
    reply = read_reply(completion(finish_reason="length"))
    assert (reply.text, reply.finish_reason, reply.n_tokens, reply.n_prompt_tokens) == ("4", FinishReason.LENGTH, 2, 3)


@pytest.mark.parametrize("word", ["abort", "error", "content_filter"])
def test_a_response_that_the_server_gave_up_is_aborted_even_without_text(word):
    assert read_reply(chat({"content": None}, finish_reason=word)).finish_reason is FinishReason.ABORT


@pytest.mark.parametrize(
    ("message", "reason", "text"),
    [
        ({"content": "4"}, "stop", "4"),
        ({"content": "4", "reasoning": None}, "stop", "4"),
        ({"content": "4", "reasoning_content": ""}, "stop", "4"),
        ({"content": "4", "reasoning": "2+2"}, "stop", "<think>2+2</think>4"),
        ({"content": "4", "reasoning_content": "2+2"}, "stop", "<think>2+2</think>4"),
        ({"content": None, "reasoning": "2+"}, "length", "<think>2+"),
        ({"content": "", "reasoning_content": "2+"}, "length", "<think>2+"),
        ({"content": "4", "reasoning": "2+2"}, "length", "<think>2+2</think>4"),
        ({"content": None, "reasoning": "2+2"}, "stop", "<think>2+2</think>"),
    ],
)
def test_a_thought_that_comes_apart_stands_before_the_answer_again(message, reason, text):
    assert read_reply(chat(message, finish_reason=reason)).text == text


@given(thought=st.text(min_size=1), content=st.text(min_size=1))
def test_joining_keeps_both_parts_whole(thought, content):
    text = join(thought, content, finish_reason=FinishReason.STOP)
    assert text.startswith("<think>" + thought)
    assert text.endswith("</think>" + content)


@pytest.mark.parametrize(
    "reply",
    [
        None,
        [],
        "ok",
        {},
        {"choices": []},
        {"choices": None},
        {"choices": [completion()["choices"][0]] * 2, "usage": USAGE},
        {"choices": ["4"], "usage": USAGE},
        completion(text=None),
        completion(text=4),
        chat({"content": None}),
        chat({"content": ["4"]}),
        chat(None),
        {"error": {"message": "overloaded"}},
    ],
)
def test_a_reply_of_another_shape_is_malformed(reply):
    with pytest.raises(MalformedError) as caught:
        read_reply(reply)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "usage", [None, {}, {"completion_tokens": None}, {"completion_tokens": True}, {"completion_tokens": -1}]
)
def test_a_reply_without_a_count_of_tokens_is_an_error(usage):
    with pytest.raises(EngineError, match=r"does not count tokens"):
        read_reply({**completion(), "usage": usage})


@pytest.mark.parametrize("reason", ["tool_calls", None, 7, "eos"])
def test_an_unknown_reason_for_the_end_is_an_error_that_names_it(reason):
    with pytest.raises(EngineError, match=repr(reason)):
        read_reply(completion(finish_reason=reason))


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_every_text_can_be_written_and_whole_characters_stay(text):
    written = encodable(text).encode().decode()
    if text == text.encode("utf-8", "ignore").decode():
        assert written == text


@given(
    st.recursive(
        st.none() | st.text() | st.integers(),
        lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(["error", "message", "detail", "x"]), inner),
    )
)
def test_whatever_a_server_says_becomes_one_short_line(said):
    for body in (json.dumps(said), str(said)):
        line = error_message(body)
        assert len(line.splitlines()) <= 1
        assert len(line) <= 300


@pytest.mark.parametrize(
    "message",
    [
        "This model's maximum context length is 2048 tokens. However, your prompt contains 3000 input tokens",
        "This model's maximum context length is 4096 tokens. However, you requested 4472 tokens (376 in the messages)",
        "max_tokens must be at least 1, got 0. (parameter=max_tokens, value=0)",
        "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
        "Input length (11 tokens) exceeds the maximum allowed length (10 tokens).",
        "request (4390 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "Context size has been exceeded.",
        "Requested tokens (2285) exceed context window of 2048",
        "context_length_exceeded",
        "prompt is too long: 208310 tokens > 200000 maximum",
        "`inputs` must have less than 1024 tokens. Given: 1500",
        "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 376 `inputs` tokens and 4096 `max_new_tokens`",
    ],
)
def test_what_servers_say_of_prompts_that_do_not_fit_is_understood(message):
    assert says_too_long(message)


@pytest.mark.parametrize(
    "message",
    [
        "The model `x` does not exist.",
        "Requested sample logprobs of 21, which is greater than max allowed: 20",
        "max_tokens is too large: 32768. This model supports at most 16384 completion tokens",
        "Unsupported parameter: 'max_tokens' is not supported with this model.",
        "Incorrect API key provided",
    ],
)
def test_other_refusals_are_not_taken_for_long_prompts(message):
    assert not says_too_long(message)


def test_the_context_is_read_where_a_refusal_names_it():
    assert named_context("longer than the model's context length (40960 tokens)") == 40960
    assert named_context("the prompt has 17 tokens, too many for the context") is None


def with_logprobs(logprobs):
    return read_reply(completion(logprobs=logprobs))


LOGS = [[math.log(p) for p in row] for row in ((0.6, 0.3, 0.05), (0.5, 0.25, 0.2))]
# The second token was none of the two most probable: servers add it to them.
OF_COMPLETIONS = with_logprobs(
    {
        "token_logprobs": [LOGS[0][0], LOGS[1][2]],
        "top_logprobs": [{"a": LOGS[0][0], "b": LOGS[0][1]}, {"c": LOGS[1][2], "a": LOGS[1][0], "b": LOGS[1][1]}],
    }
)
OF_CHAT = with_logprobs(
    {
        "content": [
            {"logprob": LOGS[0][0], "top_logprobs": [{"logprob": value} for value in LOGS[0]]},
            {"logprob": LOGS[1][2], "top_logprobs": [{"logprob": value} for value in LOGS[1]]},
        ]
    }
)


@pytest.mark.parametrize("reply", [OF_COMPLETIONS, OF_CHAT])
def test_log_probabilities_of_both_apis_give_the_same_summary(reply):
    found = summary(reply, top=2, vocabulary=10)
    bounds = token_entropy_bounds(np.array(LOGS)[:, :2], vocabulary=10)
    assert found.cumulative == pytest.approx(math.log(0.6) + math.log(0.2))
    assert found.mean == pytest.approx(found.cumulative / 2)
    assert found.entropy_low == pytest.approx(bounds.low.mean())
    assert found.entropy_high == pytest.approx(bounds.high.mean())
    assert best_logprob(reply) == pytest.approx(math.log(0.6))


def test_bounds_are_left_out_where_a_probable_token_may_be_missing_or_the_vocabulary_is_unknown():
    assert summary(OF_COMPLETIONS, top=3, vocabulary=10).entropy_low is None
    assert summary(OF_COMPLETIONS, top=2, vocabulary=None).entropy_high is None


@pytest.mark.parametrize(
    "logprobs",
    [
        None,
        {},
        {"content": None},
        {"token_logprobs": [-1.0], "top_logprobs": [{"a": -1.0}]},
        {"token_logprobs": [None, -1.0], "top_logprobs": [None, {"a": -1.0}]},
        {"token_logprobs": [float("nan"), -1.0], "top_logprobs": [{"a": -1.0}, {"a": -1.0}]},
        {"token_logprobs": [-1.0, -1.0], "top_logprobs": [{"a": 1.0}, {"a": -1.0}]},
        "no",
    ],
)
def test_missing_or_impossible_log_probabilities_are_an_error(logprobs):
    with pytest.raises(EngineError, match="--logprobs"):
        summary(with_logprobs(logprobs), top=1, vocabulary=10)


def test_an_empty_response_has_no_summary():
    reply = read_reply({**completion(text=""), "usage": {"completion_tokens": 0}})
    assert summary(reply, top=1, vocabulary=10) is None
