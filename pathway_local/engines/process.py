"""The parent's side of an engine's process: starts it, talks to it without ever blocking, and ends it."""

import os
import select
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import IO, BinaryIO

from pathway_local.engines.wire import FROM_ENGINE, Frames, FromEngine, Load, ToEngine, frame
from pathway_local.errors import EngineDied, EngineError, UsageError
from pathway_local.sealing.gatekeeper import Gatekeeper
from pathway_local.sealing.launch import TEMPORARY, start_process
from pathway_local.sealing.seal import Wanted
from pathway_local.system.private_process import members, remove, shared_memory
from pathway_local.system.shipped import python_path

LOOK = 1.0
"""Seconds between two checks that the process is alive. Its pipe does not tell: a worker may keep it open."""

LONGEST_FOLDER = 50
"""Characters of the folder for temporary files: engines put sockets there, whose paths may have 107 (unix(7))."""

NO_START = (
    "End other programs, raise this user's limits (ulimit -u, ulimit -n), or name a folder with free space in TMPDIR, "
    f"in {LONGEST_FOLDER} characters at most."
)

TOGETHER = 1 << 16
"""Bytes of messages to write at once, as many as a pipe holds. One write a message took a tenth of our own time."""

KEPT = 1 << 18
"""Bytes to keep of what a loading process prints: enough for tracebacks of several workers."""

NO_MEMORY = b"out of memory"

KILL_LIMIT = 120.0
"""Seconds that a killed process may take to end: the kernel first frees its memory, and that of a GPU."""


class Gone(Exception):
    """The process has ended, and we have read everything that it sent."""


