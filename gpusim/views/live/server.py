"""A small web server for the live page: it serves the newest state, and passes on three commands.

It is reachable from this machine alone unless an address is given, and then it answers only
requests with the token.  A command needs a header that pages of other sites cannot send.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path
from threading import Semaphore, Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit

from gpusim.core.errors import UserError

LOOPBACK = "127.0.0.1"

COMMANDS = ("pause", "step", "continue")

HEADER = "X-Gpusim"
"""Header that commands must have; a page of another site cannot send it unless permitted."""

_MOST_BYTES = 1000
"""Most bytes of a command."""

MOST_CONNECTIONS = 64
"""Connections that are answered at once: a small part of the files that a process may open."""

IDLE_SECONDS = 5.0
"""After so long without a byte a connection is closed."""

_BACKLOG = 256
"""Connections that wait until they are accepted."""

_LOOK_SECONDS = 0.1

State = Mapping[str, Any]
_PAGE = Path(__file__).parent / "templates" / "live.html"
_POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


class LiveServer:
    """Serves the page in a thread of its own until it is closed.

    Args:
        port: where to listen; 0: a free one.
        state: what there is to show now, in plain JSON types; called in the server's threads.
        command: called with one of `COMMANDS` and how many cycles of a run, or runs of a sweep, a
            step has; None: the page has no commands.
        address: of this machine; any but `LOOPBACK` needs a token, which is made.

    Raises:
        UserError: the system refuses to listen at this address and port.
    """

    def __init__(
        self,
        port: int,
        state: Callable[[], State],
        command: Callable[[str, int], None] | None = None,
        address: str = LOOPBACK,
    ) -> None:
        open_to_all = not _is_loopback(address)
        self.token = secrets.token_urlsafe(16) if open_to_all else ""
        handler = type("Handler", (_Handler,), {"live": self})
        try:
            self._server = _Server((address, port), handler)
        except (OSError, OverflowError) as error:
            raise UserError(f"cannot serve on {address}:{port}: {error}") from error
        self.address, self.port = str(self._server.server_address[0]), self._server.server_port
        self.hosts = {f"{name}:{self.port}" for name in (self.address, "localhost")}
        self.open_to_all = open_to_all
        self.state = state
        self.command = command
        self._thread = Thread(target=self._server.serve_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        """What to open in a browser."""
        key = f"?token={self.token}" if self.token else ""
        return f"http://{self.address}:{self.port}/{key}"

    def close(self) -> None:
        """Stop listening."""
        self._server.closing = True
        self._server.shutdown()
        self._server.server_close()
        self._thread.join(5)


class _Server(ThreadingHTTPServer):
    """Answers `MOST_CONNECTIONS` at once; further ones wait, and cost the run no file of its own.

    Attributes:
        closing: it accepts none of those that wait.
    """

    daemon_threads = True
    request_queue_size = _BACKLOG

    def __init__(self, place: tuple[str, int], handler: type[BaseHTTPRequestHandler]) -> None:
        self.closing = False
        self._room = Semaphore(MOST_CONNECTIONS)
        super().__init__(place, handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """Begin a connection as soon as there is room."""
        while not self._room.acquire(timeout=_LOOK_SECONDS):
            if self.closing:
                self.shutdown_request(request)
                return
        try:
            super().process_request(request, client_address)
        except BaseException:
            self._room.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer a connection, in a thread of its own."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._room.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away half-way is no business of the run."""


class _Handler(BaseHTTPRequestHandler):
    live: LiveServer
    timeout = IDLE_SECONDS

    def do_GET(self) -> None:
        """The page, or what there is to show now."""
        path = urlsplit(self.path).path
        if not self._may():
            return
        if path == "/":
            page = _PAGE.read_bytes()
            self._answer(HTTPStatus.OK, page, "text/html; charset=utf-8")
        elif path == "/state":
            self._json(self.live.state())
        else:
            self._refuse(HTTPStatus.NOT_FOUND, "there is / and /state")

    def do_POST(self) -> None:
        """A command."""
        if not self._may():
            return
        if self.headers.get(HEADER) is None:
            self._refuse(HTTPStatus.FORBIDDEN, f"a command needs the header {HEADER}")
            return
        length = self.headers.get("Content-Length", "")
        if urlsplit(self.path).path != "/command" or self.live.command is None:
            self._refuse(HTTPStatus.NOT_FOUND, "there is nothing to command")
            return
        if not length.isdecimal() or int(length) > _MOST_BYTES:
            self._refuse(HTTPStatus.BAD_REQUEST, f"at most {_MOST_BYTES} bytes of JSON")
            return
        try:
            order = json.loads(self.rfile.read(int(length)))
            name, count = order["command"], order.get("cycles", order.get("runs", 1))
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            self._refuse(HTTPStatus.BAD_REQUEST, 'must be JSON such as {"command": "pause"}')
            return
        if name not in COMMANDS or type(count) is not int or not 1 <= count < 1 << 53:
            allowed = ", ".join(COMMANDS)
            self._refuse(HTTPStatus.BAD_REQUEST, f"allowed: {allowed}; by 1 or more")
            return
        self.live.command(name, count)
        self._json({"done": name})

    def _may(self) -> bool:
        """Whether a request has the token, or comes from this machine and names it as its host."""
        live = self.live
        if live.open_to_all:
            given = parse_qs(urlsplit(self.path).query).get("token", [""])[0]
            if secrets.compare_digest(given.encode(), live.token.encode()):
                return True
            self._refuse(HTTPStatus.FORBIDDEN, "the token is missing or wrong")
            return False
        if self.headers.get("Host") in live.hosts:
            return True
        self._refuse(HTTPStatus.FORBIDDEN, "asked by another name than this machine's")
        return False

    def _json(self, value: object) -> None:
        self._answer(HTTPStatus.OK, json.dumps(value).encode(), "application/json")

    def _refuse(self, status: HTTPStatus, why: str) -> None:
        self._answer(status, f"{why}\n".encode(), "text/plain; charset=utf-8")

    def _answer(self, status: HTTPStatus, body: bytes, kind: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Security-Policy", _POLICY)
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Requests are no news."""


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
