"""What the commands share in talking to people: errors and notices on stderr, data on stdout."""

import json
import math
import os
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from io import TextIOBase
from pathlib import Path
from typing import TextIO, cast

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathway_local.errors import PathwayError, UsageError
from pathway_local.system.output_file import check_output

PIPE_WIDTH = 120
INTERRUPTED = 130
"""The exit code of a command that a signal ended."""

MIN_GROUP = 10
"""Groups of fewer cases are left out of tables: what is said of few may tell what one of them got."""


class _Stderr(TextIOBase):
    """What is said goes to stderr as long as there is somebody: a job must not end with its terminal or its pipe."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        try:
            return self._stream.write(text)
        except OSError:
            self._nowhere()
            return len(text)

    def flush(self) -> None:
        try:
            self._stream.flush()
        except OSError:
            self._nowhere()

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    @property
    def _stream(self) -> TextIO:
        """The stream itself: while a progress bar is shown, `sys.stderr` leads back to us."""
        stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        return stream

    def _nowhere(self) -> None:
        """What the stream still holds would fail again when the program ends, and change its exit code."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        with suppress(OSError):
            self._stream.flush()


# What is printed is printed as it is: a file's name can look like markup, or like an emoji's.
talk = Console(file=cast(TextIO, _Stderr()), markup=False, emoji=False, highlight=False, soft_wrap=True)
data = Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def complain(error: PathwayError) -> None:
    """One line that says what is wrong, and one that says what to do."""
    talk.print(Text.assemble(("error: ", "bold red"), str(error)))
    if error.hint:
        talk.print(Text(f"       {error.hint}"))


def notice(message: str) -> None:
    """One line that the user should see."""
    talk.print(Text(f"note: {message}"))


def print_json(value: object) -> None:
    """Data for machines."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, indent=2) + "\n")


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], *, left: int = 1) -> Table:
    """A table whose first `left` columns are words and whose others are numbers."""
    heading = Text(title) if title else None
    made = Table(
        title=heading, title_justify="left", title_style="bold", box=SIMPLE_HEAD, padding=(0, 1), pad_edge=False
    )
    for at, column in enumerate(columns):
        words = at < left
        made.add_column(column, justify="left" if words else "right", overflow="fold", no_wrap=not words)
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def pairs(given: Sequence[str], option: str) -> Mapping[str, str]:
    """NAME=VALUE options as a mapping. Raises UsageError."""
    split = [item.partition("=") for item in given]
    for name, sign, value in split:
        if not (name and sign and value):
            raise UsageError(f"{option} {name}{sign}{value} is not NAME=COLUMN", f"Such as {option} question=Query.")
    return {name: value for name, _, value in split}


def need_consent(question: str, refusal: str, hint: str) -> None:
    """Ask before a step that takes a yes. Raises UsageError without one, with `hint` where nobody is there to ask."""
    if not sys.stdin.isatty():
        raise UsageError(f"{refusal} without a yes", hint)
    if not typer.confirm(question, default=False, err=True):
        raise UsageError(refusal)


def check_finite(value: float, option: str) -> None:
    """Refuse what is called a number and is none. Raises UsageError."""
    if not math.isfinite(value):
        raise UsageError(f"{option} {value} is no number", f"Such as {option} 0.1.")


def check_new(path: Path | None, *, force: bool) -> None:
    """Refuse what can't be written, before any work is done. Raises OutputExists, UsageError."""
    if path is not None and str(path) != "-":
        check_output(path, force=force)
