"""What the replies of an OpenAI-compatible server say, and what its refusals mean; pure functions of JSON values."""

import json
import re
from dataclasses import dataclass
from typing import Any, Final, cast

import numpy as np

from rgsupport.errors import EngineError
from rgsupport.samplers._summary import summarise
from rgsupport.types import LARGEST, FinishReason, LogprobSummary

_MESSAGE_LENGTH: Final = 300

# The words of vLLM, SGLang, llama.cpp, Ollama and hosted servers; a new one is an error, not a guess.
_REASONS: Final = {
    "stop": FinishReason.STOP,
    "length": FinishReason.LENGTH,
    "abort": FinishReason.ABORT,
    "error": FinishReason.ABORT,
    "content_filter": FinishReason.ABORT,
}

# "maximum context length is 2048 tokens" (vLLM, hosted), "longer than the model's context length" (SGLang), "exceeds
# the available context size" (llama.cpp), "must have less than 1024 tokens" (TGI), "prompt is too long" (hosted); of a
# prompt that fills the context to its last token vLLM says "max_tokens must be at least 1, got 0".
_TOO_LONG: Final = re.compile(
    r"context.{0,3}(length|size|window)|(prompt|input).{0,20} too long|(must have less than|maximum allowed length)"
    r"|max_new_tokens.{0,3}must be|max_(completion_)?tokens must be at least 1, got",
    re.IGNORECASE,
)
_CONTEXT: Final = re.compile(r"context.{0,3}(?:length|size|window)\D{0,20}(\d+)", re.IGNORECASE)


class MalformedError(Exception):
    """A reply that is not shaped as the API says."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered to one request.

    Attributes:
        text: The response; a thought that the server returned apart is in front of it, in `<think>`.
        finish_reason: Why it ended.
        n_tokens: New tokens.
        n_prompt_tokens: Tokens that the server read; None where it does not say.
        logprobs: As the server sent them, None without.
    """

    text: str
    finish_reason: FinishReason
    n_tokens: int
    n_prompt_tokens: int | None
    logprobs: Any


def read_reply(reply: Any) -> Reply:  # noqa: ANN401 - any JSON value
    """Return what a reply of either API says.

    Raises:
        MalformedError: It is not shaped as the API says.
        EngineError: It does not count tokens, or gives an unknown reason for its end.
    """
    match reply:
        case {"choices": [{"finish_reason": reason, **choice}], **rest}:
            pass
        case {"error": _}:
            raise MalformedError(error_message(json.dumps(reply)))
        case _:
            msg = f"a reply without exactly one choice: {json.dumps(reply)[:80]}"
            raise MalformedError(msg)
    if not isinstance(reason, str) or reason not in _REASONS:
        msg = f"the server ended a response for the unknown reason {reason!r}; known: {', '.join(_REASONS)}"
        raise EngineError(msg)
    finish_reason = _REASONS[reason]
    usage: Any = rest.get("usage")
    n_tokens = _count(usage, "completion_tokens")
    if n_tokens is None:
        msg = "the server does not count tokens (usage.completion_tokens), and without them no response can be recorded"
        raise EngineError(msg)
    return Reply(
        text=encodable(_text(choice, finish_reason)),
        finish_reason=finish_reason,
        n_tokens=n_tokens,
        n_prompt_tokens=_count(usage, "prompt_tokens"),
        logprobs=choice.get("logprobs"),
    )


