"""Faults of the program itself: told by their kind and place, since an exception's own words may quote a case."""

import sys
import threading
import traceback
from pathlib import Path
from types import TracebackType

from pathway_local import __version__
from pathway_local.cli.terminal import talk

FAULT = 70
"""Exit code of a fault, as in sysexits.h."""

_FRAMES = 3


def tell_fault(error: BaseException) -> None:
    """One line for a person, and the innermost places for whoever mends it."""
    talk.print(f"fault: pathway-local {__version__} failed ({type(error).__name__})", style="bold red", markup=False)
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        talk.print(f"       {Path(frame.filename).name}:{frame.lineno} in {frame.name}", markup=False)
    talk.print("       What was judged is stored. Please report these lines: they hold no text of a case.")


def keep_texts_out_of_tracebacks() -> None:
    """Let exceptions that nothing catches, in threads as well, be told without their words."""
    sys.excepthook = _uncaught
    threading.excepthook = lambda given: given.exc_value and tell_fault(given.exc_value)
    sys.unraisablehook = lambda given: given.exc_value and tell_fault(given.exc_value)


def _uncaught(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
    tell_fault(error)
