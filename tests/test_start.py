"""`pathway-local start` leads from a sheet to its scores in a pseudo-terminal of 80 columns; without one, it prints."""

import fcntl
import os
import pty
import re
import shlex
import struct
import termios
import time
from pathlib import Path

import openpyxl
import pytest
from preloaded import Forked
from typed import HERE, Desk

from pathway_local.cli.start import Choices

SCRIPT = HERE / "with_auto_engine.py"

ROWS = [
    ["Inquérito aos estudantes, março de 2026"], [],
    ["Nº", "Pergunta", "Resposta", "Documento", "Chatbot"],
    *([n, f"Onde é a sala {n}?", f"No piso {n}.", f"Salas: piso {n}", ("EduBot", "Lotse")[n % 2]] for n in range(1, 7)),
]  # fmt: skip


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path) -> Desk:
    desk = Desk(tmp_path / "d", tiny_judge)
    book = openpyxl.Workbook()
    for row in ROWS:
        book.worksheets[0].append(row)
    book.save(desk.work / "a.xlsx")
    (desk.work / "a.xlsx").chmod(0o600)
    return desk


class Terminal:
    """A person at a terminal of 80 columns, who types when the dialog asks."""

    def __init__(self, desk: Desk, *words: str) -> None:
        self._leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 50, 80, 0, 0))
        self._process = Forked([str(SCRIPT), "start", *words], desk.work, desk.environment, *[follower] * 3)
        os.close(follower)
        self.said = ""

    def answers(self, *lines: str) -> None:
        """Type each line at the next question."""
        for line in lines:
            self._read_until(r"(?:\]|Enter|sheet shows it|file|polite): $")
            os.write(self._leader, f"{line}\n".encode())

    def ends(self) -> int:
        """Read all that is still said, and return the exit code."""
        self._read_until("$never")
        os.close(self._leader)
        return self._process.wait()

    def _read_until(self, question: str) -> None:
        begun, until = len(self.said), time.monotonic() + 250
        while not re.search(question, self.said[begun:]):
            assert time.monotonic() < until, self.said
            try:
                part = os.read(self._leader, 65536).decode(errors="replace")
            except OSError:  # Linux reports the end of a terminal as an error
                part = ""
            if not part:
                assert question == "$never", self.said
                return
            self.said += part.replace("\r\n", "\n")


def test_from_a_sheet_with_a_title_to_scores_and_a_page(desk: Desk) -> None:
    person = Terminal(desk, "a.xlsx", "--models", "models.yaml")
    person.answers("", "8", "small.prompty", "0", "8", "small.prompty", "", "", "", "9", "1", "", "", "")
    assert person.ends() == 0, person.said
    assert "Are the columns named in row 3?" in person.said
    assert "question ← Pergunta: Onde é a sala 1?" in person.said
    assert "Type a number from 1 to" in person.said
    flat = " ".join(re.sub(r"\x1b\[[\d;]*m", "", person.said).split())
    judging = "pathway-local judge a.xlsx --rubric small.prompty --judge scripted --id 'Nº' --header-row 3"
    judging += " --models models.yaml"
    assert f"$ {judging} --keep Chatbot --run a.run --dry-run" in flat
    assert f"$ {judging} --keep Chatbot --run a.run note" in flat
    book = openpyxl.load_workbook(desk.work / "a-scored.xlsx")
    head = [cell.value for cell in book.worksheets[0][3]]
    assert head[:5] == ROWS[2] and "small.score" in head
    assert "by Chatbot" in (desk.work / "a-report.html").read_text()


def test_a_person_chooses_the_sheet_behind_a_cover_page(desk: Desk) -> None:
    book = openpyxl.load_workbook(desk.work / "a.xlsx")
    book.worksheets[0].title = "Dados"
    book.create_sheet("Capa", 0).append(["Inquérito"])
    book.save(desk.work / "a.xlsx")
    person = Terminal(desk, "a.xlsx", "--models", "models.yaml")
    person.answers("2", "", "8", "small.prompty", "", "", "", "1", "2")
    assert person.ends() == 0, person.said
    assert "Which sheet has the cases?" in person.said and "Are the columns named in row 3?" in person.said
    flat = " ".join(re.sub(r"\x1b\[[\d;]*m", "", person.said).split())
    assert "--sheet Dados --header-row 3 --models models.yaml --keep Chatbot --run a.run --dry-run" in flat


