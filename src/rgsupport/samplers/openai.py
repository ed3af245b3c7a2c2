"""`OpenAISampler`: a model behind an OpenAI-compatible server, one request per sample, a bounded number in flight."""

import asyncio
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, Self

from rgsupport.errors import EngineError
from rgsupport.samplers._async import EventLoop
from rgsupport.samplers._openai_dialect import ask
from rgsupport.samplers._openai_http import GivenUpError, RefusedError, Server
from rgsupport.samplers._openai_probe import Findings, is_alive, probe, top_logprobs_at
from rgsupport.samplers._openai_reply import Reply, best_logprob, named_context, says_too_long, summary
from rgsupport.types import Completion, FinishReason, Request, SamplingParams

_IN_FLIGHT: Final = 256
_TIMEOUT_SECONDS: Final = 3600.0
_PATIENCE_SECONDS: Final = 1800.0
_MOST_GIVEN_UP_IN_A_ROW: Final = 20
_SAME_LOGPROB: Final = 0.1  # nats; a server computes alike, but not bit by bit


class OpenAISampler:
    """A model behind a server. Satisfies `protocols.Sampler`.

    When it is made, tiny requests find out what the server takes and heeds; `describe` tells the rest. A server that is
    away or overloaded is asked again for as long as patience lasts; a request at which it fails by itself three times
    is given up.
    """

    def __init__(
        self, server: Server, findings: Findings, loop: EventLoop, *, window: int, vocabulary: int | None
    ) -> None:
        """Keep what `load` has made."""
        self._server = server
        self._findings = findings
        self._loop = loop
        self._window = window
        self._vocabulary = vocabulary
        self._room: dict[str, int] = {}  # of problems whose prompts leave less than was asked for
        self._given_up_in_a_row = 0

    @classmethod
    def load(
        cls,
        *,
        server: str,
        model: str,
        api: str,
        batch_size: int | None,
        options: Mapping[str, Any],
        vocabulary: int | None,
    ) -> Self:
        """Find out what a server can do.

        Args:
            server: Base URL, such as http://localhost:8000/v1.
            model: Name that the server knows the model by, or the folder it was loaded from.
            api: One of `engines.APIS`.
            batch_size: Requests in flight; 256 when None.
            options: Of `engines.ENGINE_OPTIONS`.
            vocabulary: Number of tokens the model knows, None if unknown.

        Raises:
            UsageError: The API key in the environment cannot be a key.
            EngineError: The server does not answer, does not serve the model, or refuses a plain request.
        """
        window = batch_size or _IN_FLIGHT
        made = Server(
            server,
            timeout=options.get("timeout_seconds", _TIMEOUT_SECONDS),
            patience=options.get("patience_seconds", _PATIENCE_SECONDS),
            connections=2 * window,  # each request may be accompanied by one that asks whether the server lives
        )
        loop = EventLoop()
        try:
            findings = loop.run(probe(made, model=model, api=api))
        except BaseException:
            _end(made, loop)
            raise
        return cls(made, findings, loop, window=window, vocabulary=vocabulary)

    def sample(self, requests: Iterable[Request], params: SamplingParams) -> Iterator[Completion]:
        """Yield each request's completion when it ends, in the order they end.

        Raises:
            EngineError: The server refuses a request, leaves out what must be recorded, or has been away too long.
        """
        if params.logprobs:
            self._loop.run(self._check_logprobs())

        async def answer(request: Request) -> Completion:
            return await self._answer(request, params)

        yield from self._loop.stream(requests, answer, window=self._window)

    def describe(self) -> dict[str, object]:
        """Return what was found out about the server, as it belongs into the record of a run."""
        dialect, found = self._findings.dialect, self._findings
        is_neutral = "neutral_defaults" not in found.not_honoured
        context = {} if found.context_length is None else {"context_length": found.context_length}
        return {
            "engine": "openai",
            "server": self._server.url,
            "model": dialect.model,
            "api": dialect.api,
            "batch_size": self._window,
            "prompt": "messages" if dialect.api == "chat" else "token ids" if dialect.takes_token_ids else "text",
            "seed_bits": dialect.seed_bits,
            "top_k": "off" if is_neutral else "the server's default",
            "penalties": "off" if is_neutral else "the server's default",
            "extra_fields": dict(dialect.extras),
            "not_honoured": list(found.not_honoured),
            "versions": found.versions,
            **context,
        }

    def close(self) -> None:
        """Close the connections and end the thread that held them."""
        _end(self._server, self._loop)

    async def _answer(self, request: Request, params: SamplingParams) -> Completion:
        room = self._room.get(request.problem_id, self._known_room(request))
        max_tokens = params.max_tokens if room is None else min(params.max_tokens, room)
        if max_tokens <= 0:
            return _without_text(request, FinishReason.PROMPT_TOO_LONG)
        try:
            reply = await self._persist(request, replace(params, max_tokens=max_tokens))
        except RefusedError as refusal:
            if not says_too_long(str(refusal)):
                msg = f"the server {self._server.url} refuses problem {request.problem_id}: {refusal}"
                raise EngineError(msg) from refusal
            self._room[request.problem_id] = await self._measured_room(request, refusal, refused=max_tokens)
            return await self._answer(request, params)
        except GivenUpError as error:
            self._given_up_in_a_row += 1
            if self._given_up_in_a_row > _MOST_GIVEN_UP_IN_A_ROW:
                msg = f"the server {self._server.url} fails at one request after the other: {error}"
                raise EngineError(msg) from error
            return _without_text(request, FinishReason.ABORT)
        self._given_up_in_a_row = 0
        if self._is_cut(request, reply):
            self._room[request.problem_id] = 0
            return _without_text(request, FinishReason.PROMPT_TOO_LONG)
        return self._completion(request, reply, params)

    async def _persist(self, request: Request, params: SamplingParams) -> Reply:
        server, dialect = self._server, self._findings.dialect
        return await server.persist(
            lambda: ask(server, dialect, request, params), is_alive=lambda: is_alive(server, dialect)
        )

    def _known_room(self, request: Request) -> int | None:
        """Return how many tokens the context leaves for a response, None if that cannot be told beforehand."""
        context = self._findings.context_length
        return None if context is None or not request.token_ids else context - len(request.token_ids)

    async def _measured_room(self, request: Request, refusal: RefusedError, *, refused: int) -> int:
        """Return how many tokens the context leaves: asked with a response of one token; 0 if that does not fit either.

        Some servers refuse a prompt that fits when all the tokens that were asked for would not.
        """
        try:
            reply = await self._persist(request, SamplingParams(max_tokens=1))
        except RefusedError:
            return 0
        except GivenUpError as error:
            raise EngineError(str(error)) from error
        context = self._findings.context_length or named_context(str(refusal))
        room = None if context is None or reply.n_prompt_tokens is None else context - reply.n_prompt_tokens
        if room is None or room >= refused:
            msg = f"the server {self._server.url} refuses {refused} new tokens: {refusal}; lower --max-tokens"
            raise EngineError(msg)
        return room

    def _is_cut(self, request: Request, reply: Reply) -> bool:
        """Tell whether the server has read less than the whole prompt.

        Raises:
            EngineError: It has read another prompt than ours.
        """
        sent, read = len(request.token_ids), reply.n_prompt_tokens
        if not sent or not self._findings.counts_prompts or read == sent or read is None:
            return False
        if self._findings.dialect.takes_token_ids and read < sent:
            return True
        msg = (
            f"the server {self._server.url} read {read} tokens where the prompt of problem {request.problem_id} has "
            f"{sent}: it adds a template or a BOS, or has another tokenizer; --api chat lets it write the prompt"
        )
        raise EngineError(msg)

    def _completion(self, request: Request, reply: Reply, params: SamplingParams) -> Completion:
        logprobs = None
        if params.logprobs and reply.finish_reason is not FinishReason.ABORT:
            logprobs = summary(reply, top=params.logprobs, vocabulary=self._vocabulary)
        return Completion(
            problem_id=request.problem_id,
            sample_index=request.sample_index,
            seed=request.seed,
            text=reply.text,
            finish_reason=reply.finish_reason,
            n_tokens=reply.n_tokens,
            logprobs=logprobs,
        )

    async def _check_logprobs(self) -> None:
        """Refuse a server whose log-probabilities change with temperature and top-p: they are not the model's own.

        Raises:
            EngineError: They change, or there are none.
        """
        dialect = self._findings.dialect
        replies = await asyncio.gather(
            *(
                top_logprobs_at(self._server, dialect, temperature=temperature, top_p=top_p)
                for temperature, top_p in ((1e-2, 1.0), (1.0, 1.0), (2.0, 1.0), (1.0, 1e-3))
            )
        )
        best = [best_logprob(reply) for reply in replies]
        if max(best) - min(best) > _SAME_LOGPROB:
            msg = (
                f"the log-probabilities of the server {self._server.url} change with temperature or top-p, so they are "
                "not the model's own; leave --logprobs out"
            )
            raise EngineError(msg)


def _end(server: Server, loop: EventLoop) -> None:
    loop.run(server.close())
    loop.close()


def _without_text(request: Request, reason: FinishReason) -> Completion:
    return Completion(request.problem_id, request.sample_index, request.seed, "", reason, 0)
