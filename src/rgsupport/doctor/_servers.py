"""Looks at the servers of the `openai` engine."""

import os
from collections.abc import Iterator, Mapping
from typing import Any

from rgsupport.doctor._check import Check, note, ok, problem
from rgsupport.engines import API_KEY, Engine
from rgsupport.errors import UsageError, one_line
from rgsupport.models import find
from rgsupport.types import ROLES, ModelRole

_SECONDS = 10.0
_SHOWN = 8


def check_servers(names: Mapping[ModelRole, str], engine: Engine) -> Iterator[Check]:
    """Look whether every server answers and has the models; the key is used, and never shown."""
    if engine.servers:
        yield _check_key()
    for place, server in enumerate(engine.servers):
        wanted: dict[ModelRole, str] = {
            role: name for role, name in names.items() if ROLES.index(role) % len(engine.servers) == place
        }
        yield from _check_server(server, wanted, engine)


def _check_key() -> Check:
    key = os.environ.get(API_KEY)
    if not key:
        return ok("API key", f"{API_KEY} is not set; a server of your own needs none")
    if not _can_be_sent(key):
        remedy = f"set it again, without blanks and line ends: export {API_KEY}=..."
        return problem("API key", f"{API_KEY} has characters that no key has", remedy=remedy)
    return ok("API key", f"{API_KEY} is set")


def _can_be_sent(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


def _check_server(server: str, wanted: Mapping[ModelRole, str], engine: Engine) -> Iterator[Check]:
    import httpx2  # not needed without a server

    key = os.environ.get(API_KEY, "")
    headers = {"Authorization": f"Bearer {key}"} if key and _can_be_sent(key) else {}
    try:
        # A redirect is not followed: it could carry the key elsewhere.
        answer = httpx2.get(f"{server}/models", headers=headers, timeout=_SECONDS, follow_redirects=False)
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError) as error:
        remedy = f"start it, for example: vllm serve MODEL --port 8000; then try: curl {server}/models"
        yield problem("server", f"{server} does not answer: {one_line(error)[:200]}", remedy=remedy)
        return
    if answer.status_code in (401, 403):
        remedy = f"export {API_KEY}=... with a key of that server"
        yield problem("server", f"{server} refuses us (HTTP {answer.status_code})", remedy=remedy)
    elif not answer.is_success:
        remedy = f"check the URL, which usually ends in /v1: curl {server}/models"
        yield problem("server", f"{server}/models answers with HTTP {answer.status_code}", remedy=remedy)
    else:
        yield from _judge_models(server, _served(answer), wanted, engine)


def _served(answer: Any) -> list[str] | None:  # noqa: ANN401 - an httpx2.Response
    """Return the names of the models that a server has; None if its answer does not tell."""
    try:
        return [str(entry["id"]) for entry in answer.json()["data"]]
    except (ValueError, KeyError, TypeError):
        return None


def _judge_models(
    server: str, served: list[str] | None, wanted: Mapping[ModelRole, str], engine: Engine
) -> Iterator[Check]:
    if served is None:
        remedy = f"check the URL, which usually ends in /v1: curl {server}/models"
        yield note("server", f"{server} answers, but does not say which models it has", remedy=remedy)
        return
    listed = ", ".join(served[:_SHOWN]) + (f" and {len(served) - _SHOWN} more" if len(served) > _SHOWN else "")
    yield ok("server", f"{server} has {listed or 'no models'}")
    for role, name in wanted.items():
        try:
            model = find(name, served=engine.api == "chat")
        except UsageError:  # is told where the models are looked at
            continue
        asked = model.location if model.revision is None else f"{model.location}@{model.revision}"
        if asked not in served:
            remedy = f"serve it under that name, or name one that is served with --{role}"
            yield problem("server", f"{server} has no model {asked}, which would be {role}", remedy=remedy)
