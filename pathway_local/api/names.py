"""Names and paths that a program gives."""

import os

from pathway_local.errors import UsageError

Name = str | os.PathLike[str]


def check_names(*given: object) -> None:
    """Raise UsageError if a name or path, also one in a list, holds a NUL character: no file's name can."""
    for each in given:
        if isinstance(each, list | tuple):
            check_names(*each)
        elif isinstance(each, str | os.PathLike) and "\0" in os.fsdecode(each):
            raise UsageError(f"the name {os.fsdecode(each)!r} holds a NUL character", "No file's name can hold one.")
