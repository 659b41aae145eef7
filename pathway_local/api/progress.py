"""Shows a job's progress in a notebook or on a terminal, in one line that changes."""

import sys
import time

from pathway_local.api.names import in_python
from pathway_local.judging.job import Watcher
from pathway_local.judging.loop import Tally
from pathway_local.judging.progress_line import duration, progress_line
from pathway_local.system.visible import visible


class LineProgress(Watcher):
    """Writes notes to stderr and, in a notebook or terminal, a line of progress; nothing at all if not `shown`."""

    def __init__(self, *, shown: bool) -> None:
        self._shown = shown
        self._changes = shown and (sys.stderr.isatty() or "ipykernel" in sys.modules)
        self._began, self._rater, self._width = time.monotonic(), "", 0
        self._total: int | None = None

    def notice(self, message: str) -> None:
        """Write a note above the line of progress."""
        if self._shown:
            self._write(f"note: {in_python(message)}")
            self.end()

    def begin(self, rater: str, total: int | None) -> None:
        """Begin a line for a judge."""
        self.end()
        self._rater, self._total, self._began = rater, total, time.monotonic()

    def loading(self, judge: str, seconds: float | None) -> None:
        """Show that the judge is being loaded."""
        if self._changes:
            self._write(f"loading {judge}" + (f", about {duration(seconds)}" if seconds is not None else ""))

    def ready(self) -> None:
        """Measure the pace from now on."""
        self._began = time.monotonic()

    def watch(self, tally: Tally) -> None:
        """Show how many cases are done."""
        if self._changes:
            self._write(progress_line(self._rater, tally, self._total, time.monotonic() - self._began))

    def end(self) -> None:
        """Keep the line, so that the next one begins below it."""
        if self._width:
            sys.stderr.write("\n")
            self._width = 0

    def _write(self, text: str) -> None:
        shown = visible(text)
        sys.stderr.write(f"\r{shown.ljust(self._width)}")
        sys.stderr.flush()
        self._width = len(shown)
