"""A word that stands in every input of a cases file is found nowhere that a run could leave it, whatever goes wrong."""

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from reply_script import MARK, POISON
from typed import Desk

WORD = "QUAGGAMARKER"
OTHER = "OKAPIMARKER"
CASES = 6
SHARED = Path("/dev/shm")
HEADERLESS = f'7,"My name is {WORD}, what now?",It is {WORD}.,{WORD}\n8,Who is {WORD}?,"No, {WORD}",{OTHER}\n'
GIVEN = ("--rubric", "small.prompty", "--cases")
HOSTED = ("--service", "openai", "--model", "m", "--yes", "--out", "requests.jsonl")


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path, mark: Path) -> Desk:
    return Desk(tmp_path / "d", tiny_judge, "moody", {MARK: str(mark)})


def _rows(*, poison: bool = True) -> Iterator[str]:
    """Lines of a JSONL file: good cases, and every kind of bad one, each with the word in it."""
    for number in range(CASES):
        good = {"id": f"good-{number}", "question": f"{WORD} {number}", "answer": f"It is {WORD}.", "group": OTHER}
        yield json.dumps(good)
    text = {"question": WORD, "answer": WORD, "group": OTHER}
    yield json.dumps({"id": "good-0", **text})  # an id that was there before
    yield json.dumps({"id": "missing", "question": WORD, "group": OTHER})
    yield json.dumps({"id": "number", "question": WORD, "answer": [WORD, {WORD: 1.5}]})
    yield json.dumps({"id": "nul", **text, "answer": f"{WORD}\0{WORD}"})
    yield json.dumps({"id": "surrogate", **text, "answer": f"{WORD}\ud800"})
    yield json.dumps({"id": "long", **text, "answer": f"{WORD} " * 20_000})
    yield json.dumps({"id": "", **text})
    yield f'{{"id": "broken", "question": "{WORD}", "answer": "{WORD}'
    yield f"{WORD} is no JSON at all"
    yield f'["{WORD}"]'
    if poison:
        yield json.dumps({"id": "poison", **text, "answer": f"{WORD} {POISON}"})


def _sheet(desk: Desk, *, poison: bool = True) -> Path:
    path = desk.work / "cases.jsonl"
    path.write_text("\n".join(_rows(poison=poison)) + "\n")
    path.chmod(0o600)
    return path


def _left(desk: Desk, *meant: Path) -> list[Path]:
    """The files in which one of the words is found, but for those that are meant to hold it."""
    found = []
    for path in (*desk.root.rglob("*"), *_shared(desk)):
        if path.is_file() and path not in meant:
            content = path.read_bytes()
            if any(word.encode(codec) in content for word in (WORD, OTHER) for codec in ("utf-8", "utf-16-le")):
                found.append(path)
    return found


def _shared(desk: Desk) -> Iterator[Path]:
    """What was put into shared memory, by whomever, since the desk is there."""
    for path in SHARED.rglob("*"):
        with suppress(FileNotFoundError):
            status = path.stat()
            if status.st_uid == os.geteuid() and status.st_mtime >= (desk.work / "models.yaml").stat().st_mtime:
                yield path


def _modes(desk: Desk) -> dict[str, int]:
    """Files that somebody else could read if the folders above let them."""
    made = (path for path in desk.root.rglob("*") if path.is_file() and not path.is_symlink())
    made = (path for path in made if not path.is_relative_to(desk.judge))
    own = {desk.work / name for name in ("small.prompty", "models.yaml")}
    return {str(path): path.stat().st_mode & 0o777 for path in made if path not in own and path.stat().st_mode & 0o077}


def _said(done: "subprocess.CompletedProcess[str]") -> str:
    return done.stdout + done.stderr


