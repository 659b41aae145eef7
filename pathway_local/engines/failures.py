"""Turns what an engine's processes said before they ended into an error that a user can act on.

The exception that explains why an engine did not start is looked for in everything that they printed.
"""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from pathway_local import errors
from pathway_local.engines.engine import REMEDIES, SMALLER, EngineKind
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory

SHOWN = 400
"""Characters of a library's message that an error shows."""

LONGEST = 3000
"""Characters to keep of a message: an exception can quote the whole output of a compiler."""

_HEAD = "Traceback (most recent call last):"
_COLOR = re.compile(r"\x1b\[[0-9;]*m")
_PREFIX = re.compile(
    r"(?:\([\w-]+ pid=\d+\) ?)*(?:(?:DEBUG|INFO|WARNING|ERROR|CRITICAL) \d\d-\d\d [\d:]+ \[[^\]]*\] ?)?"
)
"""The prefix that vLLM's log puts before each line: `(EngineCore pid=7) ERROR 11-22 13:14:15 [core.py:99] `."""

_EXCEPTION = re.compile(r"((?:\w+\.)*\w+)(?:: ?(.*))?")
_HEADING = re.compile(r"\d+ validation errors? for .*|.*:")

_TELLS_NOTHING = re.compile(
    r"(?:Engine core|WorkerProc) initialization failed|during engine core initialization|Worker failed with error"
    r"|EngineCore encountered an issue|Executor failed\.|to be inspected\. Please check the logs"
    r"|Error raised in subprocess|Failed to infer device type|Connection (?:closed|reset) by peer"
    r"|^(?:BrokenPipe|EOF|CalledProcess)Error\b"
    r"|^(?:KeyboardInterrupt|SystemExit)\b"
)
"""Exceptions that processes raise because another one failed, or that refer to the log: the cause is elsewhere."""


def start_error(
    kind: EngineKind, failed: Failed, printed: str, ended: str = "", log: Path | None = None
) -> EngineError:
    """Return the error for an engine that could not be loaded.

    `failed` is the last message of its process, empty if it sent none; `printed` are its last lines, `ended` says how
    it ended, and `log`, if given, holds everything that it printed.
    """
    if failed.error:
        made: type[EngineError] = getattr(errors, failed.error)
        return made(failed.message, failed.hint)
    cause = described(failed.kind, failed.message) if failed.kind else ""
    if not cause or tells_nothing(cause):
        cause = last_exception(printed) or cause  # vLLM's workers print their exceptions
    if failed.kind == "ModuleNotFoundError" and failed.message.endswith(tuple(map(repr, kind.libraries))):
        return EngineMissing(f"the engine {kind.name} is not installed here: {cause[:SHOWN]}", kind.install_hint)
    by_signal = f"its process was {ended}" if ended.startswith("killed") else ""
    why = cause or by_signal or _last_line(printed) or f"its process ended with {ended}"
    shown = f"the judge can't be loaded: {why[:SHOWN]}"
    text = f"{shown}\n{printed}" if not cause or tells_nothing(cause) else cause
    for remedies in (kind.remedies, REMEDIES):
        for error, patterns in remedies.items():
            for pattern, hint in patterns.items():
                if re.search(pattern, text, re.IGNORECASE):
                    return error(shown, hint)
    if text.startswith(("ModuleNotFoundError", "ImportError")):
        return EngineMissing(shown, f"A part of the engine is missing. {kind.install_hint}")
    if failed.memory:
        return OutOfMemory(shown, SMALLER)
    return EngineUnexplained(shown, look_there(log))


def look_there(log: Path | None) -> str:
    """Return a hint that names the place of everything that the engine printed while it loaded."""
    if log:
        return f"Read {log}: it has all that the engine printed while it loaded."
    return "Add --engine-log FILE to keep all that the engine prints while it loads, and read it."


def _last_line(printed: str) -> str:
    return next((one_line(text) for text in reversed(printed.splitlines()) if text.strip()), "")


def tells_nothing(exception: str) -> bool:
    """Whether an exception only says that something failed elsewhere."""
    return _TELLS_NOTHING.search(exception) is not None


def last_exception(printed: str) -> str:
    """Return the last exception after a traceback that names a cause, as `described`; empty if none does."""
    lines = [_PREFIX.sub("", _COLOR.sub("", line), count=1).rstrip() for line in printed.splitlines()]
    return next((each for each in reversed([*_exceptions(lines)]) if not tells_nothing(each)), "")


def described(kind: str, message: str) -> str:
    """Return an exception as one line: its kind, and the first line of its message that is not a heading."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = next((line for line in lines if not _HEADING.fullmatch(line)), lines[0] if lines else "")
    name, told = kind.rpartition(".")[2], told.partition(" [type=")[0]  # pydantic quotes its input after that
    return one_line(f"{name}: {told}" if told else name)


def one_line(text: str) -> str:
    """Return a text without colors and control characters, cut at LONGEST."""
    return "".join(letter if letter.isprintable() else " " for letter in _COLOR.sub("", text).strip())[:LONGEST]


def _exceptions(lines: Sequence[str]) -> Iterator[str]:
    """Yield each exception after a traceback. Lines of several processes may be mixed, so only count the tracebacks."""
    tracebacks = 0
    for at, line in enumerate(lines):
        if line.endswith(_HEAD):
            tracebacks += not (at and lines[at - 1].startswith("Exception ignored"))
        elif tracebacks and (found := _EXCEPTION.fullmatch(line)):
            tracebacks -= 1
            begins = found[2] == "" or (found[2] and _HEADING.fullmatch(found[2]))
            yield described(found[1], "\n".join([found[2] or "", *(lines[at + 1 : at + 4] if begins else ())]))