def test_only_what_is_called_a_chatbot_is_compared_unasked(desk: Desk) -> None:
    texts = {"Question": "Where?", "Document": "Rooms: floor 1."}
    named = [texts | {"Student": f"s{n // 2}", "Bot": f"b{n % 2}", "Answer": f"On {n}."} for n in range(12)]
    for called, by in (("Bot", "--by Bot "), ("Tool", "")):
        rows = [{called if name == "Bot" else name: cell for name, cell in row.items()} for row in named]
        desk.sheet(rows, "d.jsonl")
        lines = desk.typed("start", "d.jsonl", "--models", "models.yaml").stdout.splitlines()
        assert ("--keep Bot" in lines[0]) == bool(by) and "Student" not in lines[0] + lines[-1]
        assert f"report d.run {by}--out" in lines[-1]


def test_a_person_chooses_by_what_results_are_compared(desk: Desk) -> None:
    rows = [
        {"Student": f"s{n // 2}", "Bot": f"b{n % 2}", "question": "Where?", "answer": f"On {n}."} for n in range(12)
    ]
    desk.sheet(rows, "d.jsonl")
    person = Terminal(desk, "d.jsonl", "--models", "models.yaml")
    person.answers("8", "small.prompty", "", "2", "", "", "2", "2")
    assert person.ends() == 0, person.said
    flat = " ".join(re.sub(r"\x1b\[[\d;]*m", "", person.said).split())
    assert "compared? 1 Bot: b0 | b1 2 Student: s0 | s0 3 none of them" in flat
    assert "--keep Student" in flat and "summary d.run --by Student" in flat


def test_without_a_terminal_it_prints_commands_that_work(desk: Desk) -> None:
    done = desk.typed("start", "a.xlsx", "--models", "models.yaml")
    lines = [shlex.split(line) for line in done.stdout.splitlines()]
    assert [line[1] for line in lines] == ["judge", "summary", "export", "report"]
    assert {"--rubric", "groundedness", "--keep", "Chatbot", "--id", "Nº"} < set(lines[0])
    assert not list(desk.work.glob("*.run"))


def test_a_result_that_cannot_be_written_leaves_the_others(desk: Desk) -> None:
    desk.sheet([{"question": f"Where is room {n}?", "answer": f"On floor {n}."} for n in range(3)], "c.jsonl")
    (desk.work / "c-scored.jsonl").write_text("older")
    person = Terminal(desk, "c.jsonl", "--models", "models.yaml")
    person.answers("8", "small.prompty", "", "", "", "", "")
    assert person.ends() == 2, person.said
    assert "c-scored.jsonl exists" in person.said and (desk.work / "c-scored.jsonl").read_text() == "older"
    assert (desk.work / "c-report.html").exists()


@pytest.mark.parametrize(
    ("name", "words"), [("l.ods", ["--out", "l-scored.csv"]), ("l.tsv", ["--onto", "l.tsv", "--out", "l-scored.tsv"])]
)
def test_a_kind_that_cannot_be_copied_is_exported_as_csv(name: str, words: list[str]) -> None:
    assert Choices(Path(name), "en", None).results()[0] == ["pathway-local", "export", "l.run", *words]


def test_whoever_stops_is_told_once_and_in_the_language(desk: Desk) -> None:
    person = Terminal(desk, "a.xlsx", "--lang", "pt", "--models", "models.yaml")
    person.answers("", "\x04")
    assert person.ends() == 1, person.said
    flat = " ".join(re.sub(r"\x1b\[[\d;]*m", "", person.said).split())
    assert "As rubricas incluídas estão descritas em inglês." in flat
    assert "pathway-local start a.xlsx --lang pt --models models.yaml" in flat and "Aborted" not in flat