def test_nothing_of_a_case_is_left_by_a_run_of_bad_rows_and_a_dying_engine(desk: Desk) -> None:
    os.umask(0)
    try:
        cases = _sheet(desk)
        done = desk.typed(*desk.judging(cases), code=1)
        desk.typed("export", "may.run", "--out", "verdicts.csv")
    finally:
        os.umask(0o022)
    assert WORD not in _said(done)
    assert OTHER not in _said(done)
    assert "the engine died" in done.stderr
    assert _left(desk, cases) == []
    assert _modes(desk) == {}
    with (desk.work / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        failures = {row["case"]: row["failure"] for row in csv.DictReader(file) if row["failure"]}
    assert {"poison": "engine-error", "long": "prompt-too-long"}.items() <= failures.items()
    assert list(failures.values()).count("bad-row") >= 6


def test_nothing_of_a_case_is_left_by_a_self_test_of_judges(desk: Desk) -> None:
    os.umask(0)
    try:
        cases = _sheet(desk, poison=False)
        given = ["judges", "test", "scripted", *GIVEN, cases.name, "--models", "models.yaml", "--engine", "scripted"]
        done = desk.typed(*given, "--n", 4, "--run", "test.run", "--out", "test.csv", code=None)
    finally:
        os.umask(0o022)
    assert (done.returncode in (0, 1), (desk.work / "test.csv").is_file()) == (True, True), done.stderr
    assert WORD not in _said(done)
    assert _left(desk, cases) == []
    assert _modes(desk) == {}


@pytest.mark.soak
def test_nothing_of_a_case_is_left_by_real_vllm(desk: Desk) -> None:
    cases = _sheet(desk, poison=False)
    done = desk.typed(*desk.judging(cases, "--detail", "score", engine="vllm"), code=1)
    desk.typed("export", "may.run", "--out", "verdicts.xlsx")
    assert WORD not in _said(done)
    assert _left(desk, cases) == []
    assert _modes(desk) == {}
    assert not list(desk.tmp.iterdir())


def test_nothing_of_a_case_is_left_by_other_commands(desk: Desk) -> None:
    os.umask(0)
    try:
        cases = _sheet(desk, poison=False)
        sample = ["sample", "may.run", *GIVEN, cases.name, "--n", 3, "--seed", 1, "--out", "sheet.xlsx"]
        said = _said(desk.typed(*sample, "--strata", "question", code=2))
        assert "is an input of the rubric" in said
        said += _said(desk.typed(*sample, "--strata", "group"))
        said += _said(desk.typed("hosted", "export", "may.run", "--cases", cases.name, *HOSTED))
        requests = (desk.work / "requests.jsonl").read_text().splitlines()
        texts = ["Reason: fine\nScore: 4", f"{WORD} is no reply", f"Reason: {WORD}\nScore: {WORD}"]
        results = [
            {
                "custom_id": json.loads(request)["custom_id"],
                "response": {"status_code": 200, "body": {"choices": [{"message": {"content": text}}]}},
            }
            for request, text in zip(requests, texts, strict=False)
        ]
        desk.sheet(results, "results.jsonl")
        said += _said(desk.typed("import", "may.run", "results.jsonl", "--kind", "hosted", "--rater", "m", code=1))
        good = [
            {"id": f"good-{n}", "question": f"{WORD} {n}", "answer": f"It is {WORD}.", "score": 3} for n in range(4)
        ]
        desk.sheet(good, "anna.jsonl")
        said += _said(desk.typed("import", "may.run", "anna.jsonl", "--kind", "human", "--rater", "anna"))
        bad = [*good[:2], {"id": WORD, "score": 2}, {"id": "good-3", "score": WORD}, {"id": "good-4", WORD: OTHER}]
        desk.sheet(bad, "eve.jsonl")
        said += _said(desk.typed("import", "may.run", "eve.jsonl", "--kind", "human", "--rater", "eve", code=3))
        said += _said(desk.typed("export", "may.run", "--out", "verdicts.csv"))
        said += _said(desk.typed("export", "may.run", "--onto", cases.name, "--out", "onto.jsonl"))
        said += _said(desk.typed("doctor", cases.name, code=None))
    finally:
        os.umask(0o022)
    assert WORD not in said
    assert OTHER not in said
    meant = ("sheet.xlsx", "requests.jsonl", "results.jsonl", "anna.jsonl", "eve.jsonl", "onto.jsonl")
    assert _left(desk, cases, *(desk.work / name for name in meant)) == []
    assert _modes(desk) == {}


@pytest.mark.parametrize(
    "names",
    [
        pytest.param(("headerless.csv", "keys.jsonl", "wide.csv"), id="three"),
        pytest.param(("headerless.tsv",), id="tabs", marks=pytest.mark.soak),
    ],
)
def test_no_text_is_told_of_a_file_without_a_header(desk: Desk, names: tuple[str, ...]) -> None:
    rows = {
        "headerless.csv": HEADERLESS,
        "headerless.tsv": HEADERLESS.replace(",", "\t"),
        "keys.jsonl": json.dumps({"id": 1, f"My name is {WORD}, what now?": WORD, f"It is {OTHER}.": OTHER}),
        "wide.csv": ",".join(f"Is {WORD} {number}?" for number in range(5_000)) + "\n",
    }
    good = desk.cases(2, "good.jsonl")
    desk.typed("sample", "may.run", *GIVEN, good.name, "--n", 1, "--seed", 1, "--out", "good.xlsx")
    (desk.work / "good.csv").write_text("id,score\ncase-0,3\n")
    desk.typed("import", "may.run", "good.csv", "--kind", "human", "--rater", "anna")
    for name in names:
        (desk.work / name).write_text(rows[name])
        (desk.work / name).chmod(0o600)
        _tells_nothing(desk, name)
    assert _left(desk, *(desk.work / name for name in names)) == []


def _tells_nothing(desk: Desk, name: str) -> None:
    """No command says a word of this file."""
    cases = desk.work / name
    commands: list[list[object]] = [
        desk.judging(cases),
        [*desk.judging(cases), "--map", "answer=nothing", "--id", "none", "--keep", "none"],
        ["sample", "may.run", *GIVEN, name, "--n", 1, "--seed", 1, "--out", "sheet.xlsx", "--strata", "none"],
        ["hosted", "export", "may.run", *GIVEN, name, *HOSTED, "--map", "answer=none"],
        ["import", "may.run", name, "--kind", "human", "--rater", "eve"],
        ["import", "may.run", name, "--kind", "human", "--score", "none", "--id", "none"],
        ["export", "may.run", "--onto", name, "--out", f"onto{cases.suffix}", "--id", "none"],
        ["doctor", name],
    ]
    for command in commands:
        said = desk.typed(*command, code=None)
        assert said.returncode in ((0, 5) if "doctor" in command else (2, 3)), said.stderr
        assert WORD not in _said(said)
        assert OTHER not in _said(said)
        if name == "wide.csv":
            assert "wide.csv has 5,000 columns, over the limit of 2,000" in _said(said)


def test_nothing_of_a_case_is_left_by_wrong_commands(desk: Desk) -> None:
    cases = _sheet(desk)
    said = _said(desk.typed(*desk.judging(cases, "--map", "answer=nothing"), code=None))
    (desk.work / "torn.csv").write_text(f'id,question,answer\n1,"{WORD},{WORD}\n2,"{WORD}"x,{WORD}\n' * 3)
    said += _said(desk.typed(*desk.judging(desk.work / "torn.csv", "--run", "torn.run"), code=None))
    (desk.work / "torn.xlsx").write_bytes(b"PK\3\4" + WORD.encode() * 50)
    said += _said(desk.typed(*desk.judging(desk.work / "torn.xlsx", "--run", "x.run"), code=3))
    assert WORD not in said
    assert {path.suffix for path in _left(desk, cases)} == {".csv", ".xlsx"}


@pytest.mark.parametrize(
    "number", [signal.SIGSEGV, *(pytest.param(n, marks=pytest.mark.soak) for n in (signal.SIGABRT, signal.SIGKILL))]
)
def test_a_crash_leaves_no_dump_and_no_text(desk: Desk, number: signal.Signals) -> None:
    cases = _sheet(desk, poison=False)
    desk.environment["REPLY_SCRIPT_SECONDS"] = "0.4"
    unlimited = ["prlimit", "--core=unlimited:unlimited"]
    with desk.begun(*desk.judging(cases), before=unlimited) as process:
        assert process.stderr
        assert any("sealed:" in line for line in process.stderr)
        titles = _titles(process.pid)
        os.kill(process.pid, number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == -number
    assert WORD not in out + err + titles
    assert "engines.child" in titles
    until = time.monotonic() + 5  # the engine's watcher cleans up
    while list(desk.tmp.iterdir()) and time.monotonic() < until:
        time.sleep(0.02)
    assert _left(desk, cases) == []
    assert not list(desk.root.rglob("core*"))
    assert not list(desk.tmp.iterdir())


def _titles(session: int) -> str:
    """The command lines of all processes that a command has started."""
    lines = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            if session in (parent, int(path.name)):
                lines.append((path / "cmdline").read_text("utf-8", "replace"))
    return "\n".join(lines)


WARNS = """
import warnings
from pathway_local.cli import command_line
command_line.app = lambda **_: warnings.warn("overflow encountered in exp", RuntimeWarning)
command_line.run()
"""


def test_no_warning_shows_a_path_and_a_line_of_the_source() -> None:
    done = subprocess.run([sys.executable, "-c", WARNS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
