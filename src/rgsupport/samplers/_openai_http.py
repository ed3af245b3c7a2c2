"""A server over HTTP: what it refuses, what it fails at, and how long it is waited for."""

import asyncio
import itertools
import json
import logging
import os
import random
import time
from collections.abc import Awaitable, Callable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from ipaddress import ip_address
from typing import Any, Final, TypeVar
from urllib.parse import urlsplit

import httpx2

from rgsupport.engines import API_KEY
from rgsupport.errors import EngineError, UsageError, one_line
from rgsupport.samplers._openai_reply import MalformedError, error_message, says_too_long

R = TypeVar("R")

_CONNECT_SECONDS: Final = 30.0
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 15.0
_FAULTS: Final = 3
# Answers of a server, or of a gateway before it, that is away or overloaded and says nothing of the request.
_AWAY: Final = frozenset({408, 409, 425, 429, 502, 503, 529})

_log = logging.getLogger(__name__)


class RefusedError(Exception):
    """The server says that the request is wrong; asking again would not help."""


class UnavailableError(Exception):
    """No usable answer this time.

    Attributes:
        is_fault: Whether the request itself may be the cause.
        retry_after: Seconds after which the server wants to be asked again, 0 if it does not say.
    """

    def __init__(self, reason: str, *, is_fault: bool, retry_after: float = 0.0) -> None:
        super().__init__(reason)
        self.is_fault = is_fault
        self.retry_after = retry_after


class GivenUpError(Exception):
    """One request fails again and again while the server answers others."""


