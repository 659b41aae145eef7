"""Opens cases files for a command: gives up the network, warns of files that others can read, asks about columns."""

import shlex
import sys
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import typer

from pathway_local.cli.show import terminal_words
from pathway_local.cli.terminal import notice, talk
from pathway_local.errors import CasesError, ColumnsError, EngineError
from pathway_local.judging.plan import columns_by_input
from pathway_local.ratings.cases_given import Given
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sealing.seal import NO_FILTER
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import closing_command, exposures
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


def sheet_of(run: RunFile, cases: Path, rubrics: Collection[Rubric], given: Mapping[str, Any]) -> CasesFile:
    """Return the cases file of a run, read as the options say, and note how it is read. Raises PathwayError."""
    how = _read(given)
    if key := how.pop("pseudonyms", None):
        how["pseudonyms"] = Pseudonyms.of_file(key)
    sheet = cases_of(cases, rubrics, run, **opening(how), **how)
    for note in sheet.notes:
        notice(note)
    return sheet


def cases_given(run: Path, cases: Path, rubric: str | None, given: Mapping[str, Any]) -> Given:
    """Return a run, which may be a new one, with a cases file, read as the options say. Raises UsageError."""
    read = _read(given)
    return Given(run, cases, load_rubric, rubric, how=opening(read), **read)


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    names = {"id": "id_column", "map": "mapping"}
    return {names.get(name, name): columns_by_input(value) if name == "map" else value for name, value in given.items()}


def opening(given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of `open_sheet` out of those that the user typed, and return them."""
    names = {"encoding": "encoding", "header_row": "header_row", "sheet": "title"}
    return {name: given.pop(option) for option, name in names.items() if option in given}


def read_privately(*files: Path) -> None:
    """Warn of files that others can read, then give up sockets until this process ends. Raises CasesError."""
    # In this order: a directory service needs a socket to tell us the names of groups.
    tell_exposed(*files)
    close_off()


def tell_exposed(*files: Path, strict: bool = False) -> None:
    """Warn of files that others can read, or refuse them if `strict`. Raises CasesError."""
    for path, others in exposures(dict.fromkeys(files)):
        if strict:
            raise CasesError(f"{path} can be read by {others}", f"Run: {closing_command(path)}")
        notice(f"{path} can be read by {others}: {closing_command(path)}")


def close_off(*, required: bool = False) -> None:
    """Prevent this process, which will read cases, from opening sockets; raise EngineError if `required` fails."""
    if not give_up_sockets():
        if required:
            raise EngineError("this kernel can't keep the process that reads the cases from opening sockets", NO_FILTER)
        notice("this kernel filters no system calls: only our own code keeps this process off the network")


EXAMPLES = 2
"""Cells shown of each column; they are the person's own, and stay on the terminal."""

CELL_WIDTH = 22
"""With it, the name of a column and two cells fit into 80 columns."""


def ask_columns(sheet: Sheet, error: ColumnsError) -> Mapping[str, str]:
    """Return the column that the person names for each input without one. Raises `error` if nobody can be asked."""
    if not (error.missing and sys.stdin.isatty() and talk.is_terminal):
        raise error
    talk.say(str(error))
    chosen = choose_columns(terminal_words(), error.missing, first_rows(sheet))
    options = " ".join(f"--map {shlex.quote(f'{name}={column}')}" for name, column in chosen.items())
    notice(f"next time, these options say the same: {options}")
    return chosen


def choose_columns(
    say: Language, missing: Mapping[str, Sequence[str]], rows: Sequence[Mapping[str, str]], taken: Collection[str] = ()
) -> dict[str, str]:
    """Return the column that the person chooses for each input, among its own that are not taken, and only once."""
    chosen: dict[str, str] = {}
    for name, columns in missing.items():
        free = [column for column in columns if column not in (*taken, *chosen.values())]
        question = say.text("start", "column", {"input": name})
        chosen[name] = free[choose(say, question, [example(column, rows) for column in free]) - 1]
    return chosen


def choose(say: Language, question: str, options: Sequence[str], usual: int | None = None) -> int:
    """Return the number of the option that the person chooses; Enter takes the usual one, if there is one."""
    talk.say(question, "bold")
    for number, each in enumerate(options, 1):
        talk.say(visible(each), label=f"{number:3}  ", prose=True)
    while True:
        typed = typer.prompt(say.text("start", "number", {}), default=usual and str(usual), err=True).strip()
        if typed.isdecimal() and 0 < int(typed) <= len(options):
            return int(typed)
        talk.say(say.text("start", "not_a_number", {"last": len(options)}), "bold")


def first_rows(sheet: Sheet) -> list[Mapping[str, str]]:
    """Return the cells of the first rows, as examples of what the columns hold."""
    return list(islice((row.cells for row in sheet.rows() if row.cells), EXAMPLES))


def example(column: str, rows: Sequence[Mapping[str, str]]) -> str:
    """Return a column's name with its first cells, short enough for a line of 80 columns."""
    return visible(f"{_cut(column)}: {'  |  '.join(_cut(row.get(column, '')) for row in rows)}")


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= CELL_WIDTH else f"{line[: CELL_WIDTH - 1]}…"
