"""Serves the viewer on this machine alone, to one browser, from a process that can't open any other connection."""

import hmac
import logging
import secrets
import socket
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from math import nan
from pathlib import Path
from urllib.parse import parse_qsl

import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pathway_local import __version__
from pathway_local.errors import PathwayError, RatingsError
from pathway_local.pages.tables import FOLDER as PAGES
from pathway_local.pages.tables import environment, outside
from pathway_local.ratings.adjudication import NOTE, adjudicate, adjudicator
from pathway_local.sealing.filter import install
from pathway_local.viewer.case_page import SCORE, agreeable, case_page, offers
from pathway_local.viewer.table_page import case_table, choices, level_charts, pages, selection_in
from pathway_local.viewer.verdict_index import CaseTexts, IndexedCase, Selection, VerdictIndex
from pathway_local.words.language import Language

FOLDER = Path(__file__).with_name("templates")

MOST_BYTES = 1 << 16
"""Bytes of a form: a longer one is refused."""

MOST_DIGITS = 9
"""Digits of a number in an address."""


class Viewer:
    """Serves one person. What that person chose and is called stays in memory, so that no address holds it."""

    def __init__(
        self, index: VerdictIndex, texts: CaseTexts | None, say: Language, command: Sequence[str], *, read_only: bool
    ) -> None:
        self.folder = ""
        """The path below which the pages lie."""
        self._index, self._texts, self._say, self._command = index, texts, say, command
        self._read_only = read_only
        self._selections = [Selection()]
        self._person = ""
        self._templates = environment(FOLDER)
        self._style = "".join((folder / "style.css").read_text(encoding="utf-8") for folder in (PAGES, FOLDER))
        self._keys = (FOLDER / "keys.js").read_text(encoding="utf-8")

    def application(self, report: Callable[[Exception], None]) -> Starlette:
        """Return the application; `report` hears of exceptions that are faults of the program."""

        async def failed(_request: Request, error: Exception) -> Response:
            report(error)
            return self._message(self._say("view_fault"), 500)

        routes = [
            Route("/", self._start),
            Route("/style.css", Response(self._style, media_type="text/css"), methods=["GET"]),
            Route("/keys.js", Response(self._keys, media_type="text/javascript"), methods=["GET"]),
            Route("/select", self._select, methods=["POST"]),
            Route("/table/{number}", self._table),
            Route("/case/{number}/{key}", self._case),
            Route("/case/{number}/{key}", self._agree, methods=["POST"]),
        ]
        return Starlette(
            routes=routes,
            exception_handlers={HTTPException: self._refuse, PathwayError: self._complain, Exception: failed},
        )

    def refusal(self, phrase: str) -> str:
        """Return a page for somebody who is not let in: it does not reveal `folder`."""
        return self._templates.get_template("refusal.html").render(say=self._say, said=self._say(phrase))

    def _message(self, said: str, status: int) -> Response:
        return HTMLResponse(self._page("message.html", said=outside(said, 600)), status)

    def _page(self, template: str, **values: object) -> str:
        name = outside(self._index.run.path.stem, 120)
        return self._templates.get_template(template).render(
            say=self._say, base=self.folder, run=name, version=__version__, read_only=self._read_only, **values
        )

    async def _refuse(self, _request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 400
        return self._message(self._say("view_no_page"), status)

    async def _complain(self, _request: Request, error: Exception) -> Response:
        return self._message(str(error), 500)

    async def _start(self, _request: Request) -> Response:
        return self._to("/table/0")

    async def _select(self, request: Request) -> Response:
        form = await _form(request)
        chosen = selection_in(form)
        if chosen not in self._selections:
            self._selections.append(chosen)
        return self._to(f"/table/{self._selections.index(chosen)}")

    async def _table(self, request: Request) -> Response:
        chosen = self._chosen(request)
        asked, number = _number(request.query_params.get("page", "1")), request.path_params["number"]
        with self._index.current():
            shown = self._index.show(chosen)
            last = pages(shown)
            page = min(max(1, asked), last)
            rows = self._index.page(page)
            charts = level_charts(self._index, chosen.by, self._say)

        def link(to: int) -> str:
            return f"{self.folder}/table/{number}?page={to}" if 1 <= to <= last else ""

        text = self._page(
            "table.html",
            shown=shown,
            chosen=chosen,
            choices=list(choices(self._index, chosen, self._say)),
            table=case_table(self._index, self._texts, rows, f"{self.folder}/case/{number}", self._say),
            charts=charts,
            has_texts=self._texts is not None,
            page=page,
            pages=last,
            before=link(page - 1),
            after=link(page + 1),
        )
        return HTMLResponse(text)

    async def _case(self, request: Request) -> Response:
        return self._show_case(request, {}, saved="saved" in request.query_params)

    async def _agree(self, request: Request) -> Response:
        form = await _form(request)
        if self._read_only:
            raise HTTPException(403)
        try:
            with self._index.current():
                case = self._found(request)
                store = self._agreed(case, form)
            store()
        except PathwayError as error:
            said = str(error).removeprefix(f"{self._index.run.path}: ")
            return self._show_case(request, form, problem=f"{said}. {error.hint}")
        key, saved = case.key, "?saved=1"
        if form.get("then") == "next":
            with self._index.current():
                self._index.show(self._chosen(request))
                after = self._index.neighbours(case.key).after
            key, saved = (after, "") if after is not None else (key, saved)
        return self._to(f"/case/{request.path_params['number']}/{key}{saved}")

    def _agreed(self, case: IndexedCase, form: Mapping[str, str]) -> Callable[[], None]:
        """Return the call that stores the agreed scores of a form. Raises RatingsError if there are none to store."""
        person = form.get("person", "").strip()
        adjudicator(person)
        self._person = person
        rubric, run = form.get("rubric", ""), self._index.run.path
        ref = agreeable(self._index, self._texts, case, rubric, self._say)
        if ref is None:
            raise RatingsError(self._say("view_other_texts"))
        offered = offers(self._index, case, rubric)
        chosen = {name: form[f"{SCORE}{name}"] for name in offered if form.get(f"{SCORE}{name}")}
        given = {
            name: next((each for each in offered[name] if str(each) == text), nan) for name, text in chosen.items()
        }
        return partial(adjudicate, run, rubric, ref, person, given, form.get(NOTE, ""), self._command)

    def _show_case(
        self, request: Request, filled: Mapping[str, str], *, saved: bool = False, problem: str = ""
    ) -> Response:
        chosen = self._chosen(request)
        with self._index.current():
            case = self._found(request)
            shown = self._index.show(chosen)
            beside = self._index.neighbours(case.key)
            page = case_page(self._index, self._texts, case, self._person, filled, self._say)
        number = request.path_params["number"]

        def link(key: int | None) -> str:
            return "" if key is None else f"{self.folder}/case/{number}/{key}"

        text = self._page(
            "case.html",
            page=page,
            place=beside.place,
            shown=shown,
            before=link(beside.before),
            after=link(beside.after),
            here=link(case.key),
            table=f"{self.folder}/table/{number}",
            saved=saved,
            problem=outside(problem, 600),
        )
        return HTMLResponse(text, 409 if problem else 200)

    def _chosen(self, request: Request) -> Selection:
        number = _number(request.path_params["number"])
        if not 0 <= number < len(self._selections):
            raise HTTPException(404)
        return self._selections[number]

    def _found(self, request: Request) -> IndexedCase:
        case = self._index.case(_number(request.path_params["key"]))
        if case is None:
            raise HTTPException(404)
        return case

    def _to(self, path: str) -> Response:
        return RedirectResponse(f"{self.folder}{path}", 303)


def _number(text: str) -> int:
    """Return a number from an address; -1 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else -1


async def _form(request: Request) -> dict[str, str]:
    """Return a form's fields. Raises HTTPException if it is none, or too long."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip()
    if kind != "application/x-www-form-urlencoded":
        raise HTTPException(415)
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > MOST_BYTES:
            raise HTTPException(413)
    try:
        return dict(parse_qsl(body.decode("ascii"), keep_blank_values=True, max_num_fields=100))
    except ValueError:
        raise HTTPException(400) from None


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
