"""The viewer's pages: an answer to each request that is let in."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from urllib.parse import parse_qsl

from pathway_local import __version__
from pathway_local.errors import PathwayError
from pathway_local.pages.cards import case_table, voice
from pathway_local.pages.page import FOLDER as PAGES
from pathway_local.pages.page import environment, outside, passages
from pathway_local.results.reading_list import CaseToRead, with_said
from pathway_local.results.table import score_title
from pathway_local.viewer.verdicts import FAILURES, GROUP, KIND, ORDERS, PAGE, VERDICTS, Selection, Verdicts
from pathway_local.words.language import ENGLISH, Language

FOLDER = Path(__file__).with_name("templates")

MOST_DIGITS = 9
"""Digits of a number in an address."""


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


class _NoPage(Exception):
    """An address that leads to no page."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A reply to a browser."""

    text: str
    status: int = 200
    kind: str = "text/html; charset=utf-8"
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def body(self) -> bytes:
        """The text as it is sent."""
        return self.text.encode()

    @property
    def told(self) -> dict[str, str]:
        """All headers."""
        about = {"content-type": self.kind, "content-length": str(len(self.body)), "connection": "close"}
        return {**HEADERS, **about, **self.headers}


@dataclass(frozen=True, slots=True)
class Choice:
    """A list to choose from: the name of its field, its label, and the words of each value that the form may send."""

    name: str
    label: str
    options: Mapping[str, str]
    chosen: str


