"""What a server understands and honours, found out with a few tiny requests."""

import asyncio
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, cast
from urllib.parse import urlsplit

from rgsupport.errors import EngineError, nearest
from rgsupport.samplers._openai_dialect import Dialect, ask
from rgsupport.samplers._openai_http import GivenUpError, RefusedError, Server, UnavailableError
from rgsupport.samplers._openai_reply import MalformedError, Reply
from rgsupport.types import Request, SamplingParams

_SEED_BITS: Final = (63, 31)  # ours, and those of servers that keep a seed in 32 bits
# What switches off the filters and penalties that a server may take from the model's files or its own settings.
_NEUTRAL: Final[Mapping[str, object]] = {"top_k": -1, "min_p": 0.0, "repetition_penalty": 1.0}

_STORY: Final = "Once upon a time"
_IDS: Final = tuple(range(100, 108))  # in every vocabulary; what they mean does not matter
_ASKED: Final = Request(
    "", 0, 0, (), _STORY, (("user", "Tell me a very short story about anything you like, and begin at once."),)
)
_SEEDS: Final = tuple(7919 * 2**48 * (place + 1) + place for place in range(5))
_STORY_TOKENS: Final = 24
_ONE_DIFFERENT: Final = 1  # of the repeated texts: batches of unlike sizes may break a floating-point tie

_MOST_NAMES: Final = 10
_VERSION_PATHS: Final = ("/version", "/api/version", "/get_server_info")
_MAKERS: Final = {"vllm": "vllm", "sglang": "sglang", "llamacpp": "llama.cpp", "library": "ollama"}


@dataclass(frozen=True, slots=True)
class Findings:
    """What is known of a server.

    Attributes:
        dialect: How it is asked.
        context_length: Tokens of prompt and response together; None if it does not say.
        versions: Its name and version; empty if it does not say.
        counts_prompts: Whether it counted the tokens of a prompt right, each time.
        not_honoured: What it refuses or ignores, sorted.
    """

    dialect: Dialect
    context_length: int | None
    versions: str
    counts_prompts: bool
    not_honoured: tuple[str, ...]


async def probe(server: Server, *, model: str, api: str) -> Findings:
    """Find out how a server has to be asked.

    Raises:
        EngineError: It does not answer, does not know the model, or refuses even a plain request.
    """
    card = await _card(server, model)
    asking = _Asking(server)
    dialect = await _plain(asking, Dialect(api, str(card.get("id", model))))
    dialect = await _fullest(asking, dialect)
    not_honoured = await _ignored(asking, dialect) | _refused(dialect)
    context = card.get("max_model_len")
    return Findings(
        dialect=dialect,
        context_length=context if isinstance(context, int) else None,
        versions=await _versions(server, str(card.get("owned_by", ""))),
        counts_prompts=await _counts_prompts(asking, dialect),
        not_honoured=tuple(sorted(not_honoured)),
    )


async def is_alive(server: Server, dialect: Dialect) -> bool:
    """Tell whether a server answers a tiny request."""
    try:
        await ask(server, dialect, _ASKED, SamplingParams(max_tokens=1))
    except (RefusedError, UnavailableError, MalformedError):
        return False
    return True


async def top_logprobs_at(server: Server, dialect: Dialect, *, temperature: float, top_p: float) -> Reply:
    """Return a reply of one token with the log-probability of the most probable one, at some temperature and top-p.

    Raises:
        EngineError: The server refuses.
    """
    params = SamplingParams(temperature=temperature, top_p=top_p, max_tokens=1, logprobs=1)
    return await _Asking(server).reply(dialect, _ASKED, params)


class _Asking:
    """Asks tiny requests, and gives up at once what a run would wait for."""

    def __init__(self, server: Server) -> None:
        self._server = server

    async def reply(self, dialect: Dialect, request: Request, params: SamplingParams) -> Reply:
        """Return a reply.

        Raises:
            EngineError: There is none.
        """
        try:
            return await self._persist(dialect, request, params)
        except RefusedError as error:
            msg = f"the server {self._server.url} refuses a plain request: {error}"
            raise EngineError(msg) from error

    async def accepted(self, dialect: Dialect, request: Request) -> Reply | None:
        """Return the reply to a request of one token, None if it is refused."""
        try:
            return await self._persist(dialect, request, SamplingParams(temperature=1.0, top_p=1.0, max_tokens=1))
        except RefusedError:
            return None

    async def texts(self, dialect: Dialect, seeds: Sequence[int], *, temperature: float, top_p: float) -> list[str]:
        """Return one text per seed, all of one prompt."""
        params = SamplingParams(temperature=temperature, top_p=top_p, max_tokens=_STORY_TOKENS)
        asked = [self.reply(dialect, replace(_ASKED, seed=seed), params) for seed in seeds]
        return [reply.text for reply in await asyncio.gather(*asked)]

    async def _persist(self, dialect: Dialect, request: Request, params: SamplingParams) -> Reply:
        async def assume_alive() -> bool:
            return True

        try:
            return await self._server.persist(
                lambda: ask(self._server, dialect, request, params), is_alive=assume_alive
            )
        except GivenUpError as error:
            msg = f"the server {self._server.url} fails at a tiny request: {error}"
            raise EngineError(msg) from error


