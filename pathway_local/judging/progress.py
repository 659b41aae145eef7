"""Shows a job's progress: one line that changes, on a terminal or in a notebook; elsewhere a line now and then."""

import shutil
import textwrap
import time
from collections.abc import Callable
from typing import TextIO

from pathway_local.judging.loop import Tally
from pathway_local.system.visible import COMMAND, visible

SHOW_SECONDS, FIRST_LINE, LAST_GAP = 0.5, 10.0, 1800.0
"""Seconds between two changes of the line. If no line changes, to the first line of progress; each gap is twice the one
before, up to the last."""


class Watcher:
    """Shows how a job goes, and may end it early; this one shows nothing and never does."""

    def notice(self, message: str) -> None:
        """Tell the user something."""

    def begin(self, rater: str, total: int) -> None:
        """Show that a judge begins; `total` is the number of its outcomes."""

    def loading(self, judge: str) -> None:
        """Show that the judge's engine is being loaded."""

    def ready(self) -> None:
        """Show that the judge's engine is loaded."""

    def watch(self, tally: Tally) -> None:
        """Show a tally whose outcomes are on the disk; called whenever some were stored, and at the end."""

    def end(self) -> None:
        """Called once nothing more is shown."""

    def stopped(self) -> bool:
        """Whether to end early."""
        return False


class Progress(Watcher):
    """Writes notes and progress to a stream; `spell` writes names of options and pages as the user knows them."""

    def __init__(self, stream: TextIO, spell: Callable[[str], str], *, changes: bool) -> None:
        self._stream, self._spell, self._changes = stream, spell, changes
        self._began = self._shown = time.monotonic()
        self._total = 0
        self._rater, self._width, self._gap = "", 0, FIRST_LINE
        self._untold: Tally | None = None

    def notice(self, message: str) -> None:
        """Write a note above the line of progress."""
        self._write(f"note: {self._spell(message)}", whole=True)

    def begin(self, rater: str, total: int) -> None:
        """Begin a line for a judge with `total` cases."""
        self.end()
        self._began = self._shown = time.monotonic()
        self._total, self._rater, self._gap = total, rater, FIRST_LINE

    def loading(self, judge: str) -> None:
        """Show that a judge is being loaded."""
        self._write(f"loading {judge}")

    def ready(self) -> None:
        """Measure the pace from now on, without the time for loading."""
        self._began = self._shown = time.monotonic()

    def watch(self, tally: Tally) -> None:
        """Show how many cases are done."""
        self._untold = tally
        if time.monotonic() - self._shown >= (SHOW_SECONDS if self._changes else self._gap):
            self._gap = min(2 * self._gap, LAST_GAP)
            self._tell(tally)

    def end(self) -> None:
        """Write the last figures if they were not written yet, and let the next line begin below."""
        if self._untold:
            self._tell(self._untold)
        if self._width:
            self._stream.write("\n")
            self._width = 0

    def line(self, rater: str, tally: Tally, total: int, seconds: float) -> str:
        """Return the line about a judge that has judged for so many seconds."""
        tokens, seconds = tally.tokens, max(seconds, 1e-6)
        left = total - tally.done
        parts = [
            f"{rater}: {tally.done} of {total} done",
            f"{tally.judged / seconds:.1f} cases/s",
            f"{(tokens.prompt + tokens.generated) / seconds:.0f} tokens/s" if tokens.prompt else "",
            f"cache {tokens.cached / tokens.prompt:.0%}" if tokens.prompt else "",
            f"{tally.failures.total()} failed" if tally.failures else "",
            f"about {duration(seconds / tally.judged * left)} left" if tally.judged and left > 0 else "",
        ]
        return ", ".join(part for part in parts if part)

    def _tell(self, tally: Tally) -> None:
        self._shown, self._untold = time.monotonic(), None
        self._write(self.line(self._rater, tally, self._total, self._shown - self._began))

    def _write(self, text: str, *, whole: bool = False) -> None:
        """Write a line, over the one before if lines change; a `whole` one stays, and is broken between words."""
        shown, ends = visible(text), whole or not self._changes
        if self._changes:
            most = max(1, shutil.get_terminal_size().columns - 1)
            self._stream.write(f"\r{'':{self._width}}\r")
            if not whole:
                shown = shown[:most]
            elif not COMMAND.search(text):
                shown = textwrap.fill(shown, most, break_long_words=False, break_on_hyphens=False)
        self._stream.write(shown + "\n" * ends)
        self._width = 0 if ends else len(shown)
        self._stream.flush()


def duration(seconds: float) -> str:
    """Return a time in words, as exact as an estimate is: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join([*([f"{hours:,} h"] if hours else []), *([f"{minutes} min"] if minutes else [])])
