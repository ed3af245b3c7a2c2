"""A real HTTP proxy before a real server, which does to requests and answers what a test asks for."""

import http.client
import json
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True)
class Answer:
    """An answer that the server behind is never asked for; `body` is a JSON value, or text that is none."""

    status: int
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0


class Drop:
    """The connection is cut without an answer."""


DROP = Drop()


def _as_asked(_path: str, body: Any) -> Any:
    return body


def _as_answered(_path: str, _body: Any, answer: Any) -> Any:
    return answer


class FaultyProxy:
    """Listens on a port of its own.

    Attributes:
        before: Takes path and body of a request; returns the body to forward, an `Answer`, or `DROP`.
        after: Takes path and body of a request and the JSON value of its answer; returns the one to send.
        seen: Path, headers and body of every request, in order.
    """

    def __init__(self, target: str):
        self.reset()
        self._target = urlsplit(target).netloc
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.proxy = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._server.cut_all()
        self._server.server_close()
        self._thread.join()

    def reset(self) -> None:
        """Pass everything on as it is, and forget what was seen."""
        self.before: Callable[[str, Any], Any] = _as_asked
        self.after: Callable[[str, Any, Any], Any] = _as_answered
        self.seen: list[tuple[str, dict[str, str], Any]] = []

    def forward(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        """Ask the server behind; 502 when it is away."""
        connection = http.client.HTTPConnection(self._target, timeout=300)
        try:
            connection.request(method, path, body=body, headers={"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, response.read()
        except (OSError, http.client.HTTPException):
            return 502, b"bad gateway"
        finally:
            connection.close()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512
    proxy: FaultyProxy

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self._connections: set[socket.socket] = set()

    def get_request(self):
        connection, address = super().get_request()
        self._connections.add(connection)
        return connection, address

    def shutdown_request(self, request):
        self._connections.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request, client_address):
        """Say nothing of clients that hang up: they are made to."""
        if not isinstance(sys.exc_info()[1], OSError):
            super().handle_error(request, client_address)

    def cut_all(self):
        """Cut the connections that clients keep open, so that no thread waits for them."""
        for connection in list(self._connections):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server

    def do_GET(self):
        self._handle(None)

    def do_POST(self):
        self._handle(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))

    def _handle(self, body):
        proxy = self.server.proxy
        proxy.seen.append((self.path, dict(self.headers), body))
        wanted = proxy.before(self.path, body)
        if isinstance(wanted, Drop):
            self.close_connection = True
        elif isinstance(wanted, Answer):
            time.sleep(wanted.delay)
            content = wanted.body if isinstance(wanted.body, str) else json.dumps(wanted.body)
            self._send(wanted.status, content.encode(), wanted.headers)
        else:
            status, content = proxy.forward(self.command, self.path, None if wanted is None else _encoded(wanted))
            if status == 200:
                content = _encoded(proxy.after(self.path, body, json.loads(content)))
            self._send(status, content, {})

    def _send(self, status, content, headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(content)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        """Say nothing."""


def _encoded(value: Any) -> bytes:
    return json.dumps(value).encode()
