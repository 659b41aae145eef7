"""Serves the viewer on this machine alone, to one browser, from a process that can't open any other connection."""

import hmac
import secrets
import sys
import threading
from collections.abc import Callable, Iterable
from contextlib import suppress
from email.message import Message
from http.server import BaseHTTPRequestHandler
from socketserver import ThreadingTCPServer
from typing import Any

from pathway_local.sealing.filter import install
from pathway_local.viewer.app import Answer, Viewer

HOST = "127.0.0.1"
COOKIE = "viewer"
SECRET_BYTES = 32

MOST_BYTES = 1 << 16
"""Bytes of a form: a longer one is refused."""

SECONDS_OF_SILENCE, SECONDS_TO_END = 10, 2
"""How long a connection may say nothing, and how long the end waits for an answer that is under way."""

MOST_CONNECTIONS = 64


class Gate:
    """Checks each request before `viewer` sees it, one at a time.

    Its Host must be our address, so that no other name leads here (DNS rebinding), and its Origin, if it has one, must
    be ours; a request that changes something needs one. The first address holds a token that works once: it sets a
    cookie. All pages lie below a folder with a random name, and the cookie is for that folder: browsers send cookies of
    127.0.0.1 to every port, also to another user's.
    """

    def __init__(self, viewer: Viewer, port: int) -> None:
        self.viewer, self._host, self._lock = viewer, f"{HOST}:{port}", threading.Lock()
        self._token, self._cookie, folder = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
        self._used = False
        self.folder = viewer.folder = f"/{folder}"

    @property
    def address(self) -> str:
        """The address that lets one browser in, once."""
        return f"http://{self._host}/open/{self._token}"

    def answer(self, method: str, target: str, headers: "Message[str, str]", body: bytes) -> Answer:
        """Answer a request, or refuse it."""
        with self._lock:
            refused = self._refusal(method, target, headers)
            return refused or self.viewer.answer(method, target.removeprefix(self.folder), body)

    def close(self) -> None:
        """Let the answer under way end, and no other begin."""
        self._lock.acquire(timeout=SECONDS_TO_END)

    def refuse(self, status: int, phrase: str) -> Answer:
        """Return a page that does not reveal the folder."""
        return Answer(self.viewer.refusal(phrase), status)

    def _refusal(self, method: str, target: str, headers: "Message[str, str]") -> Answer | None:
        """Return the answer to a request that the viewer must not see; None for one that it may."""
        origins, changes = headers.get_all("origin", []), method not in ("GET", "HEAD")
        if headers.get_all("host", []) != [self._host]:
            return self.refuse(421, "view_wrong_address")
        if any(origin != f"http://{self._host}" for origin in origins) or (changes and not origins):
            return self.refuse(403, "view_other_page")
        if method == "GET" and target.startswith("/open/"):
            return self._open(target.removeprefix("/open/"))
        inside = _is(target[: len(self.folder) + 1], f"{self.folder}/")
        if inside and any(_is(value, self._cookie) for value in _cookies(headers.get_all("cookie", []))):
            return None
        return self.refuse(403, "view_not_signed_in")

    def _open(self, token: str) -> Answer:
        if self._used or not _is(token, self._token):
            return self.refuse(403, "view_not_signed_in")
        self._used = True
        # A page that goes on by itself, not a redirect: after one from another site, such as a terminal in the
        # browser, the browser would not send the cookie.
        cookie = f"{COOKIE}={self._cookie}; HttpOnly; Path={self.folder}/; SameSite=strict"
        told = {"refresh": f"0; url={self.folder}/", "set-cookie": cookie}
        return Answer(self.viewer.refusal("view_signed_in"), headers=told)


def _is(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _cookies(headers: Iterable[str]) -> Iterable[str]:
    """Yield the values of our cookie."""
    for part in ";".join(headers).split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            yield value


class Door(ThreadingTCPServer):
    """A free port on this machine; it accepts connections at once, which wait until `serve`."""

    allow_reuse_address = daemon_threads = True
    gate: Gate

    def verify_request(self, request: Any, client_address: Any) -> bool:
        """Whether there is room for one more connection."""
        return threading.active_count() <= MOST_CONNECTIONS

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a connection that broke or said nothing; the library would print a traceback."""
        if isinstance(error := sys.exc_info()[1], Exception) and not isinstance(error, OSError):
            self.gate.viewer.report(error)


class _Handler(BaseHTTPRequestHandler):
    server: Door
    timeout = SECONDS_OF_SILENCE

    def _answer(self) -> None:
        size = self.headers.get("content-length", "0")
        if not (size.isascii() and size.isdecimal() and int(size[:9]) <= MOST_BYTES and len(size) < 9):
            return self.send_error(413)
        body = self.rfile.read(int(size))
        return self._send(self.server.gate.answer(self.command, self.path, self.headers, body))

    do_GET = do_HEAD = do_POST = _answer

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse a request that the library can't read."""
        self._send(self.server.gate.refuse(code, "view_no_page"))

    def _send(self, answer: Answer) -> None:
        self.send_response_only(answer.status)
        for name, value in answer.told.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(b"" if self.command == "HEAD" else answer.body)

    def log_message(self, format: str, *args: object) -> None:
        """Write nothing: the library would log addresses."""


def open_door() -> tuple[Door, str]:
    """Take a free port on this machine, then give up all other sockets; return why that failed, or "".

    Afterwards the process can accept on that port, which leads to loopback alone, and neither connect nor open another
    socket.
    """
    door = Door((HOST, 0), _Handler)
    try:
        install("no-sockets", every_thread=True)
    except OSError as error:
        return door, error.strerror or "the kernel refused"
    return door, ""


def serve(door: Door, viewer: Viewer, ready: Callable[[str], None]) -> None:
    """Answer requests until a signal asks to end; `ready` gets the address that lets a browser in, once."""
    door.gate = Gate(viewer, door.server_address[1])
    ready(door.gate.address)
    with suppress(KeyboardInterrupt):
        door.serve_forever()
    door.gate.close()
