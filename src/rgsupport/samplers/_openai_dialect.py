"""How a server is asked: which of our parameters it takes, and under what names."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from rgsupport.samplers._openai_http import Server
from rgsupport.samplers._openai_reply import Reply, read_reply
from rgsupport.types import Request, SamplingParams

_PATHS: Final = {"completions": "completions", "chat": "chat/completions"}


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a server is asked.

    Attributes:
        api: One of `engines.APIS`.
        model: The name the server knows the model by.
        limit: Name of the field that bounds the new tokens.
        takes_token_ids: Whether a prompt is sent as token ids; otherwise it is text, or messages.
        seed_bits: Bits of our seeds that are sent; 0 where the server takes none.
        extras: Further fields that it takes, with their values.
    """

    api: str
    model: str
    limit: str = "max_tokens"
    takes_token_ids: bool = False
    seed_bits: int = 0
    extras: Mapping[str, object] = field(default_factory=dict[str, object])

    @property
    def path(self) -> str:
        """Where requests are posted, below the base URL."""
        return _PATHS[self.api]

    def body(self, request: Request, params: SamplingParams) -> dict[str, object]:
        """Return a request as JSON values."""
        body: dict[str, object] = {
            "model": self.model,
            self.limit: params.max_tokens,
            "temperature": params.temperature,
            "top_p": params.top_p,
            **self.extras,
        }
        if self.api == "chat":
            body["messages"] = [{"role": role, "content": content} for role, content in request.messages]
        else:
            body["prompt"] = list(request.token_ids) if self.takes_token_ids and request.token_ids else request.text
        if self.seed_bits:
            body["seed"] = request.seed % 2**self.seed_bits
        if params.logprobs and self.api == "chat":
            # One more than asked: vLLM counts the token that was drawn among them, and cuts the last one off.
            body |= {"logprobs": True, "top_logprobs": params.logprobs + 1}
        elif params.logprobs:
            body["logprobs"] = params.logprobs
        return body


async def ask(server: Server, dialect: Dialect, request: Request, params: SamplingParams) -> Reply:
    """Return the reply to a request that is asked once.

    Raises:
        RefusedError, UnavailableError, MalformedError: There is none.
        EngineError: The reply lacks what it must have.
    """
    return read_reply(await server.post(dialect.path, dialect.body(request, params)))
