"""Turns what an engine's process said before it ended into an error that a user can act on."""

import re
from pathlib import Path

from pathway_local import errors
from pathway_local.engines.cause import described, last_exception, one_line, tells_nothing
from pathway_local.engines.engine import EngineKind
from pathway_local.engines.remedies import REMEDIES, SMALLER
from pathway_local.engines.wire import Failed
from pathway_local.errors import EngineError, EngineMissing, EngineUnexplained, OutOfMemory

SHOWN = 300
"""Characters of a library's message that an error shows."""


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
            for pattern, advise in patterns.items():
                if found := re.search(pattern, text, re.IGNORECASE):
                    said, hint = advise(found)
                    return error(said or shown, hint)
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
