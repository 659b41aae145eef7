"""Serves the viewer on this machine alone, to one browser, from a process that can't open any other connection."""

import hmac
import logging
import secrets
import socket
from collections.abc import Callable, Iterable
from contextlib import suppress

import uvicorn
from starlette.datastructures import Headers
from starlette.responses import HTMLResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pathway_local.sealing.filter import install
from pathway_local.viewer.app import Viewer

HOST = "127.0.0.1"
COOKIE = "viewer"
SECRET_BYTES = 32

SECONDS_TO_END = 2
"""How long an interrupt waits for an answer that is under way."""

MOST_CONNECTIONS = 64

HEADERS = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
"""Every answer has these. Nothing of a page is inline, so the browser runs and styles by our own two files alone."""

Refusal = Callable[[str], str]
"""Makes a page from the name of its phrase; it must not reveal the folder."""


class Gate:
    """Checks each request before `app` sees it.

    Its Host must be our address, so that no other name leads here (DNS rebinding), and its Origin, if it has one, must
    be ours; a request that changes something needs one. The first address holds a token that works once: it sets a
    cookie. All pages lie below a folder with a random name, and the cookie is for that folder: browsers send cookies of
    127.0.0.1 to every port, also to another user's.
    """

    def __init__(self, app: ASGIApp, port: int, refusal: Refusal) -> None:
        self._app, self._refused = app, refusal
        self._host = f"{HOST}:{port}"
        self._token, self._cookie, folder = (secrets.token_urlsafe(SECRET_BYTES) for _ in range(3))
        self._used = False
        self.folder = f"/{folder}"

    @property
    def address(self) -> str:
        """The address that lets one browser in, once."""
        return f"http://{self._host}/open/{self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or pass it on."""
        if scope["type"] != "http":
            return
        refused = self._refusal(scope)
        app = refused if refused is not None else self._app

        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                kept = [(name, value) for name, value in message["headers"] if name.decode("latin-1") not in HEADERS]
                ours = [(name.encode(), value.encode()) for name, value in HEADERS.items()]
                message = {**message, "headers": [*kept, *ours]}
            await send(message)

        await app({**scope, "root_path": self.folder}, receive, guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        """Return the answer to a request that the app must not see; None for one that it may."""
        headers, path, method = Headers(scope=scope), str(scope["path"]), str(scope["method"])
        hosts, origins = headers.getlist("host"), headers.getlist("origin")
        changes = method not in ("GET", "HEAD")
        if hosts != [self._host]:
            return self._page("view_wrong_address", 421)
        if any(origin != f"http://{self._host}" for origin in origins) or (changes and not origins):
            return self._page("view_other_page", 403)
        if method == "GET" and path.startswith("/open/"):
            return self._open(path.removeprefix("/open/"))
        inside = _is(path[: len(self.folder) + 1], f"{self.folder}/")
        if inside and any(_is(value, self._cookie) for value in _cookies(headers.getlist("cookie"))):
            return None
        return self._page("view_not_signed_in", 403)

    def _open(self, token: str) -> Response:
        if self._used or not _is(token, self._token):
            return self._page("view_not_signed_in", 403)
        self._used = True
        # A page that goes on by itself, not a redirect: after one from another site, such as a terminal in the
        # browser, the browser would not send the cookie.
        response = HTMLResponse(self._refused("view_signed_in"), headers={"refresh": f"0; url={self.folder}/"})
        response.set_cookie(COOKIE, self._cookie, path=f"{self.folder}/", httponly=True, samesite="strict")
        return response

    def _page(self, name: str, status: int) -> Response:
        return HTMLResponse(self._refused(name), status)


def _is(given: str, secret: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "replace"), secret.encode())


def _cookies(headers: Iterable[str]) -> Iterable[str]:
    """Yield the values of our cookie."""
    for part in ";".join(headers).split(";"):
        name, _, value = part.strip().partition("=")
        if name == COOKIE:
            yield value


def open_door() -> tuple[socket.socket, str]:
    """Take a free port on this machine, then give up all other sockets; return why that failed, or "".

    Afterwards the process can accept on that port, which leads to loopback alone, and neither connect nor open another
    socket. The port already accepts connections, which wait until `serve`.
    """
    door = socket.create_server((HOST, 0))
    try:
        install("no-new-sockets")
    except OSError as error:
        return door, error.strerror or "the kernel refused"
    return door, ""


def serve(
    door: socket.socket, viewer: Viewer, report: Callable[[Exception], None], ready: Callable[[str], None]
) -> None:
    """Answer requests until a signal asks to end; `ready` gets the address that lets a browser in, once."""
    gate = Gate(viewer.application(report), door.getsockname()[1], viewer.refusal)
    viewer.folder = gate.folder
    # uvicorn writes addresses and tracebacks, which quote texts, to its log.
    logging.getLogger("uvicorn").disabled = logging.getLogger("uvicorn.error").disabled = True
    config = uvicorn.Config(
        gate,
        loop="asyncio",
        http="h11",
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_graceful_shutdown=SECONDS_TO_END,
    )
    ready(gate.address)
    with suppress(KeyboardInterrupt):
        uvicorn.Server(config).run(sockets=[door])
