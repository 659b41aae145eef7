"""One engine in a sealed process of its own, the passes that it holds, and why it failed, in words for users.

The exception that explains why an engine did not start is looked for in everything that its processes printed.
"""

import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from pathway_local import errors
from pathway_local.engines.engine import REMEDIES, SMALLER, EngineKind
from pathway_local.engines.engine_list import engine_kind
from pathway_local.engines.process import LOOK, EngineProcess, Gone
from pathway_local.engines.wire import Died, Failed, Load, Ready, Results
from pathway_local.errors import EngineDied, EngineError, EngineMissing, EngineUnexplained, OutOfMemory, Stopped
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult
from pathway_local.sealing.seal import Seal, Wanted
from pathway_local.system.private_process import SMALLEST_JUDGE, check_address_space

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


Notify = Callable[[str], None]


class Host:
    """One engine: loads it, sends it passes and receives their results.

    `hang_limit` is in seconds; the default is the engine's own. `log` receives everything that the engine prints while
    it loads. `held` are the passes in flight; their
    number stays below `most`. `deaths` and `culprits` count in a row, without a result between them.
    """

    def __init__(
        self,
        engine: str,
        config: EngineConfig,
        *,
        seal: Wanted = "auto",
        hang_limit: float | None = None,
        log: Path | None = None,
    ) -> None:
        self._kind, self._config, self._log = engine_kind(engine), config, log
        check_address_space(SMALLEST_JUDGE)
        self._wanted: Wanted = seal
        self._hang_limit = hang_limit
        self.facts: EngineFacts | None = None
        self.seal = Seal()
        self.process: EngineProcess | None = None
        self.held: dict[str, Pass] = {}
        self.most = self._kind.window(config)
        self.deaths = self.culprits = 0
        self._memory_ran_out, self._cause = False, ""
        self._heard = 0.0
        """When the process last said something, or got its first pass; by `time.monotonic`."""

    @property
    def pid(self) -> int | None:
        """Return the process's id; None between a death and the next start."""
        return self.process.pid if self.process else None

    def load(self, notify: Notify, stopped: Callable[[], bool]) -> None:
        """Start the process and wait until the engine is loaded. Raises EngineError by cause, Stopped."""
        self._start(notify, stopped)

    def send(self, item: Pass) -> None:
        """Send a pass to the engine; returns at once."""
        assert self.process
        if not self.held:
            self._heard = time.monotonic()
        self.held[item.id] = item
        self.process.send(self.process.passes.message(item))

    def receive(self) -> list[PassResult]:
        """Return the results that have arrived, possibly none. Raises Gone if the process has ended."""
        assert self.process
        found: list[PassResult] = []
        messages = self.process.receive(0.0)
        for message in messages:
            match message:
                case Died():
                    self._memory_ran_out |= message.memory
                    self._cause = message.kind
                case Results():
                    for result in message.results:
                        del self.held[result.id]
                    found += message.results
                    self.deaths = self.culprits = 0
        if messages:
            self._heard = time.monotonic()
        return found

    @property
    def hang_limit(self) -> float:
        """Seconds of silence after which an engine that holds passes counts as dead."""
        assert self.facts
        return self._hang_limit or self._kind.hang_limit(self.facts.device)

    def silence_left(self) -> float:
        """Return the seconds until the engine counts as dead if it says nothing."""
        return max(0.0, self._heard + self.hang_limit - time.monotonic())

    def end(self) -> tuple[str, list[Pass], bool]:
        """Kill the process; return how it ended, the passes that it held, and whether memory ran out."""
        assert self.process
        process, self.process = self.process, None
        ended, memory = process.kill(), self._memory_ran_out or process.output.memory_ran_out
        how = f"died ({self._cause or ended})"
        held = list(self.held.values())
        self.held.clear()
        self.deaths += 1
        self._memory_ran_out, self._cause = False, ""
        return how, held, memory

    def close(self) -> None:
        """End the process and free the model's memory. Raises EngineDied if it does not end."""
        process, self.process = self.process, None
        if process:
            process.close()

    def _start(self, notify: Notify, stopped: Callable[[], bool], *, again: bool = True) -> None:
        """Start the process. If a signal ends it while it loads, restart it once: what sent the signal may be over."""
        load = Load(self._kind.loader, self._config, self._log is not None)
        several = self._kind.has_workers(self._config)
        process = EngineProcess(load, self._wanted, self._log, several=several)
        try:
            loaded = self._ready(process, stopped)
            if isinstance(loaded, Ready):
                self.facts, self.seal, self.process = loaded.facts, loaded.seal, process
                return
            ended = process.kill()
        except BaseException:
            process.kill()
            raise
        finally:
            if said := process.output.log_ended:
                notify(f"{self._log} is incomplete: {said}")
        if not (again and process.ended_by):
            raise start_error(self._kind, loaded, process.output.text, ended, self._log)
        how = loaded.message if loaded.error else f"the engine was {ended} while it loaded"
        notify(f"{how}: restarting it")
        self._start(notify, stopped, again=False)

    def _ready(self, process: EngineProcess, stopped: Callable[[], bool]) -> Ready | Failed:
        """Wait until the engine is loaded; return what was loaded, or what the process said before it ended."""
        limit = self._kind.start_limit(self._config)
        until = time.monotonic() + limit
        said = Failed()
        with suppress(Gone):
            while (left := until - time.monotonic()) > 0:
                if stopped():
                    raise Stopped("stopped while the engine was loaded")
                for message in process.receive(min(LOOK, left)):
                    if isinstance(message, Ready):
                        process.output.forget()
                        process.note_shared_memory()
                        return message
                    said = message if isinstance(message, Failed) else said
            raise EngineDied(f"the judge was not loaded within {limit / 60:.0f} minutes", look_there(self._log))
        return said