class Viewer:
    """Serves one person. What that person chose stays in memory, so that no address holds it.

    `report` hears of exceptions that are faults of the program.
    """

    def __init__(self, verdicts: Verdicts, report: Callable[[Exception], None]) -> None:
        self.folder = ""
        """The path below which the pages lie."""
        self._verdicts, self.report, self._say = verdicts, report, Language(ENGLISH)
        self._selections: list[Selection] = [()]
        self._templates = environment(FOLDER)

    def answer(self, method: str, target: str, form: bytes) -> Answer:
        """Answer a request whose target begins below the folder."""
        path, _, query = target.partition("?")
        try:
            match "GET" if method == "HEAD" else method, *path.split("/")[1:]:
                case "GET", "":
                    return self._go("/table/0")
                case "GET", "style.css":
                    style = "".join((folder / "style.css").read_text(encoding="utf-8") for folder in (PAGES, FOLDER))
                    return Answer(style, kind="text/css; charset=utf-8")
                case "GET", "keys.js":
                    return Answer((FOLDER / "keys.js").read_text(encoding="utf-8"), kind="text/javascript")
                case "POST", "select":
                    return self._select(form)
                case "GET", "table", number:
                    return self._table(number, query)
                case "GET", "case", number, key:
                    return self._case(number, _number(key))
            raise _NoPage
        except _NoPage:
            return self._page("message.html", 404, said=self._say("view_no_page"))
        except PathwayError as error:
            return self._page("message.html", 500, said=outside(error, 600))
        except Exception as error:  # noqa: BLE001
            self.report(error)
            return self._page("message.html", 500, said=self._say("view_fault"))

    def refusal(self, phrase: str) -> str:
        """Return a page for somebody who is not let in: it does not reveal `folder`."""
        return self._templates.get_template("refusal.html").render(say=self._say, said=self._say(phrase))

    def _page(self, template: str, status: int = 200, **values: object) -> Answer:
        ours = {"say": self._say, "base": self.folder, "version": __version__}
        return Answer(self._templates.get_template(template).render(**ours, **values), status)

    def _go(self, path: str) -> Answer:
        return Answer("", 303, headers={"location": f"{self.folder}{path}"})

    def _select(self, form: bytes) -> Answer:
        try:
            chosen = tuple(sorted(dict(parse_qsl(form.decode("ascii"), max_num_fields=100)).items()))
        except ValueError:
            raise _NoPage from None
        if chosen not in self._selections:
            self._selections.append(chosen)
        return self._go(f"/table/{self._selections.index(chosen)}")

    def _table(self, here: str, query: str) -> Answer:
        chosen, verdicts, say = self._chosen(here), self._verdicts, self._say
        asked = _number(query.removeprefix("page=") or "1")
        with verdicts.current():
            cases, shown = verdicts.show(chosen)
            last = max(1, -(-shown // PAGE))
            page = min(max(1, asked), last)
            rows = [(case, rubric, f"{self.folder}/case/{here}/{key}") for key, case, rubric in verdicts.page(page)]
            several, has_texts = len(verdicts.data.rubrics) > 1, verdicts.texts is not None
            return self._page(
                "table.html",
                run=outside(verdicts.run.path.stem, 120),
                cases=cases,
                text=dict(chosen).get("text", ""),
                choices=_choices(verdicts, chosen, say),
                table=case_table(rows, list(verdicts.groups), say, has_rubrics=several, has_texts=has_texts),
                has_texts=has_texts,
                page=page,
                pages=last,
                before=f"{self.folder}/table/{here}?page={page - 1}" if page > 1 else "",
                after=f"{self.folder}/table/{here}?page={page + 1}" if page < last else "",
            )

    def _case(self, number: str, key: int) -> Answer:
        verdicts = self._verdicts
        with verdicts.current():
            case = verdicts.case(key)
            if case is None:
                raise _NoPage
            cases, _ = verdicts.show(self._chosen(number))
            place, before, after = verdicts.neighbours(key)
            judged = list(self._judged(case))
        missing = "view_no_texts" if verdicts.texts is None else "not_in_file" if case.texts is None else ""
        return self._page(
            "case.html",
            case=case,
            texts=passages({name: text for name, text in (case.texts or {}).items() if text}),
            note=self._say(missing) if missing else "",
            judged=judged,
            place=place,
            cases=cases,
            before="" if before is None else f"{self.folder}/case/{number}/{before}",
            after="" if after is None else f"{self.folder}/case/{number}/{after}",
            table=f"{self.folder}/table/{number}",
        )

    def _judged(self, case: CaseToRead) -> Iterator[dict[str, object]]:
        """Yield what raters said of a case under each rubric, in the run's order, and a note if it has other texts."""
        data, say = self._verdicts.data, self._say
        order = list(data.rubrics)
        records = sorted(self._verdicts.run.records(cases=[case.case]), key=lambda record: order.index(record.rubric))
        for name, own in groupby(records, key=lambda record: record.rubric):
            rubric = data.rubrics[name]
            read = with_said(data, rubric, case, own)
            note = say("changed_texts") if read.changed else ""
            voices = [voice(each, rubric, say) for each in read.said]
            yield {"rubric": outside(name, 120), "note": note, "voices": voices}

    def _chosen(self, number: str) -> Selection:
        if not 0 <= _number(number) < len(self._selections):
            raise _NoPage
        return self._selections[_number(number)]


def _number(text: str) -> int:
    """Return a number from an address; -1 if it is none."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MOST_DIGITS else -1


def _choices(verdicts: Verdicts, chosen: Selection, say: Language) -> list[Choice]:
    """Return each list to choose from that would leave out something, and what the table is sorted by."""
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": say.word(kind) for kind in verdicts.failures}
    own = defaultdict(str, chosen)
    found = [
        Choice("rubric", say.text("columns", "rubric", {}), _same(verdicts.data.rubrics), own["rubric"]),
        Choice("rater", say("view_rater"), _same(rater.name for rater in verdicts.data.raters), own["rater"]),
        Choice("level", say("view_score"), _levels(verdicts, say), own["level"]),
        Choice("outcome", say("view_outcome"), outcomes if verdicts.failures else {}, own["outcome"]),
        Choice("mark", say("view_mark"), {mark: say.word(mark) for mark in verdicts.marks}, own["mark"]),
        *(
            Choice(f"{GROUP}{name}", name, _same(values), own[f"{GROUP}{name}"])
            for name, values in verdicts.groups.items()
        ),
        Choice("order", say("view_order"), {name: say(f"view_order_{name}") for name in ORDERS}, own["order"]),
    ]
    return [each for each in found if len(each.options) > (each.name != "mark")]


def _same(values: Iterable[str]) -> dict[str, str]:
    return {value: value for value in values}


def _levels(verdicts: Verdicts, say: Language) -> dict[str, str]:
    """Return the values of each score in words, with the score's title where there are several."""
    every = [(rubric, *item) for rubric in verdicts.data.rubrics.values() for item in rubric.format.scores.items()]
    return {
        f"{name}={value:.15g}": (f"{score_title(rubric.name, name)}: " if len(every) > 1 else "")
        + say.levels(f"{value} {declared.levels.get(value, '')}".strip())
        for rubric, name, declared in every
        for value in declared.values
    }
