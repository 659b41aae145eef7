"""Advises users about an engine that does not load, by the words of the libraries that fail."""

import re
from collections.abc import Callable, Mapping

from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory, WeightsMissing

Advice = tuple[str, str]
"""An error's message (empty: show the exception itself) and its hint."""

Remedies = Mapping[type[EngineError], Mapping[str, Callable[[re.Match[str]], Advice]]]
"""Patterns by the error that they mean, each with its advice; the first pattern that matches decides."""

SMALLER = "Use a smaller judge or one in fewer bits, lower its context, or stop other programs that hold memory."


def advise(hint: str, said: str = "") -> Callable[[re.Match[str]], Advice]:
    """Return advice that is the same for every match."""
    return lambda found: (said, hint)


def _allocation(found: re.Match[str]) -> Advice:
    asked, total, free = found.groups()
    return f"memory ran out: {asked} more were needed, but only {free} of the GPU's {total} are free", SMALLER


REMEDIES: Remedies = {
    OutOfMemory: {
        r"out of memory\. Tried to allocate ([\d.]+ \w+)\. GPU \d+ has a total capacity of ([\d.]+ \w+) of which "
        r"([\d.]+ \w+) is free": _allocation,
        r"out of memory|OutOfMemoryError|MemoryError|can(?:'t|not) allocate memory": advise(SMALLER),
        r"its process was killed by SIGKILL": advise(f"Linux sends it when memory runs out. {SMALLER}"),
    },
    EngineMissing: {
        r"Failed to find C compiler|No working C\+\+ compiler|InvalidCxxCompiler|Python\.h: No such file"
        r"|No such file or directory: '\S*(?:gcc|g\+\+|clang|clang\+\+|cc|c\+\+)'": advise(
            "Install a compiler and Python's headers: `sudo apt-get install build-essential python3-dev`."
        ),
    },
    EngineError: {
        r"\[Errno (?:28|30|122)\]|\[Errno 13\].*(?:cache|pathway-local/)": advise(
            'Free space, make the folder writable, or move caches: `export XDG_CACHE_HOME="$HOME/caches"`.'
        ),
    },
    EngineUnexplained: {
        r"its process was killed by SIGBUS": advise(
            "It usually means that a disk or shared memory (/dev/shm) is full, or that a file was cut short: "
            "free space there, or fetch the weights again."
        ),
        r"its process was killed by SIGILL": advise(
            "It means an instruction that this processor lacks: the engine is built for another one."
        ),
        r"its process was killed by SIG(?:SEGV|ABRT|FPE)": advise(
            "It usually means a fault in a library: install the engine again, and read what --engine-log FILE keeps."
        ),
        r"its process was killed by": advise("Another program sent it, such as a batch system at one of its limits."),
    },
    WeightsMissing: {
        r"cannot find any model weights|SafetensorError|HeaderToo|incomplete metadata": advise(
            "Fetch or copy them again.", "the judge's weights can't be read: a file is damaged"
        ),
    },
}
"""Remedies for any engine, after its own."""