def _count(usage: Any, name: str) -> int | None:  # noqa: ANN401 - any JSON value
    value = cast("dict[str, object]", usage).get(name) if isinstance(usage, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value < LARGEST else None


def _text(choice: dict[str, Any], finish_reason: FinishReason) -> str:
    match choice:
        case {"text": str(text)}:
            return text
        case {"message": {"reasoning_content": str(thought), **message}} | {
            "message": {"reasoning": str(thought), **message}
        } if thought:
            content = message.get("content")
            return join(thought, content if isinstance(content, str) else "", finish_reason=finish_reason)
        case {"message": {"content": str(content)}}:
            return content
        case _ if finish_reason is FinishReason.ABORT:
            return ""
        case _:
            msg = f"a reply without text: {json.dumps(choice)[:80]}"
            raise MalformedError(msg)


def join(thought: str, content: str, *, finish_reason: FinishReason) -> str:
    """Return the response as the model wrote it, from the two parts into which a server has split it.

    >>> join("2+2", "4", finish_reason=FinishReason.STOP), join("2+2", "", finish_reason=FinishReason.LENGTH)
    ('<think>2+2</think>4', '<think>2+2')
    """
    is_cut_while_thinking = finish_reason is FinishReason.LENGTH and not content
    return f"<think>{thought}" if is_cut_while_thinking else f"<think>{thought}</think>{content}"


def encodable(text: str) -> str:
    r"""Return the text with half characters (lone surrogates) replaced, which UTF-8 cannot hold.

    >>> encodable("a\ud83d\ude00b\ud800c")
    'a😀b�c'
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def error_message(body: str) -> str:
    """Return what a server says of an error, as one short line.

    >>> error_message('{"error": {"message": "no such model", "code": 404}}'), error_message("<p>Bad gateway")
    ('no such model', '<p>Bad gateway')
    """
    try:
        said: Any = json.loads(body)
    except (ValueError, RecursionError):
        said = body
    while isinstance(said, dict):
        parts = cast("dict[str, Any]", said)
        said = next((parts[name] for name in ("error", "message", "detail", "type") if parts.get(name)), str(parts))
    return " ".join(str(said).split())[:_MESSAGE_LENGTH]


def says_too_long(message: str) -> bool:
    """Tell whether a refusal says that prompt and response do not fit into the context.

    >>> says_too_long("This model's maximum context length is 2048 tokens"), says_too_long("unknown field 'top_k'")
    (True, False)
    """
    return _TOO_LONG.search(message) is not None


def named_context(message: str) -> int | None:
    """Return the context length that a refusal names.

    >>> named_context("This model's maximum context length is 2048 tokens. However, you requested 4096")
    2048
    """
    found = _CONTEXT.search(message)
    return int(found[1]) if found else None


def summary(reply: Reply, *, top: int, vocabulary: int | None) -> LogprobSummary | None:
    """Return the summary of a reply's log-probabilities, None if it has no tokens.

    The bounds of the entropy are left out where a position has fewer than `top` tokens, since it cannot be told then
    that no more probable one is missing.

    Raises:
        EngineError: They are missing, or not those of every token.
    """
    if reply.n_tokens == 0:
        return None
    try:
        drawn, rows = _positions(reply.logprobs)
        table = np.full((len(rows), top), -np.inf)
        for row, values in zip(table, rows, strict=True):
            # Servers add the token that was drawn to the most probable ones; sorted, it falls behind them.
            best = sorted(values, reverse=True)[:top]
            row[: len(best)] = best
        is_whole = all(len(values) >= min(top, vocabulary or top) for values in rows)
        if len(drawn) == reply.n_tokens:
            return summarise(np.array(drawn, dtype=np.float64), table, vocabulary=vocabulary if is_whole else None)
        reason = f"{len(drawn)} of them for {reply.n_tokens} tokens"
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        reason = "none" if not reply.logprobs else f"unusable ones ({error})"
    msg = f"--logprobs needs the log-probability of every token, but the server gives {reason}; leave --logprobs out"
    raise EngineError(msg)


def best_logprob(reply: Reply) -> float:
    """Return the log-probability of the most probable first token.

    Raises:
        EngineError: It is missing.
    """
    try:
        return max(_positions(reply.logprobs)[1][0])
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        msg = "--logprobs needs the log-probability of every token, but the server gives none; leave --logprobs out"
        raise EngineError(msg) from error


def _positions(logprobs: Any) -> tuple[list[float], list[list[float]]]:  # noqa: ANN401 - any JSON value
    """Return per position the log-probability of the token that was drawn, and those of the most probable ones."""
    if "content" in logprobs:  # of chat, and of llama.cpp everywhere
        drawn = [float(position["logprob"]) for position in logprobs["content"]]
        tops = [[float(token["logprob"]) for token in position["top_logprobs"]] for position in logprobs["content"]]
    else:
        drawn = [float(value) for value in logprobs["token_logprobs"]]
        tops = [[float(value) for value in position.values()] for position in logprobs["top_logprobs"]]
    return drawn, tops
