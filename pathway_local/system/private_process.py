"""What this process leaves behind is its owner's alone: files that others can't read, none half written, no dump."""

import os
import resource
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a program to end."""


def make_private() -> None:
    """Let only the owner read new files, and no memory be written out when this process or a child crashes."""
    os.umask(0o077)
    # A limit of 1 byte, unlike 0, also stops a dump that the kernel pipes to a program (fs/coredump.c).
    limit = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    with suppress(OSError):  # a kernel that writes no dumps has no such file
        # Where the limit has to stay 0, such a dump holds none of the memory (core(5)).
        Path("/proc/self/coredump_filter").write_text("0")


def heeded_of(signals: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Those that are not ignored already: who gives a command to nohup wants it to outlive the terminal."""
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def end_like_an_interrupt() -> None:
    """Let SIGTERM and SIGHUP raise KeyboardInterrupt, so that what is half written is removed.

    Further ones are ignored: a shutdown and a closed terminal send several.
    """
    heeded = heeded_of((signal.SIGTERM, signal.SIGHUP))

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, end)
