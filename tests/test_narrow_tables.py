"""Tables on a terminal that is narrower than they are: nothing is cut, in as many parts as it takes."""

import re
from dataclasses import replace

import pytest

from pathway_local.cli import show
from pathway_local.cli.terminal import Screen
from pathway_local.output.wording import Worded
from pathway_local.words.language import Language

NAMES = ("committee/Ann", "committee/Bob")
HEADS = ("pair", "both", *(f"coefficient {n}" for n in range(9)))
ROWS = tuple(
    (name, str(place), *(f"0.{n}{place}\n-0.{n}1 to 0.{n}9" for n in range(9))) for place, name in enumerate(NAMES)
)
TABLE = Worded("agreement", HEADS, ROWS, 2)


@pytest.mark.parametrize("title", ["agreement", ""])
@pytest.mark.parametrize("width", [40, 80, 120, 300])
def test_nothing_is_cut_and_nothing_left_out(
    width: int, title: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    screen = Screen(
        markup=False, emoji=False, highlight=False, width=width, height=25, force_terminal=True, no_color=True
    )
    monkeypatch.setattr(show, "data", screen)
    show.draw(replace(TABLE, title=title), Language("en"))
    shown = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    assert all(len(line) <= width for line in shown.splitlines())
    parts = 1 + shown.count("agreement, continued" if title else "continued")
    assert title or ", continued" not in shown
    assert (parts == 1) is (width == 300)
    for name in NAMES:
        assert shown.count(name) == parts, "each part says whose figures these are"
    for head in HEADS[2:]:
        assert head in shown
    for row in ROWS:
        for cell in row[2:]:
            assert all(line in shown for line in cell.split("\n"))


def test_without_a_terminal_a_table_stays_in_one_piece(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show, "data", Screen(markup=False, emoji=False, highlight=False, width=120, height=25))
    show.draw(TABLE, Language("en"))
    assert "continued" not in capsys.readouterr().out


def test_a_name_wider_than_the_terminal_is_folded_and_not_cut(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    names = [f"committee/{'of-the-faculty-' * 5}{number}" for number in range(2)]
    screen = Screen(markup=False, emoji=False, highlight=False, width=80, height=25, force_terminal=True, no_color=True)
    monkeypatch.setattr(show, "data", screen)
    rows = tuple((name, "0.5\n0.4 to 0.6") for name in names)
    show.draw(Worded("agreement", ("rater", "kappa"), rows), Language("en"))
    shown = capsys.readouterr().out
    folded = "".join(line.split("  ")[0].strip() for line in shown.splitlines())
    assert all(name in folded for name in names) and shown.count("0.4 to 0.6") == 2
