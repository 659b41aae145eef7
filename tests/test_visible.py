"""Text from outside can't steer a terminal: no command prints its control characters as they are."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from rated_run import add, cases, judged_run, said
from typed import COMMAND
from typed_here import Run, typing_in
from typed_here import rows as rows_of

from pathway_local.case import Case
from pathway_local.verdict import Failure, Score, Verdict

EVIL = "\x1b]0;owned\x07\x1b[2J\x9b31m\r\u202eback\u2028\nnote: all is well"
CONTROL = re.compile("[\0-\x09\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
IDS = [f"s-{number}{EVIL}" for number in range(24)]
ANN, DEMO = f"ann{EVIL}", f"demo{EVIL}"
ANALYSES = (
    ("summary",),
    ("summary", "--by", "bot", "--min-group", "1"),
    ("agreement", "--by", "bot", "--min-group", "1"),
    ("agreement", "--cluster", "bot"),
    ("agreement", "--against", ANN, "--by", "bot", "--min-group", "1", "--full"),
    ("compare", "--between", f"bot=a,b{EVIL}", "--pair-by", "asked", "--min-group", "1"),
    ("agreement", "--rater", f"nobody{EVIL}"),
    ("summary", "--by", f"missing{EVIL}"),
)
COMMANDS = (
    *((name, f"{EVIL}.run", *options) for name, *options in ANALYSES),
    ("runs", "audit", f"{EVIL}.run"),
    ("import", f"{EVIL}.run", f"r{EVIL}.csv", "--kind", "human", "--rater", f"x{EVIL}"),
    ("export", f"{EVIL}.run", "--out", f"{EVIL}.csv"),
    ("export", f"{EVIL}.run", "--onto", f"r{EVIL}.csv", "--out", f"{EVIL}2.csv"),
    ("rubrics", "show", f"p{EVIL}.txt"),
    ("rubrics", "adopt", f"p{EVIL}.txt"),
    ("judges", "show", f"{EVIL}"),
    ("doctor", f"{EVIL}.run", "--judge", f"j{EVIL}"),
    ("runs", "purge", f"{EVIL}.run", "--text", "--yes"),
    ("summary", f"none{EVIL}.run"),
)


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line beside a run in which all that comes from outside is hostile, its own name, too."""
    rows = [
        Case(case.id, case.inputs, {"bot": ("a", f"b{EVIL}")[at % 2], "asked": f"q{at // 2}{EVIL}"}, case.row)
        for at, case in enumerate(cases(ids=IDS))
    ]
    judged = {
        name: Verdict({"score": Score(5)}, {"reason": f"because {EVIL}"}) if at else Failure("bad", EVIL)
        for at, name in enumerate(IDS)
    }
    name = EVIL.replace("/", "")
    with judged_run(tmp_path / f"{name}.run", rows=rows) as made:
        add(made, ANN, said(*(1, 5, 4, 2) * 6, ids=IDS), kind="human", rows=rows)
        add(made, DEMO, judged, rows=rows)
    return typing_in(tmp_path, monkeypatch, capsys)


def test_no_command_prints_a_control_character(run: Run, tmp_path: Path) -> None:
    (tmp_path / f"r{EVIL}.csv").write_text(f"id,score{EVIL}\n{EVIL},4\n")
    (tmp_path / f"p{EVIL}.txt").write_text(f"Judge {{{{answer{EVIL}}}}}\n")
    for command in COMMANDS:
        found = run(*command)
        assert found.code != 70, (command, found)
        for line in (found.out + found.err).split("\n"):
            assert not CONTROL.search(line), (command, found)
            assert not line.startswith("note: all is well"), (command, found)


def test_json_stands_for_the_same_text(run: Run) -> None:
    for name, *options in ANALYSES:
        shown, as_json = run(name, f"{EVIL}.run", *options), run(name, f"{EVIL}.run", *options, "--json")
        assert shown.code in (0, 2) and not CONTROL.search(as_json.out.replace("\n", ""))
        assert shown.code or options[-1:] == [] or "\\x1b]0;owned" in shown.out + shown.err
    assert ANN in {row["rater"] for row in rows_of(run("agreement", f"{EVIL}.run", "--json").out, "raters")}


def _ascii(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(Path(__file__).parents[1])}
    return subprocess.run([*COMMAND, *command], cwd=folder, env=environment, capture_output=True, text=True)


def test_an_ascii_terminal_gets_replacement_characters(tmp_path: Path) -> None:
    rows = [Case(name, {"question": "q", "answer": "a"}, {"bot": "Ünïcode"}, at) for at, name in enumerate(IDS, 1)]
    with judged_run(tmp_path / "may.run", rows=rows) as made:
        add(made, "änn", said(*(1, 5, 4, 2) * 6, ids=IDS), kind="human", rows=rows)
    shown = _ascii(tmp_path, "summary", "may.run", "--by", "bot")
    assert (shown.returncode, shown.stderr) == (0, "")
    assert "?n?code" in shown.stdout
    found = _ascii(tmp_path, "summary", "may.run", "--by", "bot", "--json")
    assert "änn" in {row["rater"] for row in rows_of(found.stdout, "groups")}


def test_a_closed_stream_is_no_fault(tmp_path: Path) -> None:
    for closed in (">&-", "2>&-", ">&- 2>&-"):
        command = f'exec "$0" "$1" rubrics list {closed}'
        assert subprocess.run(["bash", "-c", command, *COMMAND], cwd=tmp_path, check=False).returncode == 0
    told = subprocess.run(["bash", "-c", 'exec "$0" "$1" start <&-', *COMMAND], cwd=tmp_path, check=False)
    assert told.returncode == 2


def test_a_full_disk_behind_stdout_is_told(tmp_path: Path) -> None:
    for command in ("--help", "rubrics list", "rubrics show pathway-answer", "judges list"):
        written = ["bash", "-c", f'exec "$0" "$1" {command} >/dev/full', *COMMAND]
        found = subprocess.run(written, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stderr.count("\n")) == (2, 2), found.stderr
        assert found.stderr.startswith("error: what this command prints can't be written: No space left on device\n")


def test_a_pipe_that_is_closed_early_is_no_fault(tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    for command in ("summary may.run", "judges list", "rubrics show pathway-answer", "export may.run --out -"):
        piped = ["bash", "-c", f'"$0" "$1" {command} | true; exit ${{PIPESTATUS[0]}}', *COMMAND]
        found = subprocess.run(piped, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (found.returncode, found.stderr) == (0, "")
