"""Lines on a terminal: whole words, whole commands."""

import os
import sys
from io import StringIO

import pytest

from pathway_local.cli.terminal import Screen, talk
from pathway_local.errors import UnknownName


def _said(text: str, *, terminal: bool, indent: int = 0, hang: int = 0) -> str:
    screen = Screen(file=StringIO(), width=40, force_terminal=terminal, color_system=None)
    screen.say(text, indent=indent, hang=hang, lines=True)
    assert isinstance(screen.file, StringIO)
    return screen.file.getvalue()


LONG = "the cases file has no column for question; its columns are listed below, in order"


def test_a_terminal_breaks_lines_at_blanks() -> None:
    lines = _said(LONG, terminal=True, indent=7).splitlines()
    assert len(lines) > 2
    assert all(line.startswith(" " * 7) and len(line) <= 40 for line in lines)
    assert " ".join(line.strip() for line in lines) == LONG


def test_what_follows_a_label_is_indented_as_far() -> None:
    first, *others = _said(f"error: {LONG}", terminal=True, hang=7).splitlines()
    assert first.startswith("error: the cases") and len(others) > 1
    assert all(line.startswith(" " * 7) and len(line) <= 40 for line in others)


def test_a_file_gets_lines_in_one_piece() -> None:
    assert _said(LONG, terminal=False, hang=7) == f"{LONG}\n"


def test_a_command_and_a_path_stay_in_one_piece() -> None:
    command = "chmod 600 '/home/somebody/a folder/with a long name/cases.csv'"
    path = "/a/path/without/blanks/that/is/longer/than/the/terminal/is/wide.csv"
    assert command in _said(f"anyone can read the file, so: {command}", terminal=True)
    assert f"`{command}`" in _said(f"anyone can read it. Run `{command}` to prevent that.", terminal=True)
    maps = "--map question=COLUMN --map 'ideal_answer=gold answer'"
    shown = _said(f"For example: {maps}. The file has many other columns that could be read.", terminal=True)
    assert f"{maps}. The file" not in shown and maps in shown
    assert path in _said(f"anyone can read the file {path} and others", terminal=True)
    versions = _said("versions: pathway-local 0.1.0, Python 3.11.7, vllm 0.32.0", terminal=True)
    assert versions.startswith("versions: pathway-local 0.1.0, Python")


def test_empty_lines_stay() -> None:
    assert _said("one\n\ntwo", terminal=True) == _said("one\n\ntwo", terminal=False) == "one\n\ntwo\n"


def test_an_unknown_name_where_nothing_has_a_name_is_no_fault() -> None:
    assert UnknownName("rubric", "mine", []).hint == "There is no rubric."


def test_what_a_signal_says_in_the_midst_of_another_line_is_said_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """A buffer raises RuntimeError if a signal's handler writes to it while a write is under way."""
    read, write = os.pipe()

    class Busy(StringIO):
        def write(self, text: str) -> int:
            raise RuntimeError("reentrant call inside <_io.BufferedWriter name='<stderr>'>")

        def flush(self) -> None:
            self.write("")

        def fileno(self) -> int:
            return write

    monkeypatch.setattr(sys, "stderr", Busy())
    talk.say("stopping: press Ctrl-C again to stop at once")
    os.close(write)
    with os.fdopen(read) as said:
        assert said.read() == "stopping: press Ctrl-C again to stop at once\n"
