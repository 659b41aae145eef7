"""The viewer as a browser on this machine sees it, without a server: each request goes straight to the gate."""

import asyncio
import re
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from html_page import PageParser

from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import Gate
from pathway_local.viewer.verdicts import CaseTexts, Verdicts
from pathway_local.words.language import Language

PORT = 4711
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Answer:
    status: int
    headers: Headers
    text: str

    def header(self, name: str) -> str:
        return dict(self.headers).get(name, "")

    @property
    def page(self) -> PageParser:
        return PageParser(self.text)

    @property
    def said(self) -> str:
        return self.page.said

    @property
    def table(self) -> list[str]:
        """The rows of the table of cases in words."""
        table = self.text.partition('<table class="cases">')[2].partition("<tbody>")[2]
        rows = re.findall("<tr>(.*?)</tr>", table, re.DOTALL)
        return [" ".join(unescape(re.sub("<[^>]*>", " ", row)).split()) for row in rows]


class Desk:
    """A person at a browser: keeps the cookie, and follows where a form leads."""

    def __init__(self, gate: Gate, index: Verdicts, faults: list[Exception]) -> None:
        self.gate, self.index, self.faults = gate, index, faults
        self.cookie = ""

    def sign_in(self) -> None:
        told = self.ask("GET", self.gate.address.removeprefix(ORIGIN))
        assert told.status == 200, told.text
        self.cookie = told.header("set-cookie").partition(";")[0]

    def ask(self, method: str, path: str, body: bytes = b"", headers: Headers | None = None) -> Answer:
        """One request, with exactly these headers if any are given."""
        usual = [("host", HOST), ("cookie", self.cookie)]
        if method == "POST":
            usual += [("origin", ORIGIN), ("content-type", "application/x-www-form-urlencoded")]
        given = [(name.encode(), value.encode()) for name, value in (usual if headers is None else headers)]
        where, _, query = path.partition("?")
        scope = {
            "type": "http", "method": method, "path": where, "query_string": query.encode(), "headers": given,
            "http_version": "1.1", "scheme": "http", "server": ("127.0.0.1", PORT), "client": ("127.0.0.1", 9),
        }  # fmt: skip
        sent: list[dict[str, object]] = []

        async def receive() -> dict[str, object]:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: dict[str, object]) -> None:
            sent.append(message)

        try:
            asyncio.run(self.gate(scope, receive, send))  # type: ignore[arg-type]
        except Exception as error:
            if error not in self.faults:
                raise
        start = sent[0]
        told = tuple((name.decode(), value.decode()) for name, value in start["headers"])  # type: ignore[attr-defined]
        text = b"".join(each.get("body", b"") for each in sent[1:])  # type: ignore[misc]
        return Answer(int(start["status"]), told, text.decode())  # type: ignore[call-overload]

    def get(self, path: str) -> Answer:
        return self.ask("GET", f"{self.gate.folder}{path}")

    def post(self, path: str, form: Mapping[str, str]) -> Answer:
        return self.ask("POST", f"{self.gate.folder}{path}", urlencode(form).encode())

    def sent(self, path: str, form: Mapping[str, str]) -> Answer:
        """The page to which a form leads."""
        told = self.post(path, form)
        assert told.status == 303, (told.text, *map(traceback.format_exception, self.faults))
        return self.ask("GET", told.header("location"))

    def chosen(self, **form: str) -> Answer:
        return self.sent("/select", form)


@contextmanager
def viewing(run: Path, cases: Path | None, *, lang: str = "en") -> Iterator[Desk]:
    """The viewer of a run, with somebody signed in."""
    with RunFile.read(run) as opened:
        texts = CaseTexts(cases_of(cases, opened.rubrics().values(), opened, "id")) if cases else None
        index = Verdicts(opened, texts)
        viewer = Viewer(index, Language(lang))
        faults: list[Exception] = []
        gate = Gate(viewer.application(faults.append), PORT, viewer.refusal)
        viewer.folder = gate.folder
        desk = Desk(gate, index, faults)
        desk.sign_in()
        yield desk
        assert not faults
