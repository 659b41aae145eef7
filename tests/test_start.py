"""`pathway-local start` leads from a sheet to its scores, in one language, in a pseudo-terminal of 80 columns."""

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
from yaml import safe_load

from pathway_local.cli.start import Dialog
from pathway_local.runs.run_file import RunFile
from pathway_local.words import FOLDER
from pathway_local.words.language import Language

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
            self._read_until(r"\n[^\n]+: $")
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


def plain(said: str) -> str:
    return " ".join(re.sub(r"\x1b\[[\d;]*m", "", said).split())


def test_from_a_sheet_with_a_title_to_scores_and_a_page(desk: Desk) -> None:
    person = Terminal(desk, "a.xlsx", "--models", "models.yaml")
    person.answers("", "8", "small.prompty", "", "", "9", "1", "", "", "")
    assert person.ends() == 0, person.said
    flat = plain(person.said)
    assert "Are the columns named in row 3?" in flat and "question ← Pergunta: Onde é a sala 1?" in flat
    assert "Type a number from 1 to" in flat and "6 cases to judge." in flat
    judging = "pathway-local judge a.xlsx --rubric small.prompty --judge scripted --models models.yaml"
    judging += " --keep Chatbot --header-row 3"
    assert f"Judge now with this command? {judging} --run a.run" in flat
    assert "$ pathway-local summary a.run --by Chatbot" in flat
    book = openpyxl.load_workbook(desk.work / "a-scored.xlsx")
    head = [cell.value for cell in book.worksheets[0][3]]
    assert head[:5] == ROWS[2] and "small.score" in head
    assert "by Chatbot" in (desk.work / "a-report.html").read_text()
    with RunFile.read(desk.work / "a.run") as run:
        [job] = run.jobs.all()
    assert shlex.join(job.command) == f"{judging} --run a.run"


def test_a_person_chooses_the_sheet_behind_a_cover_page(desk: Desk) -> None:
    book = openpyxl.load_workbook(desk.work / "a.xlsx")
    book.worksheets[0].title = "Dados"
    book.create_sheet("Capa", 0).append(["Inquérito"])
    book.save(desk.work / "a.xlsx")
    person = Terminal(desk, "a.xlsx", "--models", "models.yaml")
    person.answers("2", "", "8", "small.prompty", "", "", "1", "2")
    assert person.ends() == 0, person.said
    flat = plain(person.said)
    assert "Which sheet has the cases?" in flat and "Are the columns named in row 3?" in flat
    assert "--sheet Dados" in flat and "6 cases to judge." in flat


@pytest.mark.parametrize("lang", ["de", "es", "fr", "pt"])
def test_no_word_of_it_is_english_in_another_language(desk: Desk, lang: str) -> None:
    book = openpyxl.load_workbook(desk.work / "a.xlsx")
    book.worksheets[0].append([9, "", "No piso 9.", "", "EduBot"])
    book.save(desk.work / "a.xlsx")
    person = Terminal(desk, "a.xlsx", "--lang", lang, "--models", "models.yaml")
    person.answers("", "8", "small.prompty", "", "", "1", "", "", "")
    assert person.ends() == 0, person.said
    english = safe_load((FOLDER / "en.yaml").read_text())
    ours = safe_load((FOLDER / f"{lang}.yaml").read_text())
    assert ours["start"].keys() == english["start"].keys()
    flat = plain(person.said)
    told = [
        each for said in english["start"].values() for each in (said.values() if isinstance(said, dict) else [said])
    ]
    pieces = [
        piece.strip() for text in told for piece in re.split(r"\{.*?\}", text) if len(piece) > 8 and "-" not in piece
    ]
    for piece in (*pieces, "note: ", "cases/s", "loading", "written", "missing-input"):
        assert piece not in flat
    assert ours["words"]["missing-input"] in flat and "row 10" not in flat


