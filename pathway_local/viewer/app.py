"""The viewer's pages, as an application for a web server."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qsl

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from pathway_local import __version__
from pathway_local.case import Case, fingerprint
from pathway_local.errors import PathwayError
from pathway_local.pages.page import FOLDER as PAGES
from pathway_local.pages.page import environment, outside, passages
from pathway_local.pages.voices import Voice, case_table, voice
from pathway_local.viewer.selection import choices, columns_of, selection_in
from pathway_local.viewer.verdicts import PAGE, KnownCase, Selection, Verdicts
from pathway_local.words.language import Language

FOLDER = Path(__file__).with_name("templates")

MOST_BYTES = 1 << 16
"""Bytes of a form: a longer one is refused."""

MOST_DIGITS = 9
"""Digits of a number in an address."""


@dataclass(frozen=True, slots=True)
class Judged:
    """What raters said of a case under one rubric; `note` says if the file has other texts now."""

    rubric: str
    note: str
    voices: tuple[Voice, ...]


class Viewer:
    """Serves one person. What that person chose stays in memory, so that no address holds it."""

    def __init__(self, verdicts: Verdicts, say: Language) -> None:
        self.folder = ""
        """The path below which the pages lie."""
        self._verdicts, self._say = verdicts, say
        self._selections = [Selection()]
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
        ]
        handlers = {HTTPException: refused, PathwayError: complained, Exception: failed}
        return Starlette(routes=routes, exception_handlers=handlers)

    def refusal(self, phrase: str) -> str:
        """Return a page for somebody who is not let in: it does not reveal `folder`."""
        return self._templates.get_template("refusal.html").render(say=self._say, said=self._say(phrase))

    def _page(self, template: str, status: int = 200, **values: object) -> Response:
        ours = {"say": self._say, "base": self.folder, "version": __version__}
        return HTMLResponse(self._templates.get_template(template).render(**ours, **values), status)

    async def _start(self, _request: Request) -> Response:
        return RedirectResponse(f"{self.folder}/table/0", 303)

    async def _select(self, request: Request) -> Response:
        chosen = selection_in(await _form(request))
        if chosen not in self._selections:
            self._selections.append(chosen)
        return RedirectResponse(f"{self.folder}/table/{self._selections.index(chosen)}", 303)

    async def _table(self, request: Request) -> Response:
        chosen, verdicts, say = self._chosen(request), self._verdicts, self._say
        asked, here = _number(request.query_params.get("page", "1")), request.path_params["number"]
        with verdicts.current():
            cases, shown = verdicts.show(chosen)
            last = max(1, -(-shown // PAGE))
            page = min(max(1, asked), last)
            rows = [
                (verdicts.to_read(case, rubric, records), rubric, f"{self.folder}/case/{here}/{case.key}")
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
        verdicts, number = self._verdicts, request.path_params["number"]
        with verdicts.current():
            case = verdicts.case(_number(request.path_params["key"]))
            if case is None:
                raise HTTPException(404)
            cases, _ = verdicts.show(self._chosen(request))
            place, before, after = verdicts.neighbours(case.key)
            inputs = verdicts.texts.of(case.id) if verdicts.texts else None
            judged = list(self._judged(case, inputs))
        missing = "view_no_texts" if verdicts.texts is None else "not_in_file" if inputs is None else ""
        return self._page(
            "case.html",
            case=case,
            metadata=[(outside(name, 120), outside(value)) for name, value in case.metadata.items() if value],
            texts=passages({name: text for name, text in (inputs or {}).items() if text}),
            note=self._say(missing) if missing else "",
            judged=judged,
            place=place,
            cases=cases,
            before="" if before is None else f"{self.folder}/case/{number}/{before}",
            after="" if after is None else f"{self.folder}/case/{number}/{after}",
            table=f"{self.folder}/table/{number}",
        )

    def _judged(self, case: KnownCase, inputs: dict[str, str] | None) -> Iterator[Judged]:
        """Yield what raters said of a case under each rubric, in the run's order."""
        verdicts, say = self._verdicts, self._say
        order = list(verdicts.rubrics)
        records = sorted(verdicts.run.records(cases=[case.id]), key=lambda record: order.index(record.rubric))
        for name, own in groupby(records, key=lambda record: record.rubric):
            rubric = verdicts.rubrics[name]
            said = verdicts.to_read(case, rubric, list(own)).said
            now = fingerprint(verdicts.run.key, rubric.texts_of(Case(case.id, inputs))) if inputs is not None else ""
            changed = inputs is not None and any(each.about not in ("", now) for each in said)
            note = say("changed_texts") if changed else ""
            yield Judged(outside(name, 120), note, tuple(voice(each, rubric, say) for each in said))

    def _chosen(self, request: Request) -> Selection:
        number = _number(request.path_params["number"])
        if not 0 <= number < len(self._selections):
            raise HTTPException(404)
        return self._selections[number]


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
