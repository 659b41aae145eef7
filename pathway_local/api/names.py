"""Names and paths that a program gives, and the names of its arguments in what it is told."""

import os
import re

from pathway_local.errors import UsageError
from pathway_local.judging.plan import options_of
from pathway_local.system.shipped import with_pages

Name = str | os.PathLike[str]


def check_names(*given: object) -> None:
    """Raise UsageError if a name or path, also one in a list, holds a NUL character: no file's name can."""
    for each in given:
        if isinstance(each, list | tuple):
            check_names(*each)
        elif isinstance(each, str | os.PathLike) and "\0" in os.fsdecode(each):
            raise UsageError(f"the name {os.fsdecode(each)!r} holds a NUL character", "No file's name can hold one.")


_MAPS = re.compile(r"--map (?:'(\w+=[^']+)'|(\w+=[^\s']+?)(?=[.,;]?(?:\s|$)))")


def in_python(text: str) -> str:
    """Return a message or hint with a program's arguments in place of the command's options: `keep_samples`."""
    if maps := list(_MAPS.finditer(text)):
        told = dict((each[1] or each[2]).split("=", 1) for each in maps)
        text = f"{text[: maps[0].start()]}map={told}{text[maps[-1].end() :]}"
    names = {option.flag: name for name, option in options_of().items()}
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", lambda found: names.get(found[0], found[0]), with_pages(text))