def test_a_person_chooses_by_what_results_are_compared(desk: Desk) -> None:
    rows = [
        {"Student": f"s{n // 2}", "Bot": f"b{n % 2}", "question": "Where?", "answer": f"On {n}."} for n in range(12)
    ]
    desk.sheet(rows, "d.jsonl")
    person = Terminal(desk, "d.jsonl", "--models", "models.yaml")
    person.answers("8", "small.prompty", "", "2", "", "", "2", "2")
    assert person.ends() == 0, person.said
    flat = plain(person.said)
    assert "compared? 1 Bot: b0 | b1 2 Student: s0 | s0 3 none of them" in flat
    assert "--keep Student" in flat and "summary d.run --by Student" in flat


def test_without_a_terminal_it_is_refused(desk: Desk) -> None:
    assert "nobody is at a terminal" in desk.typed("start", "a.xlsx", "--models", "models.yaml", code=2).stderr


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
    assert Dialog(Path(name), Language("en"), {}).results()[1] == ["pathway-local", "export", "l.run", *words]


def test_whoever_stops_is_told_once_and_in_the_language(desk: Desk) -> None:
    person = Terminal(desk, "a.xlsx", "--lang", "pt", "--models", "models.yaml")
    person.answers("", "\x04")
    assert person.ends() == 1, person.said
    flat = plain(person.said)
    assert "As rubricas incluídas estão descritas em inglês." in flat
    assert "pathway-local start a.xlsx --lang pt --models models.yaml" in flat and "Aborted" not in flat


def test_two_columns_that_were_taken_for_each_other_are_exchanged(desk: Desk) -> None:
    """Each choice frees the column of an input that was given it before."""
    desk.sheet([{"question": f"Where is room {n}?", "answer": f"On floor {n}."} for n in range(3)], "c.jsonl")
    person = Terminal(desk, "c.jsonl", "--models", "models.yaml")
    person.answers("8", "small.prompty", "2", "2", "1", "2", "1", "2", "\x04")
    assert person.ends() == 1 and "would both be read" not in person.said, person.said
    assert plain(person.said).rpartition("For small.prompty")[2].count("question ← question") == 1, person.said


def test_a_name_of_a_rubric_that_cannot_be_used_costs_no_answer(desk: Desk) -> None:
    person = Terminal(desk, "a.xlsx", "--lang", "de", "--models", "models.yaml")
    person.answers("", "7", "none/polite", "small", "\x04")
    assert person.ends() == 1
    assert re.findall("there is no folder none|small.prompty exists", plain(person.said)) == [
        "there is no folder none", "small.prompty exists",
    ] and plain(person.said).count("Die Meldung dazu ist auf Englisch: error: ") == 2, person.said  # fmt: skip
    person = Terminal(desk, "a.xlsx", "--models", "models.yaml")
    person.answers("", "8", "away.prompty", "small.prompty", "\x04")
    assert person.ends() == 1 and "question ← " in plain(person.said).partition("away.prompty")[2], person.said


def test_an_error_is_announced_in_the_language_and_the_encoding_goes_into_the_commands(desk: Desk) -> None:
    (desk.work / "a.csv").write_bytes(("question,answer\n" + 3 * "Onde é?,No pátio.\n").encode("cp1252"))
    (desk.work / "a.csv").chmod(0o600)
    person = Terminal(desk, "a.csv", "--lang", "pt", "--models", "models.yaml")
    assert person.ends() == 3 and "A mensagem está em inglês: error: " in plain(person.said), person.said
    person = Terminal(desk, "a.csv", "--encoding", "cp1252", "--models", "models.yaml")
    person.answers("", "8", "small.prompty", "", "", "", "", "")
    assert person.ends() == 0, person.said
    assert plain(person.said).count("--encoding cp1252") == 2
    assert "The copy with scores will be UTF-8, unlike a.csv" in plain(person.said)
    assert "Onde é?" in (desk.work / "a-scored.csv").read_text("utf-8-sig")
