"""The command line within the test's own process: what a command said, and how it ended."""

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pathway_local.cli import main, ratings, runs, show
from pathway_local.cli.terminal import Screen


@dataclass
class Said:
    code: int
    out: str
    err: str

    @property
    def words(self) -> str:
        return " ".join(f"{self.out} {self.err}".split())


Run = Callable[..., Said]

TABLES = (ratings, runs, show)


def rows(out: str, table: str) -> list[dict[str, Any]]:
    """The rows of this table in the JSON that a command printed."""
    return [row for each in json.loads(out) if each["table"] == table for row in each["rows"]]


def sentences(out: str) -> list[str]:
    """The answers in the JSON that a command printed."""
    return [note["text"] for each in json.loads(out) for note in each["notes"] if note["kind"] == "answer"]


def notes(out: str, key: str) -> list[str]:
    """The notes with this key in the JSON that a command printed."""
    return [note["text"] for each in json.loads(out) for note in each["notes"] if note["key"] == key]


def leave_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let commands in the tests' own process change nothing of it: dumps, tracebacks and sockets stay allowed."""
    # Its hard limit of core dumps would be lowered.
    monkeypatch.setattr("pathway_local.cli.command_line.make_private", lambda: os.umask(0o077))
    # The tests' own tracebacks would be cut to a line, until the last test.
    monkeypatch.setattr("pathway_local.cli.command_line.keep_texts_out_of_tracebacks", lambda: None)
    for where in ("cli.case_files", "checks.doctor"):
        monkeypatch.setattr(f"pathway_local.{where}.give_up_sockets", lambda: True)


def typing_in(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line in this folder, on a wide terminal, with nobody there to ask."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys.stdin, "isatty", lambda: False)
    for module in TABLES:
        monkeypatch.setattr(module, "data", Screen(markup=False, emoji=False, highlight=False, width=300))

    def run(*arguments: object) -> Said:
        monkeypatch.setattr(sys, "argv", ["pathway-local", *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
            sys.exit(0)
        said = capsys.readouterr()
        return Said(int(ended.value.code or 0), said.out, said.err)

    return run
