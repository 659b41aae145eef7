"""Ends a command without a word if it is interrupted while its modules are still being imported.

There is nothing to clean up then. KeyboardInterrupt would print a traceback, or be swallowed by a callback of the
import system. This module imports as little as it can, since an interrupt before it runs still prints one.
"""

import os
import signal
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code of a command that a signal ended."""


def leave_at_once() -> None:
    """Make SIGINT end this process at once, unless it is ignored, as for a command in the background of a script."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def heed_interrupts() -> None:
    """Let SIGINT raise KeyboardInterrupt again: from now on a command has something to clean up."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)
