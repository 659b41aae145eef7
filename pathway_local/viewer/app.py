"""The viewer's pages and forms, as an application for a web server."""

from collections.abc import Callable, Mapping, Sequence
from math import nan
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pathway_local import __version__
from pathway_local.case import CaseRef
from pathway_local.errors import PathwayError, RatingsError
from pathway_local.pages.page import FOLDER as PAGES
from pathway_local.pages.page import environment, outside, passages
from pathway_local.pages.voices import case_table
from pathway_local.ratings.adjudication import NOTE, adjudicate, adjudicator
from pathway_local.verdict import Number
from pathway_local.viewer.case_page import SCORE, OpenCase, to_read
from pathway_local.viewer.table_page import choices, columns_of, selection_in
from pathway_local.viewer.verdicts import PAGE, Selection, Verdicts
from pathway_local.words.language import Language

FOLDER = Path(__file__).with_name("templates")

MOST_BYTES = 1 << 16
"""Bytes of a form: a longer one is refused."""

MOST_DIGITS = 9
"""Digits of a number in an address."""


class Viewer:
    """Serves one person. What that person chose and is called stays in memory, so that no address holds it."""

    def __init__(self, verdicts: Verdicts, say: Language, command: Sequence[str], *, read_only: bool) -> None:
        self.folder = ""
        """The path below which the pages lie."""
        self._verdicts, self._say, self._command, self._read_only = verdicts, say, command, read_only
        self._selections = [Selection()]
        self._person = ""
        self._templates = environment(FOLDER)

    def application(self, report: Callable[[Exception], None]) -> Starlette:
        """Return the application; `report` hears of exceptions that are faults of the program."""

        async def refused(_request: Request, error: Exception) -> Response:
            status = error.status_code if isinstance(error, HTTPException) else 400
            return self._page("message.html", status, said=self._say("view_no_page"))

        async def complained(_request: Request, error: Exception) -> Response:
            return self._page("message.html", 500, said=outside(error, 600))

        async def failed(_request: Request, error: Exception) -> Response:
            report(error)
            return self._page("message.html", 500, said=self._say("view_fault"))

        style = "".join((folder / "style.css").read_text(encoding="utf-8") for folder in (PAGES, FOLDER))
        keys = (FOLDER / "keys.js").read_text(encoding="utf-8")
        routes = [
            Route("/", self._start),
            Route("/style.css", Response(style, media_type="text/css"), methods=["GET"]),
            Route("/keys.js", Response(keys, media_type="text/javascript"), methods=["GET"]),
            Route("/select", self._select, methods=["POST"]),
            Route("/table/{number}", self._table),
            Route("/case/{number}/{key}", self._case),
            Route("/case/{number}/{key}", self._agree, methods=["POST"]),
        ]
        handlers = {HTTPException: refused, PathwayError: complained, Exception: failed}
        return Starlette(routes=routes, exception_handlers=handlers)

    def refusal(self, phrase: str) -> str:
        """Return a page for somebody who is not let in: it does not reveal `folder`."""
        return self._templates.get_template("refusal.html").render(say=self._say, said=self._say(phrase))

    def _page(self, template: str, status: int = 200, **values: object) -> Response:
        ours = {"say": self._say, "base": self.folder, "version": __version__, "read_only": self._read_only}
        return HTMLResponse(self._templates.get_template(template).render(**ours, **values), status)

    async def _start(self, _request: Request) -> Response:
        return self._to("/table/0")

    async def _select(self, request: Request) -> Response:
        chosen = selection_in(await _form(request))
        if chosen not in self._selections:
            self._selections.append(chosen)
        return self._to(f"/table/{self._selections.index(chosen)}")

    async def _table(self, request: Request) -> Response:
        chosen, verdicts, say = self._chosen(request), self._verdicts, self._say
        asked, here = _number(request.query_params.get("page", "1")), request.path_params["number"]
        with verdicts.current():
            cases, shown = verdicts.show(chosen)
            last = max(1, -(-shown // PAGE))
            page = min(max(1, asked), last)
            rows = [
                (to_read(verdicts, case, rubric, records), rubric, f"{self.folder}/case/{here}/{case.key}", ())
                for case, name, records in verdicts.page(page)
                for rubric in [verdicts.rubrics[name]]
            ]
            several, has_texts = len(verdicts.rubrics) > 1, verdicts.texts is not None
            return self._page(
                "table.html",
                run=outside(verdicts.run.path.stem, 120),
                cases=cases,
                chosen=chosen,
                choices=choices(verdicts, chosen, say),
                table=case_table(rows, columns_of(verdicts), say, has_rubrics=several, has_texts=has_texts),
                has_texts=has_texts,
                page=page,
                pages=last,
                before=f"{self.folder}/table/{here}?page={page - 1}" if page > 1 else "",
                after=f"{self.folder}/table/{here}?page={page + 1}" if page < last else "",
            )

    async def _case(self, request: Request) -> Response:
        return self._show_case(request, {}, saved="saved" in request.query_params)

    async def _agree(self, request: Request) -> Response:
        form = await _form(request)
        if self._read_only:
            raise HTTPException(403)
        verdicts, path = self._verdicts, self._verdicts.run.path
        try:
            with verdicts.current():
                case = self._found(request)
                given = self._agreed(case, form)
            adjudicate(path, form.get("rubric", ""), *given, form.get(NOTE, ""), self._command)
        except PathwayError as error:
            return self._show_case(request, form, problem=f"{str(error).removeprefix(f'{path}: ')}. {error.hint}")
        key, saved = case.case.key, "?saved=1"
        if form.get("then") == "next":
            with verdicts.current():
                verdicts.show(self._chosen(request))
                *_, after = verdicts.neighbours(key)
            key, saved = (after, "") if after is not None else (key, saved)
        return self._to(f"/case/{request.path_params['number']}/{key}{saved}")

    def _agreed(self, case: OpenCase, form: Mapping[str, str]) -> tuple[CaseRef, str, dict[str, Number]]:
        """Return the case, the person and the scores of a form. Raises RatingsError if there are none to store."""
        person = form.get("person", "").strip()
        adjudicator(person)
        self._person = person
        ref = case.ref(form.get("rubric", ""))
        if ref is None:
            raise RatingsError(self._say("view_other_texts"))
        given = {}
        for name, offered in case.offered(form["rubric"]).items():
            if text := form.get(f"{SCORE}{name}"):
                given[name] = next((each for each in offered if str(each) == text), nan)
        return ref, person, given

    def _show_case(
        self, request: Request, filled: Mapping[str, str], *, saved: bool = False, problem: str = ""
    ) -> Response:
        verdicts, say = self._verdicts, self._say
        with verdicts.current():
            found = self._found(request)
            cases, _ = verdicts.show(self._chosen(request))
            place, before, after = verdicts.neighbours(found.case.key)
            judged = list(found.judged(self._person, filled, say))
        here = f"{self.folder}/case/{request.path_params['number']}"
        missing = "view_no_texts" if verdicts.texts is None else "not_in_file" if found.inputs is None else ""
        kept = found.case.metadata.items()
        return self._page(
            "case.html",
            409 if problem else 200,
            SCORE=SCORE,
            NOTE=NOTE,
            case=found.case,
            metadata=[(outside(name, 120), outside(value)) for name, value in kept if value],
            texts=passages({name: text for name, text in (found.inputs or {}).items() if text}),
            note=say(missing) if missing else "",
            judged=judged,
            place=place,
            cases=cases,
            before="" if before is None else f"{here}/{before}",
            after="" if after is None else f"{here}/{after}",
            here=f"{here}/{found.case.key}",
            table=f"{self.folder}/table/{request.path_params['number']}",
            saved=saved,
            problem=outside(problem, 600),
        )

    def _chosen(self, request: Request) -> Selection:
        number = _number(request.path_params["number"])
        if not 0 <= number < len(self._selections):
            raise HTTPException(404)
        return self._selections[number]

    def _found(self, request: Request) -> OpenCase:
        case = self._verdicts.case(_number(request.path_params["key"]))
        if case is None:
            raise HTTPException(404)
        return OpenCase(self._verdicts, case)

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
