"""How long a job takes: its pace in words, and what was measured on this machine, for the next job.

The file of measurements is in our cache folder. It holds hashes, numbers and dates.
"""

import hashlib
import json
import platform
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from pathway_local.engines.cluster import host_of, on_loopback
from pathway_local.judging.loop import Tally
from pathway_local.judging.planned_rater import Settings
from pathway_local.system.private_file import whole_file
from pathway_local.system.private_process import own_cache

FEWEST = 8
"""Fewest cases for which a pace is stored: with fewer, the first and the last reply take most of the time."""

REMEMBERED = 400
"""Judges and sets of raters; the oldest are forgotten."""


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds to load, or for a case of so many without loading; as measured on this day."""

    seconds: float
    cases: int
    day: str


class Timings:
    """The times of one judge under these raters, which share its engine, or its `engines`.

    `where` is the address of a cluster that runs them; empty for this machine.
    """

    def __init__(self, raters: Sequence[Settings], engines: int, where: str = "") -> None:
        first = raters[0]
        # A home may be shared by several machines, and each has its own loopback.
        here = "" if where and not on_loopback(host_of(where)) else platform.node()
        machine = (here + where, engines, first.engine, first.dtype, first.weights, first.options)
        parts = sorted((each.rubric, each.detail, each.replies, each.think) for each in raters)
        self._load, self._pace = _digest(machine), _digest((machine, parts))
        self._began: float | None = None

    def load_seconds(self) -> float | None:
        """Return how long the judge took to load the last time here; None if unknown."""
        known = _known().get(self._load)
        return known.seconds if known else None

    def pace(self) -> Pace | None:
        """Return how fast the judge judged the last time under these raters here; None if unknown."""
        return _known().get(self._pace)

    def begin(self) -> None:
        """Measure from now on."""
        self._began = time.monotonic()

    def loaded(self, *, fresh: bool) -> None:
        """Remember how long the judge took to load, unless it was loaded before; measure the pace from now on."""
        if fresh and self._began is not None:
            _remember(self._load, time.monotonic() - self._began, 1)
        self.begin()

    def judged(self, cases: int) -> None:
        """Remember the pace at which these cases were judged."""
        if self._began is not None and cases >= FEWEST:
            _remember(self._pace, (time.monotonic() - self._began) / cases, cases)


def _digest(parts: object) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:32]


def _file() -> Path:
    return own_cache() / "timings.json"


def _known() -> dict[str, Pace]:
    # Ignore a file that can't be read: no job depends on it.
    with suppress(OSError, msgspec.DecodeError):
        return msgspec.json.decode(_file().read_bytes(), type=dict[str, Pace])
    return {}


def _remember(key: str, seconds: float, cases: int) -> None:
    others = [(name, pace) for name, pace in _known().items() if name != key][1 - REMEMBERED :]
    known = {**dict(others), key: Pace(round(seconds, 6), cases, datetime.now(UTC).date().isoformat())}
    with suppress(OSError):  # a home without space, or one that may not be written
        _file().parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with whole_file(_file(), replace=True) as file:
            file.write(msgspec.json.encode(known))


def progress_line(rater: str, tally: Tally, total: int | None, seconds: float) -> str:
    """Return one line about a judge that has judged for so many seconds; `total` is the number of cases, if known."""
    of, left = (f" of {total}", _left(tally, total, seconds)) if total is not None else ("", "")
    return f"{rater}: {tally.done}{of} done, {figures(tally, seconds)}{left}"


def figures(tally: Tally, seconds: float) -> str:
    """Return pace, tokens, cache and failures."""
    seconds = max(seconds, 1e-6)
    tokens = tally.tokens
    parts = [
        f"{tally.judged / seconds:.1f} cases/s",
        f"{(tokens.prompt + tokens.generated) / seconds:.0f} tokens/s" if tokens.prompt else "",
        f"cache {tokens.cached / tokens.prompt:.0%}" if tokens.prompt else "",
        f"{tally.failures.total()} failed" if tally.failures else "",
    ]
    return ", ".join(part for part in parts if part)


def duration(seconds: float) -> str:
    """Return a time in words, as exact as an estimate is: 40 s, 12 min, 3 h 20 min."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60)
    if minutes < 60:
        return f"{minutes} min"
    hours, rest = divmod(minutes, 60)
    return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"


def _left(tally: Tally, total: int, seconds: float) -> str:
    """Estimate the time to the end, by the pace so far."""
    cases = total - tally.done
    return f", about {duration(seconds / tally.judged * cases)} left" if tally.judged and cases > 0 else ""
