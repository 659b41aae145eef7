"""The file of `--engine-log`: everything that an engine's processes print while they load, before they see any case."""

import os
from datetime import datetime
from pathlib import Path
from typing import BinaryIO

from pathway_local.errors import UsageError
from pathway_local.system.output_file import output_file

FIRST = b"What the engine of pathway-local wrote while it loaded. It holds no case text: nothing is judged then.\n"


def make_log(path: Path, *, force: bool) -> None:
    """Make the file, 0600, with a first line that says what it holds; keep a file that begins with this line.

    Otherwise the same command could not continue a run. Raises OutputExists if another file has that name (`force`
    replaces it), UsageError if it can't be written.
    """
    if not _is_log(path):
        with output_file(path, force=force) as file:
            file.write(FIRST)


def open_log(path: Path) -> BinaryIO:
    """Open the file to append one more load. Raises UsageError."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        log = os.fdopen(handle, "ab", buffering=0)
        log.write(f"\nloading, {datetime.now().astimezone().isoformat(timespec='seconds')}\n".encode())
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror}", "Name another file at --engine-log.") from None
    return log


def _is_log(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return path.is_file() and not path.is_symlink() and file.readline(len(FIRST)) == FIRST
    except OSError:
        return False  # `output_file` reports what is wrong with it
