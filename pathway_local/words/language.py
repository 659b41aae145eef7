"""Phrases and number formats of a page's language."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pathway_local.errors import UnknownName, UsageError
from pathway_local.statistics.figure import Estimate, Interval, Number, Undefined, percent
from pathway_local.statistics.intervals import LEVEL
from pathway_local.system.safe_yaml import load_yaml

FOLDER = Path(__file__).parent

_MINUS = re.compile(r"(?<!\S)-(?=\d)|(?<=\()-(?=\d)")
_POINT = re.compile(r"(?<=\d)\.(?=\d)")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3})")


def languages() -> list[str]:
    """The languages that have a file of phrases: `en`, `de` …"""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))


class Language:
    """One file of phrases.

    `phrases` are what the page itself says, by name; blanks in braces are filled in. `words` translate the heads and
    titles of tables from `results/views`, which are worded in English. Sentences and notes from there stay English.
    """

    def __init__(self, name: str) -> None:
        if name not in languages():
            raise UnknownName("language", name, languages())
        path = FOLDER / f"{name}.yaml"
        read: Any = load_yaml(path.read_text(encoding="utf-8"), path.name, UsageError)
        self.name = name
        self.phrases: Mapping[str, str] = read["phrases"]
        self.words: Mapping[str, str] = read["words"]
        self._decimal, self._thousands = read["decimal"], read["thousands"]

    def __call__(self, phrase: str, **values: object) -> str:
        """The phrase of that name with the values in its blanks; whole numbers are written with `count`."""
        filled = {name: self.count(value) if isinstance(value, int) else value for name, value in values.items()}
        return self.phrases[phrase].format(**filled)

    def number(self, value: float, digits: int = 2) -> str:
        """The number with this many digits behind the point."""
        return self.cell(f"{round(value, digits) + 0.0:,.{digits}f}")

    def count(self, value: int) -> str:
        """The whole number with its thousands apart."""
        return self.cell(f"{value:,}")

    def share(self, value: float) -> str:
        """The share as a whole percentage; near an end with a digit, so that 0% means none and 100% means all."""
        if 0 < value < 0.01 or 0.99 < value < 1:
            return self("percent", number=self.number(min(99.9, max(0.1, 100 * value)), 1))
        return self("percent", number=self.number(100 * value, 0))

    def value(self, value: Number) -> str:
        """The value, a dash if it is not defined."""
        return "–" if isinstance(value, Undefined) else self.number(value)

    def ends(self, interval: Interval | Undefined) -> str:
        """Both ends of an interval; empty without one."""
        if isinstance(interval, Undefined):
            return ""
        return self("to", low=self.number(interval.low), high=self.number(interval.high))

    def level(self, *intervals: Interval | Undefined) -> str:
        """The confidence level of intervals in percent, without the sign; of several the lowest and the highest."""
        levels = [each.level for each in intervals if isinstance(each, Interval)]
        return self.cell(percent(*(levels or [LEVEL])).removesuffix("%"))

    def interval_head(self, *intervals: Interval | Undefined) -> str:
        """The head of a column with the ends of these intervals."""
        return self("interval_head", level=self.level(*intervals))

    def in_words(self, interval: Interval | Undefined) -> str:
        """Both ends of an interval in brackets, for a sentence; empty without one."""
        ends = self.ends(interval)
        return self("interval", level=self.level(interval), ends=ends) if ends else ""

    def estimate(self, estimate: Estimate) -> str:
        """The value and, in brackets, the ends of its interval, if it has one."""
        value, ends = self.value(estimate.value), self.ends(estimate.interval)
        return f"{value} ({ends})" if ends else value

    def word(self, text: str) -> str:
        """A head or title from `results/views` in this language; as it is if the file of phrases lacks it."""
        return self.words.get(text, text)

    def cell(self, text: str) -> str:
        """A cell of numbers in English, such as "0.49\\n0.44 to 0.55", as this language writes them."""
        between = text.replace(" to ", self.phrases["to"].format(low="", high=""))
        apart = _THOUSANDS.sub("\0", between)
        told = _POINT.sub(self._decimal, apart).replace("\0", self._thousands)
        return self.word(_MINUS.sub("−", told))

    def time(self, moment: str) -> str:
        """A time in UTC as the run stores it, in ISO 8601, to the minute."""
        return f"{moment[:10]} {moment[11:16]} UTC"
