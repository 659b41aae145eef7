"""Prints what commands have to say: errors and notes on stderr, data on stdout."""

import errno
import json
import os
import sys
import threading
import traceback
from collections.abc import Iterable, Sequence
from contextlib import suppress
from io import TextIOBase
from pathlib import Path
from typing import TextIO, cast

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from pathway_local import __version__
from pathway_local.check import Check
from pathway_local.errors import PathwayError, UsageError
from pathway_local.system.private_file import check_output
from pathway_local.system.shipped import with_pages
from pathway_local.system.visible import COMMAND, visible, visible_json

ENDLESS = 10_000
"""Characters of a line on which every table fits: what a terminal does not show is not broken for its width."""

SHORT = 32
"""Characters of a name in a table's first column that is never broken, so that it can be pasted."""

SOME_FAILED = 1
"""Exit code of a command that did its work except for some cases or rows."""

FAULT = 70
"""Exit code of a bug, EX_SOFTWARE of sysexits.h."""

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
"""Errors of a full disk."""

MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("PROBLEM", "bold red")}
INDENT = 8
"""Columns for the mark of a check; what belongs to it is indented by as many."""

_FRAMES = 3


class _Stderr(TextIOBase):
    """Writes to stderr while someone reads it: a job must not end because its terminal or pipe is gone."""

    encoding = "utf-8"

    def write(self, text: str) -> int:
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except RuntimeError:  # a signal's handler writes in the midst of another write, which a buffer refuses
            with suppress(OSError):
                os.write(self.fileno(), text.encode(self.encoding, "replace"))
        except OSError:
            discard(sys.stderr)
        return len(text)

    def isatty(self) -> bool:
        return sys.stderr.isatty()

    def fileno(self) -> int:
        return sys.stderr.fileno()


def discard(stream: TextIO) -> None:
    """Discard what a stream still holds: flushing it at the end would fail again and change the exit code."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    with suppress(OSError):
        stream.flush()


class Screen(Console):
    """Prints lines and tables to one of the two streams; with `errors_only`, `tell` and `notice` print nothing."""

    errors_only = False

    def say(
        self, said: str, style: str = "", *, label: str = "", indent: int = 0, lines: bool = False, prose: bool = False
    ) -> None:
        """Print a line, or a text of several `lines`, behind its label, which has the style if there is one.

        `prose` is broken between words. A terminal breaks all else: a command that we broke could not be pasted.
        """
        margin = " " * indent
        text = Text(margin + (label + visible(with_pages(said), lines=lines)).replace("\n", f"\n{margin}"))
        text.stylize(style, indent, indent + len(label) if label else None)
        self.print(text, soft_wrap=not (prose and self.is_terminal) or COMMAND.search(said) is not None)

    def show_table(
        self, title: str, heads: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, lines: bool = False
    ) -> None:
        """Print a table whose first `left` columns are words, which a narrow terminal folds; cells may have `lines`."""
        if title:
            self.say(title, "bold")
        self.print(table("", heads, rows, left=left, lines=lines))

    def on_broken_pipe(self) -> None:
        """Leave it to the command line, which ends with 0: rich would end with 1, our code for cases that failed."""
        raise  # what rich handles while it calls this


# Started with a stream closed (`<&-`, `>&-`), Python has none.
sys.stdin = sys.stdin or Path(os.devnull).open()  # noqa: SIM115
sys.stdout, sys.stderr = (each or Path(os.devnull).open("w") for each in (sys.stdout, sys.stderr))  # noqa: SIM115
# No markup and no emoji: a file's name can look like either.
STDERR = cast(TextIO, _Stderr())
talk = Screen(file=STDERR, markup=False, emoji=False, highlight=False, soft_wrap=True)
data = Screen(markup=False, emoji=False, highlight=False, width=None if sys.stdout.isatty() else ENDLESS)


def complain(error: PathwayError) -> None:
    """Print what is wrong in one line, and what to do in another."""
    label = "error: "
    talk.say(str(error), "bold red", label=label, prose=True)
    if error.hint:
        talk.say(error.hint, indent=len(label), prose=True)


def tell(message: str) -> None:
    """Print one line that a user may do without."""
    if not talk.errors_only:
        talk.say(message, prose=True)


def notice(message: str) -> None:
    """Print one line that the user should see."""
    tell(f"note: {message}")


def tell_fault(error: BaseException) -> None:
    """Print one line for the user, and the innermost places in the code for the developer."""
    talk.say(f"fault: pathway-local {__version__} failed ({type(error).__name__})", "bold red")
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        talk.say(f"{Path(frame.filename).name}:{frame.lineno} in {frame.name}", indent=7)
    talk.say("What was judged is stored. Please report these lines: they hold no case text.", indent=7)


def keep_texts_out_of_tracebacks() -> None:
    """Report uncaught exceptions, in threads too, without their messages."""
    sys.excepthook = lambda kind, error, trace: tell_fault(error)
    threading.excepthook = sys.unraisablehook = _tell_of


def _tell_of(given: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
    # On a full disk a collected file fails once more, after its first error was reported.
    full = isinstance(given.exc_value, OSError) and given.exc_value.errno in FULL
    if given.exc_value and not (full and hasattr(given, "object")):
        tell_fault(given.exc_value)


def print_text(title: str, text: str) -> None:
    """Print a heading, and a text as it is."""
    if text:
        data.print()
        data.say(title, "bold")
        data.say(text, lines=True)


def show_check(check: Check) -> None:
    """Print a check's result, and the fix of a problem below it."""
    word, style = MARKS[check.status]
    data.say(f"{check.name}: {check.found}", style, label=f"{word:{INDENT}}")
    if check.fix:
        data.say(f"→ {check.fix}", indent=INDENT)


def print_json(value: object) -> None:
    """Print data for machines."""
    text = json.dumps(value, ensure_ascii=not sys.stdout.encoding.lower().startswith("utf"), indent=2)
    sys.stdout.write(visible_json(text) + "\n")


def table(
    title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], *, left: int = 1, lines: bool = False
) -> Table:
    """Return a table whose first `left` columns are words and whose others are numbers; cells may have `lines`."""
    heading, rows = Text(visible(title)) if title else None, list(rows)
    made = Table(title=heading, title_justify="left", title_style="bold", box=SIMPLE_HEAD, pad_edge=False)
    short = all(len(row[0]) <= SHORT for row in rows)
    for at, column in enumerate(columns):
        words, whole = at < left, at >= left or (at == 0 and left > 1 and short)
        head = visible(column, lines=lines)
        made.add_column(head, justify="left" if words else "right", overflow="fold", no_wrap=whole)
    for row in rows:
        made.add_row(*(Text(visible(cell, lines=lines)) for cell in row))
    return made


def need_consent(question: str, refusal: str, hint: str) -> None:
    """Ask for a yes. Raises UsageError without one, with `hint` if nobody is there to ask."""
    if not sys.stdin.isatty():
        raise UsageError(f"{refusal} without a yes", hint)
    if not typer.confirm(visible(question), default=False, err=True):
        raise UsageError(refusal)


def check_new(path: Path | None, *, force: bool) -> None:
    """Refuse an output file that can't be written, before any work. Raises OutputExists, UsageError."""
    if path is not None and str(path) != "-":
        check_output(path, force=force)
