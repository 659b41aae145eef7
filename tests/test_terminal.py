"""Lines and tables on a terminal: what can be pasted stays whole, and nothing is cut where it is narrow."""

import os
import re
import sys
from io import StringIO
from typing import Any

import pytest

from pathway_local.cli import show
from pathway_local.cli.terminal import Screen, talk
from pathway_local.errors import UnknownName
from pathway_local.output.wording import Worded
from pathway_local.words.language import Language

NAMES = ("committee/Ann", "committee/Bob")
HEADS = ("pair", "both", *(f"coefficient {n}" for n in range(9)))
ROWS = tuple(
    (name, str(place), *(f"0.{n}{place}\n-0.{n}1 to 0.{n}9" for n in range(9))) for place, name in enumerate(NAMES)
)
TABLE = Worded("agreement", HEADS, ROWS, 2)


def said_on(width: int, said: str, *, terminal: bool = True, **how: Any) -> list[str]:
    """The lines of what is said on a screen of this width."""
    screen = Screen(file=StringIO(), width=width, force_terminal=terminal, color_system=None)
    screen.say(said, **how)
    assert isinstance(screen.file, StringIO)
    return [line.rstrip() for line in screen.file.getvalue().splitlines()]


@pytest.mark.parametrize("terminal", [True, False])
def test_a_line_stays_in_one_piece_so_that_its_command_can_be_pasted(*, terminal: bool) -> None:
    command = "anyone can read the file, so: chmod 600 '/home/somebody/a folder/with a long name/cases.csv'"
    shown = said_on(40, f"{command}\n\nso", terminal=terminal, indent=2, lines=True)
    assert shown == [f"  {command}", "", "  so"]


def test_a_sentence_is_broken_between_words_on_a_terminal_alone() -> None:
    said = "Each sentence of a table is read by people who paste nothing, not even `sample`, of it."
    shown = said_on(30, said, prose=True)
    assert " ".join(shown) == said and max(map(len, shown)) <= 30
    assert said_on(30, said, terminal=False, prose=True) == [said]
    for said in (
        "it is open: chmod 600 cases.csv does it",
        "use `import --force` of a file",
        "do pathway-local judge a",
    ):
        assert said_on(20, said, prose=True) == [said], "a command stays in one piece"


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


def drawn_on(
    width: int, table: Worded, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, terminal: bool
) -> str:
    screen = Screen(
        markup=False, emoji=False, highlight=False, width=width, height=25, force_terminal=terminal, no_color=True
    )
    monkeypatch.setattr(show, "data", screen)
    show.draw(table, Language("en"))
    return re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)


@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_a_wide_table_is_shown_in_parts_and_nothing_is_cut_or_left_out(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown = drawn_on(width, TABLE, monkeypatch, capsys, terminal=True)
    assert all(len(line) <= width for line in shown.splitlines())
    parts = 1 + shown.count("agreement, continued")
    assert (parts == 1) is (width == 300)
    for name in NAMES:
        assert shown.count(name) == parts, "each part says whose figures these are"
    for text in (*HEADS[2:], *(line for row in ROWS for cell in row[2:] for line in cell.split("\n"))):
        assert text in shown
    assert "continued" not in drawn_on(width, TABLE, monkeypatch, capsys, terminal=False), "a file gets it whole"


def test_a_name_wider_than_the_terminal_is_folded_and_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"committee/{'of-the-faculty-' * 5}{number}" for number in range(2)]
    table = Worded("agreement", ("rater", "kappa"), tuple((name, "0.5\n0.4 to 0.6") for name in names))
    shown = drawn_on(80, table, monkeypatch, capsys, terminal=True)
    folded = "".join(line.split("  ")[0].strip() for line in shown.splitlines())
    assert all(name in folded for name in names) and shown.count("0.4 to 0.6") == 2
