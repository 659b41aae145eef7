"""Shows a job's progress on the terminal, and lets a signal end the job."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from pathway_local.cli.terminal import STDERR, talk
from pathway_local.judging.progress import Progress
from pathway_local.system.private_process import STOPPING, heeded_of
from pathway_local.system.shipped import with_pages


class JobProgress(Progress):
    """The progress of a command, on stderr; nothing with --quiet."""

    def __init__(self) -> None:
        super().__init__(STDERR, with_pages, changes=talk.is_terminal)
        self.signal = 0

    def stopped(self) -> bool:
        """Whether a signal asked the job to end."""
        return bool(self.signal)

    def stop(self, number: int) -> None:
        """Ask the job to end because of this signal, and say so above the line of progress."""
        self.signal = number
        self._write("stopping: verdicts so far are kept; interrupt again to stop at once", whole=True)

    def _write(self, text: str, *, whole: bool = False) -> None:
        if not talk.errors_only:
            super()._write(text, whole=whole)


@contextmanager
def listening(progress: JobProgress) -> Iterator[None]:
    """End the job in the block cleanly at the first SIGINT, SIGTERM or SIGHUP, and at once at the second."""

    def heard(number: int, _: FrameType | None) -> None:
        if progress.signal:
            raise KeyboardInterrupt
        progress.stop(number)

    before = {number: signal.signal(number, heard) for number in heeded_of(STOPPING)}
    try:
        yield
    finally:
        progress.end()
        for number, handler in before.items():
            # After a request to stop, the command only has to report where it stands: a third signal must not cut that.
            signal.signal(number, signal.SIG_IGN if progress.signal else handler)
