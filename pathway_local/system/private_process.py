"""Keeps what this process leaves behind private: files that others can't read, none half written, no core dump.

Finds and removes what killed engines leave behind: temporary files, and shared memory with ids of prompts.
"""

import os
import resource
import shutil
import signal
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import NoReturn

INTERRUPTED = 130
"""Exit code of a command that a signal ended."""

STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that ask a program to end."""


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


_SHARED = Path("/dev/shm")
ATTEMPTS = 20


def members(group: int) -> Iterator[Path]:
    """Yield the folders in /proc of a group's processes that have not ended."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            state, _, its_group, *_ = (process / "stat").read_text().rpartition(")")[2].split()
            if int(its_group) == group and state not in "ZX":
                yield process


def shared_memory(group: int) -> set[Path]:
    """Return the files in shared memory that a group's processes have mapped now."""
    found: set[Path] = set()
    for process in members(group):
        with suppress(OSError):
            lines = (process / "maps").read_text("utf-8", "replace").splitlines()
            mapped = (line.split(maxsplit=5)[-1] for line in lines)
            found |= {Path(name) for name in mapped if Path(name).parent == _SHARED}
    return {path for path in found if path.is_file()}


def remove(folder: str, shared: Iterable[Path]) -> None:
    """Delete a folder of temporary files and these files; ignore missing ones.

    A process that was killed may still finish making a file there: then try again.
    """
    for _ in range(ATTEMPTS):
        shutil.rmtree(folder, ignore_errors=True)
        if not Path(folder).exists():
            break
        time.sleep(0.1)
    for path in shared:
        with suppress(OSError):
            path.unlink()
