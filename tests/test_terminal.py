"""Lines on a terminal."""

import os
import sys
from io import StringIO

import pytest

from pathway_local.cli.terminal import Screen, talk
from pathway_local.errors import UnknownName


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_stays_in_one_piece_so_that_its_command_can_be_pasted(*, terminal: bool) -> None:
    screen = Screen(file=StringIO(), width=40, force_terminal=terminal, color_system=None)
    command = "anyone can read the file, so: chmod 600 '/home/somebody/a folder/with a long name/cases.csv'"
    screen.say(f"{command}\n\nso", indent=2, lines=True)
    assert isinstance(screen.file, StringIO)
    assert [line.rstrip() for line in screen.file.getvalue().splitlines()] == [f"  {command}", "", "  so"]


def test_a_sentence_is_broken_between_words_on_a_terminal_alone() -> None:
    said, shown = "Each sentence of a table is read by people who paste nothing, not even `sample`, of it.", []
    for terminal in (True, False):
        screen = Screen(file=StringIO(), width=30, force_terminal=terminal, color_system=None)
        screen.say(said, prose=True)
        assert isinstance(screen.file, StringIO)
        shown.append([line.rstrip() for line in screen.file.getvalue().splitlines()])
    assert " ".join(shown[0]) == said and max(map(len, shown[0])) <= 30 and shown[1] == [said]


def test_a_sentence_with_a_command_stays_in_one_piece() -> None:
    for said in (
        "it is open: chmod 600 cases.csv does it",
        "use `import --force` of a file",
        "do pathway-local judge a.csv --run b",
    ):
        screen = Screen(file=StringIO(), width=20, force_terminal=True, color_system=None)
        screen.say(said, prose=True)
        assert isinstance(screen.file, StringIO)
        assert screen.file.getvalue().rstrip() == said


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
