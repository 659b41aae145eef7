"""Finds and removes what killed engines leave behind: temporary files, and shared memory with ids of prompts."""

import shutil
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

_SHARED = Path("/dev/shm")
ATTEMPTS = 20


def members(group: int) -> Iterator[Path]:
    """Yield the folders in /proc of a group's processes."""
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if int((process / "stat").read_text().rpartition(")")[2].split()[2]) == group:
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
