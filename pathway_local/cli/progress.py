"""Shows a job's progress while it runs, and lets a signal end it."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from pathway_local.cli.terminal import notice, talk, tell
from pathway_local.judging.job import Watcher
from pathway_local.judging.pace import figures, progress_line
from pathway_local.judging.recorder import Tally
from pathway_local.system.private_process import STOPPING, heeded_of
from pathway_local.system.visible import visible

FIRST_LINE, LAST_GAP = 10.0, 1800.0
"""Without a terminal: seconds to the first line of progress; each gap is twice the one before, up to the last."""


class JobProgress(Watcher):
    """Shows a job's progress: a bar on a terminal, elsewhere a plain line now and then."""

    def __init__(self) -> None:
        self.signal = 0
        self._bar: Progress | None = None
        self._began = self._shown = time.monotonic()
        self._total: int | None = None
        self._rater = ""
        self._untold: Tally | None = None
        self._gap = FIRST_LINE

    def notice(self, message: str) -> None:
        """Print a line that the user should see."""
        notice(message)

    def begin(self, rater: str, total: int | None) -> None:
        """Show that a judge begins with `total` cases, None if unknown."""
        self.end()
        self._began = self._shown = time.monotonic()
        self._total, self._rater, self._gap = total, rater, FIRST_LINE
        if talk.is_terminal and not talk.errors_only:
            columns = (
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[figures]}"),
            )
            self._bar = Progress(*columns, TimeRemainingColumn(), console=talk, transient=False)
            self._bar.start()
            self._bar.add_task(visible(rater), start=False, total=total, figures="")  # it pulses until it starts

    def loading(self, judge: str) -> None:
        """Show that a judge is being loaded."""
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=visible(f"loading {judge}"))
        else:
            tell(f"loading {judge}")

    def ready(self) -> None:
        """Measure the pace from now on, without the time for loading."""
        self._began = self._shown = time.monotonic()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], description=visible(self._rater))
            self._bar.start_task(self._bar.task_ids[0])

    def watch(self, tally: Tally) -> None:
        """Show how many cases are done."""
        now = time.monotonic()
        self._total = tally.done if tally.complete else self._total
        if self._bar:
            told = figures(tally, now - self._began)
            self._bar.update(self._bar.task_ids[0], completed=tally.done, total=self._total, figures=told)
        else:
            self._untold = tally
            if now - self._shown >= self._gap:
                self._gap = min(2 * self._gap, LAST_GAP)
                self._tell(tally, now)

    def stopped(self) -> bool:
        """Whether a signal asked the job to end."""
        return bool(self.signal)

    def end(self) -> None:
        """Remove the bar, and print the last figures if they were not printed yet."""
        if self._bar:
            self._bar.stop()
            self._bar = None
        if self._untold:
            self._tell(self._untold, time.monotonic())

    def _tell(self, tally: Tally, now: float) -> None:
        self._shown, self._untold = now, None
        tell(progress_line(self._rater, tally, self._total, now - self._began))


@contextmanager
def listening(progress: JobProgress) -> Iterator[None]:
    """End the job in the block cleanly at the first SIGINT, SIGTERM or SIGHUP, and at once at the second."""

    def heard(number: int, _: FrameType | None) -> None:
        if progress.signal:
            raise KeyboardInterrupt
        progress.signal = number
        talk.say("stopping: verdicts so far are kept; interrupt again to stop at once")

    before = {number: signal.signal(number, heard) for number in heeded_of(STOPPING)}
    try:
        yield
    finally:
        progress.end()
        for number, handler in before.items():
            # After a request to stop, the command only has to report where it stands: a third signal must not cut that.
            signal.signal(number, signal.SIG_IGN if progress.signal else handler)
