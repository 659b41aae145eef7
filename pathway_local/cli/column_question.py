"""Asks a person at a terminal which columns of a cases file hold the inputs that no column matches."""

import shlex
import sys
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path

import typer

from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import ColumnsError, UsageError
from pathway_local.sheets.kinds import Sheet, open_sheet
from pathway_local.system.visible import visible

EXAMPLES = 2
"""Cells shown of each column; they are the person's own, and stay on the terminal."""

CELL_WIDTH = 22
"""With it, the name of a column and two cells fit into 80 columns."""


def ask_columns(cases: Path, encoding: str, header_row: int | None, error: ColumnsError) -> Mapping[str, str]:
    """Return the column that the person names for each input without one. Raises `error` if nobody can be asked."""
    if not (error.missing and sys.stdin.isatty() and talk.is_terminal):
        raise error
    talk.say(str(error))
    rows = first_rows(open_sheet(cases, encoding, header_row))
    chosen: dict[str, str] = {}
    for name, columns in error.missing.items():
        free = [column for column in columns if column not in chosen.values()]
        chosen[name] = ask_column(name, free, rows, error.likely.get(name, ""))
    options = " ".join(f"--map {shlex.quote(f'{name}={column}')}" for name, column in chosen.items())
    notice(f"next time, these options say the same: {options}")
    return chosen


def first_rows(sheet: Sheet) -> list[Mapping[str, str]]:
    """Return the cells of the first rows, as examples of what the columns hold."""
    return list(islice((row.cells for row in sheet.rows() if row.cells), EXAMPLES))


def example(column: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return a column's name with its first cells, short enough for a line of 80 columns."""
    return visible(f"{_cut(column)}: {'  |  '.join(_cut(row.get(column, '')) for row in rows)}")


def ask_column(name: str, columns: Sequence[str], rows: Sequence[Mapping[str, str]], likely: str) -> str:
    """Return the column that the person chooses for an input, proposing a likely one. UsageError if none is chosen."""
    talk.say(f"Which column is {name}?", "bold")
    for number, column in enumerate(columns, 1):
        talk.say(f"{number:3}  {example(column, rows)}")
    if likely in columns:
        default = str(columns.index(likely) + 1)
        talk.say(visible(f"By its cells, it is {default}: {_cut(likely)}"))
        answer = typer.prompt("Its number, or 0 to stop", default=default, err=True).strip()
    else:
        answer = typer.prompt("Its number, or nothing to stop", default="", show_default=False, err=True).strip()
    if not (answer.isdecimal() and 0 < int(answer) <= len(columns)):
        raise UsageError(f"no column was chosen for {name}", f"Give --map {name}=COLUMN.")
    return columns[int(answer) - 1]


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CELL_WIDTH else f"{line[: CELL_WIDTH - 1]}…"
