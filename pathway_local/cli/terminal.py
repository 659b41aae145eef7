"""What commands print: errors and notices on stderr, data on stdout."""

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
"""Exit code of a command that a signal ended."""

MIN_GROUP = 10
"""Tables leave out groups of fewer cases: the figures of a few may reveal what one of them got."""


class _Stderr(TextIOBase):
    """Writes to stderr while someone reads it: a job must not end because its terminal or pipe is gone."""

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
        """The real stream: while a progress bar is shown, `sys.stderr` leads back to us."""
        stream: TextIO = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        return stream

    def _nowhere(self) -> None:
        """Discard what the stream still holds: flushing it at the end would fail again and change the exit code."""
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, self.fileno())
        os.close(nowhere)
        with suppress(OSError):
            self._stream.flush()


# No markup and no emoji: a file's name can look like either.
talk = Console(file=cast(TextIO, _Stderr()), markup=False, emoji=False, highlight=False, soft_wrap=True)
data = Console(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else PIPE_WIDTH)


def complain(error: PathwayError) -> None:
    """Print what is wrong in one line, and what to do in another."""
    talk.print(Text.assemble(("error: ", "bold red"), str(error)))
    if error.hint:
        talk.print(Text(f"       {error.hint}"))


def notice(message: str) -> None:
    """Print one line that the user should see."""
    talk.print(Text(f"note: {message}"))


def print_json(value: object) -> None:
    """Print data for machines."""
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
            raise UsageError(f"{option} {name}{sign}{value} is not INPUT=COLUMN", f"Such as {option} question=Query.")
    return {name: value for name, _, value in split}


def need_consent(question: str, refusal: str, hint: str) -> None:
    """Ask for a yes. Raises UsageError without one, with `hint` if nobody is there to ask."""
    if not sys.stdin.isatty():
        raise UsageError(f"{refusal} without a yes", hint)
    if not typer.confirm(question, default=False, err=True):
        raise UsageError(refusal)


def check_finite(value: float, option: str) -> None:
    """Refuse infinity and NaN. Raises UsageError."""
    if not math.isfinite(value):
        raise UsageError(f"{option} {value} is not a finite number", f"Give a number, such as {option} 0.1.")


def check_new(path: Path | None, *, force: bool) -> None:
    """Refuse an output file that can't be written, before any work. Raises OutputExists, UsageError."""
    if path is not None and str(path) != "-":
        check_output(path, force=force)
