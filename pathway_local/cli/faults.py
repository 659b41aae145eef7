"""Reports bugs of the program by their kind and place, since an exception's message may quote a case."""

import sys
import threading
import traceback
from pathlib import Path

from pathway_local import __version__
from pathway_local.cli.terminal import talk

FAULT = 70
"""Exit code of a bug, EX_SOFTWARE of sysexits.h."""

_FRAMES = 3


def tell_fault(error: BaseException) -> None:
    """Print one line for the user, and the innermost places for whoever fixes it."""
    talk.print(f"fault: pathway-local {__version__} failed ({type(error).__name__})", style="bold red")
    for frame in traceback.extract_tb(error.__traceback__)[-_FRAMES:]:
        talk.print(f"       {Path(frame.filename).name}:{frame.lineno} in {frame.name}")
    talk.print("       What was judged is stored. Please report these lines: they hold no case text.")


def keep_texts_out_of_tracebacks() -> None:
    """Report uncaught exceptions, in threads too, without their messages."""
    sys.excepthook = lambda kind, error, trace: tell_fault(error)
    threading.excepthook = sys.unraisablehook = _tell_of


def _tell_of(given: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
    if given.exc_value:
        tell_fault(given.exc_value)