class Server:
    """An OpenAI-compatible server. Everything but the constructor runs on one event loop."""

    def __init__(self, url: str, *, timeout: float, patience: float, connections: int) -> None:
        """Make the client; nothing is asked yet.

        Args:
            url: Base URL, such as http://localhost:8000/v1.
            timeout: Seconds that one response may take.
            patience: Seconds that the server may be away or overloaded.
            connections: Most requests at the same time.

        Raises:
            UsageError: The API key in the environment cannot be a key.
        """
        self.url = url.rstrip("/")
        self._timeout = timeout
        self._patience = patience
        self._key = _key()
        self._last_success = -float("inf")
        self._has_told = False
        self._client = httpx2.AsyncClient(
            headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
            timeout=httpx2.Timeout(None, connect=min(timeout, _CONNECT_SECONDS)),
            limits=httpx2.Limits(max_connections=connections, max_keepalive_connections=connections),
            # A proxy that the environment names cannot reach this machine's own ports.
            trust_env=not _is_local(urlsplit(url).hostname or ""),
        )

    async def get(self, url: str) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value at a URL, asked once.

        Raises:
            RefusedError, UnavailableError: There is none.
        """
        return await self._exchange("GET", url, None)

    async def post(self, path: str, body: Mapping[str, object]) -> Any:  # noqa: ANN401 - any JSON value
        """Return the JSON value that answers a body, asked once.

        Raises:
            RefusedError, UnavailableError: There is none.
        """
        return await self._exchange("POST", f"{self.url}/{path}", json.dumps(body))

    async def persist(self, attempt: Callable[[], Awaitable[R]], *, is_alive: Callable[[], Awaitable[bool]]) -> R:
        """Return what an attempt returns, as often tried as it needs.

        Pauses grow from half a second to 15, and are as long as the server asks.

        Args:
            attempt: Asks the server once.
            is_alive: Tells whether the server answers another, harmless request.

        Raises:
            RefusedError: The server refuses the request.
            GivenUpError: The third time that it failed at it, though it was alive right before.
            EngineError: The server has been away for as long as patience lasts.
        """
        began: float | None = None
        n_faults = 0
        for n_tried in itertools.count():
            was_alive = n_faults + 1 >= _FAULTS and await is_alive()
            try:
                answer = await attempt()
            except (UnavailableError, MalformedError) as failure:
                now = time.monotonic()
                began = now if began is None else began
                is_fault = not isinstance(failure, UnavailableError) or failure.is_fault
                n_faults += is_fault
                self._stop_waiting(failure, began, is_own_fault=is_fault and was_alive)
                pause = min(_FIRST_PAUSE * 2.0 ** min(n_tried, 10), _LONGEST_PAUSE) * random.uniform(0.5, 1)
                asked = failure.retry_after if isinstance(failure, UnavailableError) else 0.0
                await asyncio.sleep(max(pause, min(asked, self._patience)))
            else:
                self._last_success = time.monotonic()
                self._has_told = False
                return answer
        raise AssertionError  # the loop has no end

    async def close(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    def hide_key(self, text: str) -> str:
        """Return the text without the API key, should a server have repeated it."""
        return text.replace(self._key, "***") if self._key else text

    def _stop_waiting(self, failure: Exception, began: float, *, is_own_fault: bool) -> None:
        """Raise when a failed request is not to be tried again; tell the log of the first failure in a row."""
        reason = self.hide_key(one_line(failure))
        if is_own_fault:
            raise GivenUpError(reason)
        now = time.monotonic()
        waited, alone = now - began, now - self._last_success
        if waited > self._patience and alone < self._patience / 2:  # the others are served meanwhile
            raise GivenUpError(reason)
        if min(waited, alone) > self._patience:
            msg = (
                f"the server {self.url} has been away for {waited:.0f} s ({reason}); what was finished is kept, start "
                "the server and give the same command again"
            )
            raise EngineError(msg)
        if not self._has_told:
            self._has_told = True
            _log.warning("the server %s does not answer (%s); trying again", self.url, reason)

    async def _exchange(self, method: str, url: str, body: str | None) -> Any:  # noqa: ANN401 - any JSON value
        headers = {"Content-Type": "application/json"} if body is not None else {}
        try:
            async with asyncio.timeout(self._timeout):
                response = await self._client.request(method, url, content=body, headers=headers)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            msg = f"no connection: {self._told(error)}"
            raise UnavailableError(msg, is_fault=False) from error
        except TimeoutError as error:
            msg = f"no response within {self._timeout:g} s"
            raise UnavailableError(msg, is_fault=True) from error
        except httpx2.RequestError as error:
            msg = f"the connection broke: {self._told(error)}"
            raise UnavailableError(msg, is_fault=True) from error
        if not response.is_success:
            raise self._failure(response)
        try:
            return json.loads(response.content)
        except (ValueError, RecursionError) as error:
            msg = f"a reply that is no JSON: {self.hide_key(response.text[:80])}"
            raise UnavailableError(msg, is_fault=True) from error

    def _failure(self, response: httpx2.Response) -> RefusedError | UnavailableError:
        status = response.status_code
        said = self.hide_key(error_message(response.text))
        reason = f"{status} {said}".strip()
        if status in (401, 403):
            return RefusedError(f"{reason}; the key is taken from the environment variable {API_KEY}")
        if response.is_redirect:
            return RefusedError(f"{reason}; it sends to {response.headers.get('location')}: name that URL")
        if "insufficient_quota" in response.text:  # a 429 that no waiting mends
            return RefusedError(reason)
        # A server whose queue is too long is busy; but by a 500 llama.cpp means a prompt that does not fit.
        if says_too_long(said) and status not in _AWAY:
            return RefusedError(reason)
        if status in _AWAY or status >= 500:
            return UnavailableError(reason, is_fault=status not in _AWAY, retry_after=_retry_after(response))
        return RefusedError(reason)

    def _told(self, error: Exception) -> str:
        return self.hide_key(one_line(error))


def _key() -> str:
    key = os.environ.get(API_KEY, "").strip()
    if not (key.isascii() and key.isprintable()) or " " in key:
        msg = f"the environment variable {API_KEY} holds what can be no key: a blank, or a character that is not ASCII"
        raise UsageError(msg)
    return key


def _is_local(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _retry_after(response: httpx2.Response) -> float:
    """Return the seconds that a server asks us to wait: given as a number or as a date."""
    text = response.headers.get("retry-after", "")
    try:
        return max(0.0, float(text)) if not text.strip()[:1].isalpha() else _seconds_until(text)
    except ValueError:
        return 0.0


def _seconds_until(date: str) -> float:
    moment = parsedate_to_datetime(date)
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return max(0.0, (aware - datetime.now(UTC)).total_seconds())
