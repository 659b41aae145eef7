"""The viewer as a browser on this machine sees it, without a server: each request goes straight to the gate."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

from html_page import PageParser

from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.viewer.app import Viewer
from pathway_local.viewer.server import Gate
from pathway_local.viewer.verdicts import CaseTexts, Verdicts

PORT = 4711
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Told:
    """An answer as a person sees it."""

    status: int
    headers: Mapping[str, str]
    text: str

    def header(self, name: str) -> str:
        return self.headers.get(name, "")

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

    def ask(self, method: str, path: str, body: bytes = b"", headers: Headers | None = None) -> Told:
        """One request, with exactly these headers if any are given."""
        usual = [("host", HOST), ("cookie", self.cookie)]
        if method == "POST":
            usual += [("origin", ORIGIN), ("content-type", "application/x-www-form-urlencoded")]
        given = Message()
        for name, value in usual if headers is None else headers:
            given[name] = value
        answer = self.gate.answer(method, path, given, body)
        return Told(answer.status, answer.told, answer.text)

    def get(self, path: str) -> Told:
        return self.ask("GET", f"{self.gate.folder}{path}")

    def post(self, path: str, form: Mapping[str, str]) -> Told:
        return self.ask("POST", f"{self.gate.folder}{path}", urlencode(form).encode())

    def sent(self, path: str, form: Mapping[str, str]) -> Told:
        """The page to which a form leads."""
        told = self.post(path, form)
        assert told.status == 303, (told.text, self.faults)
        return self.ask("GET", told.header("location"))

    def chosen(self, **form: str) -> Told:
        return self.sent("/select", form)


@contextmanager
def viewing(run: Path, cases: Path | None) -> Iterator[Desk]:
    """The viewer of a run, with somebody signed in."""
    with RunFile.read(run) as opened:
        texts = CaseTexts(cases_of(cases, opened.rubrics().values(), opened, "id")) if cases else None
        index = Verdicts(opened, texts)
        faults: list[Exception] = []
        gate = Gate(Viewer(index, faults.append), PORT)
        desk = Desk(gate, index, faults)
        desk.sign_in()
        yield desk
        assert not faults
