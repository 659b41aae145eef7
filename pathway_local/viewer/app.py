"""The viewer's pages and forms, as an application for a web server."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from math import nan
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pathway_local import __version__
from pathway_local.errors import PathwayError, RatingsError
from pathway_local.pages.page import FOLDER as PAGES
from pathway_local.pages.page import environment, outside
from pathway_local.ratings.adjudication import NOTE, adjudicate, adjudicator
from pathway_local.viewer.case_page import SCORE, agreeable, case_page, offers
from pathway_local.viewer.table_page import case_table, choices, level_charts, selection_in
from pathway_local.viewer.verdict_index import PAGE, CaseTexts, IndexedCase, Selection, VerdictIndex
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
            cases, shown = self._index.show(chosen)
            last = max(1, -(-shown // PAGE))
            page = min(max(1, asked), last)
            rows = self._index.page(page)
            charts = level_charts(self._index, chosen.by, self._say)

        def link(to: int) -> str:
            return f"{self.folder}/table/{number}?page={to}" if 1 <= to <= last else ""

        text = self._page(
            "table.html",
            cases=cases,
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
                *_, after = self._index.neighbours(case.key)
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
            cases, _ = self._index.show(chosen)
            place, before, after = self._index.neighbours(case.key)
            page = case_page(self._index, self._texts, case, self._person, filled, self._say)
        number = request.path_params["number"]

        def link(key: int | None) -> str:
            return "" if key is None else f"{self.folder}/case/{number}/{key}"

        text = self._page(
            "case.html",
            SCORE=SCORE,
            NOTE=NOTE,
            page=page,
            place=place,
            cases=cases,
            before=link(before),
            after=link(after),
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