async def _card(server: Server, model: str) -> Mapping[str, Any]:
    """Return what the server lists of a model; nothing if it has no list.

    The first question of all is asked once: a wrong URL shall be told at once.
    """
    try:
        listed: Any = await server.get(f"{server.url}/models")
    except RefusedError as error:
        if str(error).startswith(("404", "405", "501")):
            return {}
        msg = f"the server {server.url} refuses to list its models: {error}"
        raise EngineError(msg) from error
    except UnavailableError as error:
        msg = f"no server answers at {server.url} ({error}); check --server, which ends in /v1 as a rule, and start it"
        raise EngineError(msg) from error
    entries: Any = cast("dict[str, Any]", listed).get("data") if isinstance(listed, dict) else None
    if not isinstance(entries, list):
        return {}
    cards = [cast("dict[str, Any]", entry) for entry in cast("list[Any]", entries) if isinstance(entry, dict)]
    found = [card for name in ("id", "root") for card in cards if card.get(name) == model]
    if found or not cards:
        return found[0] if found else {}
    names = [str(card.get("id")) for card in cards]
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    msg = (
        f"the server {server.url} does not serve {model!r}{nearest(model, names)}; it serves "
        f"{', '.join(names[:_MOST_NAMES])}{more}"
    )
    raise EngineError(msg)


async def _plain(asking: _Asking, dialect: Dialect) -> Dialect:
    """Return how the server is asked the plainest request."""
    renamed = replace(dialect, limit="max_completion_tokens")
    if await asking.accepted(dialect, _ASKED) is None and await asking.accepted(renamed, _ASKED) is not None:
        return renamed
    await asking.reply(dialect, _ASKED, SamplingParams(temperature=1.0, top_p=1.0, max_tokens=1))
    return dialect


async def _fullest(asking: _Asking, dialect: Dialect) -> Dialect:
    """Return the dialect with everything that the server accepts."""
    if dialect.api == "completions":
        with_ids = replace(dialect, takes_token_ids=True)
        reply = await asking.accepted(with_ids, replace(_ASKED, token_ids=_IDS))
        # A server that takes a list for text, or adds a BOS, has read another number of tokens.
        if reply is not None and reply.n_prompt_tokens in (None, len(_IDS)):
            dialect = with_ids
    for bits in _SEED_BITS:
        with_seed = replace(dialect, seed_bits=bits)
        if await asking.accepted(with_seed, replace(_ASKED, seed=2**62 + 1)) is not None:
            dialect = with_seed
            break
    for name, value in _wanted(dialect).items():
        with_field = replace(dialect, extras={**dialect.extras, name: value})
        if await asking.accepted(with_field, _ASKED) is not None:
            dialect = with_field
    return dialect


def _wanted(dialect: Dialect) -> dict[str, object]:
    wanted: dict[str, object] = {**_NEUTRAL}
    if dialect.api == "completions":
        wanted["return_tokens_as_token_ids"] = True  # or tokens of equal text would share a log-probability
        if not dialect.takes_token_ids:
            wanted["add_special_tokens"] = False  # our text has its BOS already
    return wanted


def _refused(dialect: Dialect) -> set[str]:
    refused: set[str] = set()
    if dialect.api == "completions" and not dialect.takes_token_ids:
        refused.add("token_ids")
    if not dialect.seed_bits:
        refused.add("seed")
    if not _NEUTRAL.keys() <= dialect.extras.keys():
        refused.add("neutral_defaults")
    return refused


async def _ignored(asking: _Asking, dialect: Dialect) -> set[str]:
    """Return what the server accepts and does not heed; nothing where a model that always says the same hides it."""
    narrow = replace(dialect, extras={**dialect.extras, "top_k": 1})
    free, in_top_p, in_top_k = await asyncio.gather(
        asking.texts(dialect, _SEEDS * 2, temperature=1.0, top_p=1.0),
        asking.texts(dialect, _SEEDS, temperature=2.0, top_p=1e-6),
        asking.texts(narrow if "top_k" in dialect.extras else dialect, _SEEDS, temperature=2.0, top_p=1.0),
    )
    first, second = free[: len(_SEEDS)], free[len(_SEEDS) :]
    if len(set(free)) == 1:
        return set()
    n_different = sum(one != other for one, other in zip(first, second, strict=True))
    heeded = {
        "seed": n_different <= _ONE_DIFFERENT and len(set(first)) > 1,
        "top_p": _is_one_text(in_top_p),
        "neutral_defaults": _is_one_text(in_top_k),
    }
    return {name for name, is_heeded in heeded.items() if not is_heeded}


def _is_one_text(texts: Sequence[str]) -> bool:
    (_, n_equal), *_ = Counter(texts).most_common(1)
    return n_equal >= len(texts) - _ONE_DIFFERENT


async def _counts_prompts(asking: _Asking, dialect: Dialect) -> bool:
    """Tell whether a prompt that is asked again, and may be cached, is counted whole both times."""
    request = replace(_ASKED, token_ids=_IDS)
    replies = [await asking.accepted(dialect, request) for _ in range(2)]
    counts = {reply.n_prompt_tokens for reply in replies if reply is not None}
    return counts == {len(_IDS)} if dialect.takes_token_ids else len(counts) == 1 and not counts & {None, 0}


async def _versions(server: Server, owner: str) -> str:
    address = urlsplit(server.url)
    root = f"{address.scheme}://{address.netloc}{address.path.removesuffix('/v1')}"
    for path in _VERSION_PATHS:
        try:
            told: Any = await server.get(root + path)
        except (RefusedError, UnavailableError):
            continue
        version: Any = cast("dict[str, Any]", told).get("version") if isinstance(told, dict) else None
        if isinstance(version, str):
            return f"{_MAKERS.get(owner, owner)} {version}".strip()[:100]
    return ""
