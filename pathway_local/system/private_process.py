"""Keeps what this process leaves behind private: files that others can't read, none half written, no core dump."""

import os
import resource
import signal
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

from pathway_local.errors import OutOfMemory

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a program to end."""


LIBRARIES, SMALLEST_JUDGE = 1 << 30, 3 << 29
"""Bytes of address space: numpy, scipy and transformers need 0.7 GiB; the process of an engine up to 1.5 GiB."""


def make_private() -> None:
    """Let only the owner read new files, and prevent core dumps of this process and its children."""
    os.umask(0o077)
    # The kernel ignores a limit of 0 when it pipes a dump to a program; a limit of 1 stops that, too (fs/coredump.c).
    limit = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    with suppress(OSError):  # a kernel that writes no dumps has no such file
        # If the limit has to stay 0, a piped dump then holds no memory (core(5)).
        Path("/proc/self/coredump_filter").write_text("0")


def own_cache() -> Path:
    """Return the folder of our caches, which may not exist yet."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "pathway-local"


def check_address_space(needed: int = LIBRARIES) -> None:
    """Raise OutOfMemory if a limit (ulimit -v) leaves less address space.

    Without this OpenBLAS, on which numpy and scipy build, would try for ever to allocate, deaf to signals.
    """
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < needed:
        said = f"this shell's limit on memory (ulimit -v) is {limit >> 20} MB; at least {needed >> 20} MB are needed"
        raise OutOfMemory(said, "Lift it: `ulimit -v unlimited`.")


def heeded_of(signals: Iterable[signal.Signals]) -> list[signal.Signals]:
    """Return the signals that are not ignored already: a command under nohup must outlive its terminal."""
    return [number for number in signals if signal.getsignal(number) is not signal.SIG_IGN]


def end_like_an_interrupt() -> None:
    """Make SIGTERM and SIGHUP raise KeyboardInterrupt, so that half-written files are removed.

    Ignore further ones: a shutdown and a closed terminal send several.
    """
    heeded = heeded_of((signal.SIGTERM, signal.SIGHUP))

    def end(_number: int, _frame: FrameType | None) -> NoReturn:
        for number in heeded:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    for number in heeded:
        signal.signal(number, end)