class EngineProcess:
    """One process that runs `pathway_local.engines.child` in a session of its own.

    An engine of `several` processes gets a gatekeeper, since they connect to each other. `log` receives everything that
    the process prints while it loads. Raises EngineError if the process can't be started or the configuration can't be
    sent, UsageError if `log` can't be written.
    """

    def __init__(
        self,
        load: Load,
        seal: Wanted = "auto",
        log: Path | None = None,
        *,
        several: bool = False,
    ) -> None:
        try:
            first = frame(load)
        except (OverflowError, TypeError, ValueError):
            hint = "Rename the folder so that its name is valid UTF-8, or correct `engine` in the judge's entry."
            raise EngineError("the judge's folder or a setting of its engine can't be passed on", hint) from None
        opened = open_log(log) if log else None
        if opened:
            opened.write(f"\nloading, {datetime.now().astimezone().isoformat(timespec='seconds')}\n".encode())
        self._several = several
        self._shared: set[Path] = set()
        self._temporary = ""
        try:
            usual = tempfile.gettempdir()
            place = usual if len(usual) <= LONGEST_FOLDER else "/tmp"
            self._temporary = tempfile.mkdtemp(prefix="pathway-", dir=place)
            self._process = self._started(seal, os.environ | self._environment(load.config.gpus))
        except OSError as error:
            if self._temporary:
                remove(self._temporary, ())
            if opened:
                opened.close()
            raise EngineError(f"can't start a process for the engine: {error.strerror}", NO_START) from None
        os.set_blocking(self._out, False)
        self._unsent = bytearray(first)
        self._frames = Frames(FROM_ENGINE)
        assert self._process.stdout is not None
        self.output = Output(self._process.stdout, opened)

    def _started(self, seal: Wanted, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        requests, self._out = os.pipe()
        self._in, replies = os.pipe()
        theirs = [requests, replies]
        try:
            if self._several and seal != "off":
                theirs.append(Gatekeeper(Path(self._temporary)).child_end)
            # -P: without it a file in the current folder could shadow a library.
            numbers = [*map(str, theirs), "-1"][:3]
            command = [sys.executable, "-P", "-m", "pathway_local.engines.child", seal, *numbers]
            return start_process(command, theirs, environment, self._temporary)
        except OSError:
            os.close(self._in)
            os.close(self._out)
            raise
        finally:
            for each in theirs:
                os.close(each)

    def _environment(self, gpus: str) -> dict[str, str]:
        """Return variables that tell the process its GPUs, where our package is, and where its temporary files go.

        Output is unbuffered: else lines printed while it loads would arrive after we stop keeping them, or never.
        """
        names = dict.fromkeys(("TMPDIR", "VLLM_RPC_BASE_PATH", TEMPORARY), self._temporary)
        if gpus:
            names["CUDA_VISIBLE_DEVICES"] = gpus
        return {"PYTHONPATH": python_path(), "PYTHONUNBUFFERED": "1", **names}

    @property
    def pid(self) -> int:
        """Return the process's id, which is also its process group's."""
        return self._process.pid

    def send(self, message: ToEngine) -> None:
        """Buffer a message; it is written together with others, at the latest by the next `receive`."""
        self._unsent += frame(message)
        if len(self._unsent) >= TOGETHER:
            self.flush()

    def flush(self) -> None:
        """Write what the process takes now."""
        with suppress(BlockingIOError):
            while self._unsent:
                try:
                    written = os.write(self._out, self._unsent)
                except BrokenPipeError:
                    self._unsent.clear()  # it has ended, which `receive` reports
                    return
                del self._unsent[:written]

    def receive(self, seconds: float) -> list[FromEngine]:
        """Return the messages that arrive within this time, possibly none. Raises Gone."""
        until = time.monotonic() + seconds
        while True:
            ended = self.has_ended()  # checked before the pipe, which by then holds all that it sent
            if self._in in wait_for([self], 0.0 if ended else min(LOOK, max(0.0, until - time.monotonic()))):
                piece = os.read(self._in, 1 << 20)
                if not piece:
                    raise Gone
                if messages := self._frames.feed(piece):
                    return messages
            elif ended:
                raise Gone
            if time.monotonic() >= until:
                return []

    def has_ended(self) -> bool:
        """Whether the process has ended. WNOWAIT leaves it a zombie, so that nobody else gets its id until `kill`."""
        if self._process.returncode is not None:
            return True
        return os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None

    def kill(self) -> str:
        """Kill the process and its workers; return in words how it ended. Raises EngineDied if it does not end."""
        if self._process.returncode is None:
            self.note_shared_memory()
            # Before the kill, too: it ends the engine's watcher, and this process may be killed meanwhile.
            remove(self._temporary, ())
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            try:
                self._wait_for_all()
            except subprocess.TimeoutExpired:
                said = f"the engine's process {self.pid} was killed but does not end: a driver or a disk holds it"
                raise EngineDied(said, "Restart the machine. What was judged is stored.") from None
            finally:
                remove(self._temporary, self._shared)
                os.close(self._in)
                os.close(self._out)
                self.output.close()
        number = self._process.returncode or 0
        names = {int(each): each.name for each in signal.Signals}
        return f"exit status {number}" if number >= 0 else f"killed by {names.get(-number, f'signal {-number}')}"

    def _wait_for_all(self) -> None:
        """Wait for the killed process and its workers, which hold the memory of GPUs. Raises TimeoutExpired."""
        until = time.monotonic() + KILL_LIMIT
        self._process.wait(KILL_LIMIT)
        while any(members(self.pid)):
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired((), KILL_LIMIT)
            time.sleep(0.01)

    def note_shared_memory(self) -> None:
        """Remember the files of shared memory that the process holds, to remove them once it is dead."""
        if self._several:
            self._shared |= shared_memory(self.pid)


def wait_for(processes: Sequence[EngineProcess], seconds: float) -> Collection[int]:
    """Wait until a process sends or prints something; meanwhile write what they take. Return the pipes to look at."""
    poll = select.poll()
    for each in processes:
        poll.register(each._in, select.POLLIN)
        if each._unsent:
            poll.register(each._out, select.POLLOUT)
        if not each.output.ended:
            poll.register(each.output.stream, select.POLLIN)
    ready = dict(poll.poll(seconds * 1000))
    for each in processes:
        if each._out in ready:
            each.flush()
        each.output.take()
    return ready


class Output:
    """Everything that the process prints. Until it is ready we keep the end, in case it does not start.

    `log` receives everything until then. After `forget` we show no text, since it may quote a case: we only note
    whether memory ran out.
    """

    def __init__(self, stream: IO[bytes], log: BinaryIO | None = None) -> None:
        self.stream, self._log = stream, log
        self._last, self._kept = b"", KEPT
        self.ended = self.memory_ran_out = False
        self.log_ended = ""
        """Why `log` is incomplete; empty if it is not."""
        os.set_blocking(stream.fileno(), False)

    @property
    def text(self) -> str:
        """Return the end of what the process has printed while it loaded."""
        return self._last.decode("utf-8", "replace") if self._kept == KEPT else ""

    def forget(self) -> None:
        """Write what the process has printed so far into the log, then drop it and keep nothing more."""
        self.take()
        self._last, self._kept = b"", len(NO_MEMORY)
        self._close_log()

    def take(self) -> None:
        """Read what is there: at most what a pipe holds."""
        try:
            piece = os.read(self.stream.fileno(), TOGETHER)
        except BlockingIOError:
            return
        self.ended = not piece
        self.memory_ran_out |= NO_MEMORY in (self._last[-len(NO_MEMORY) :] + piece).lower()
        self._last = (self._last + piece)[-self._kept :]
        self._write(piece)

    def close(self) -> None:
        """Read the rest, once the process has ended."""
        self.take()
        self.stream.close()
        self._close_log()

    def _write(self, piece: bytes) -> None:
        rest = memoryview(piece)
        try:
            while self._log and rest:
                rest = rest[self._log.write(rest) :]
        except OSError as error:
            self.log_ended = error.strerror or type(error).__name__
            self._close_log()

    def _close_log(self) -> None:
        if self._log:
            self._log.close()
            self._log = None


FIRST = b"What the engine of pathway-local wrote while it loaded. It holds no case text: nothing is judged then.\n"


def open_log(path: Path) -> BinaryIO:
    """Open the file to append one more load; a new one, 0600, begins with a line that says what it holds.

    Raises UsageError if it can't be written, or does not begin with this line.
    """
    hint = "Name another file at --engine-log."
    try:
        handle = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        log = os.fdopen(handle, "a+b", buffering=0)
        log.seek(0)
        begins = log.read(len(FIRST))
        if begins in (b"", FIRST):
            log.write(FIRST if not begins else b"")
            return log
        log.close()
    except OSError as error:
        raise UsageError(f"{path} can't be written: {error.strerror or error}", hint) from None
    raise UsageError(f"{path} exists already, and is no log of an engine", hint)
