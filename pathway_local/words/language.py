"""Words and number formats of a language: one file has all that pages and terminals say, by key."""

import re
import shlex
from collections.abc import Mapping, Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from functools import cache
from string import Formatter
from typing import Any

from pathway_local.errors import UnknownName
from pathway_local.note import Note
from pathway_local.statistics.figure import Estimate, Interval, Number, Reason, Undefined
from pathway_local.statistics.intervals import LEVEL
from pathway_local.system.safe_yaml import load_ours
from pathway_local.system.visible import visible
from pathway_local.words import FOLDER, languages

ENGLISH = "en"

_FRACTION = re.compile(r"(?<![\w.])\d+\.\d+(?![\w.])")

NOISE = 9
"""Digits behind the point from which on a number is rounding of its computation."""


class Language(Formatter):
    """One file of words, and English for what it lacks.

    Blanks in braces are filled in, written as the language does; behind a colon stands how: `share`, `level`, `levels`,
    `ends`, `and`, `or`, `quote`, `plain`, or digits behind the point. Of an entry with several forms, `one` is for
    a `count` of one and `other` for the rest.
    """

    def __init__(self, name: str, minus: str = "−") -> None:
        if name not in languages():
            raise UnknownName("language", name, languages())
        self.name = name
        self._own, self._english = _read(name), _read(ENGLISH)
        self.decimal, self.thousands, self.paper = (self._own[key] for key in ("decimal", "thousands", "paper"))
        self._minus = minus

    def __call__(self, phrase: str, **values: object) -> str:
        """The phrase of that name with the values in its blanks."""
        return self.text("phrases", phrase, values)

    def has(self, section: str, key: str) -> bool:
        """Whether the language, or English for it, has an entry."""
        return key in self._own.get(section, {}) or key in self._english.get(section, {})

    def text(self, section: str, key: str, values: Mapping[str, object]) -> str:
        """The text of an entry with the values in its blanks."""
        entry = self._own.get(section, {}).get(key) or self._english[section][key]
        if isinstance(entry, Mapping):
            entry = entry["one" if values.get("count") == 1 else "other"]
        return self.vformat(entry, (), values)

    def format_field(self, value: Any, format_spec: str) -> str:
        """A value as a sentence shows it."""
        if format_spec == "level":
            return self.level(*(value if isinstance(value, list | tuple) else [value]))
        if format_spec == "levels":
            return self.levels(str(value))
        if isinstance(value, list | tuple):
            return self._listed([self.format_field(each, "") for each in value], format_spec)
        if isinstance(value, int | float) and not isinstance(value, bool):
            return self._number(value, format_spec)
        if isinstance(value, Note):
            return self.note(value)
        if isinstance(value, Estimate):
            return self.estimate(value)
        if isinstance(value, Interval):
            return self.ends(value, percent=format_spec == "share")
        if isinstance(value, Undefined | Reason):
            return self.reason(value.reason if isinstance(value, Undefined) else value)
        said = self.word(str(value)) if format_spec == "word" else visible(str(value))
        return shlex.quote(said) if format_spec == "quote" else said

    def _number(self, value: float, how: str) -> str:
        if how == "share":
            return self.share(value)
        if how == "plain":
            return self._numeral(f"{value:g}")
        return self.count(value) if isinstance(value, int) and not how else self.number(value, int(how or 2))

    def levels(self, text: str) -> str:
        """Levels such as `1, 2.5` or `2.5 – Good`, with numbers as the language writes them."""
        if self.decimal == "." or not _FRACTION.search(text):
            return visible(text)
        return visible(_FRACTION.sub(lambda found: found[0].replace(".", self.decimal), text).replace(", ", "; "))

    def word(self, name: str) -> str:
        """A word of ours in the language, such as `cut:FIELD` of marks; any other name as it is."""
        if self.has("words", name):
            return self.text("words", name, {})
        kind, _, of = name.partition(":")
        return f"{self.text('words', kind, {})}: {visible(of)}" if of and self.has("words", kind) else visible(name)

    def note(self, note: Note) -> str:
        """The sentence of a note."""
        return self.text("notes", note.key, note.values)

    def reason(self, reason: str) -> str:
        """Why something is missing: English says it in full, another language by its kind."""
        kind = self._english["reasons"].get(reason.key if isinstance(reason, Reason) else reason)
        return self._own["reasons"][kind] if kind and self.name != ENGLISH else visible(reason)

    def _listed(self, names: Sequence[str], how: str) -> str:
        if how not in ("and", "or") or len(names) < 2:
            return ", ".join(names)
        return self(how, first=", ".join(names[:-1]), last=names[-1])

    def number(self, value: float, digits: int = 2, rounding: str = ROUND_HALF_UP) -> str:
        """The number with this many digits behind the point; halves go up, as spreadsheets round them.

        A bound that is not 0 but would read as 0 has as many digits as tell it from 0: they say on which side it lies.
        """
        exact = Decimal(repr(round(float(value), NOISE)))
        rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding)
        while rounding != ROUND_HALF_UP and exact and not rounded and digits < NOISE:
            digits += 1
            rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding)
        return self._numeral(f"{rounded + 0:,.{digits}f}" if rounded else f"{0:.{digits}f}")

    def count(self, value: int) -> str:
        """The whole number with its thousands apart."""
        return self._numeral(f"{value:,}")

    def _numeral(self, english: str) -> str:
        apart = english.replace(",", "\0").replace(".", self.decimal).replace("\0", self.thousands)
        return apart.replace("-", self._minus)

    def share(self, value: float, rounding: str = ROUND_HALF_UP) -> str:
        """The share as a whole percentage; near an end with a digit, so that 0% means none and 100% means all."""
        if 0 < value < 0.01 or 0.99 < value < 1:
            return self("percent", number=self.number(min(99.9, max(0.1, 100 * value)), 1, rounding))
        return self("percent", number=self.number(100 * value, 0, rounding))

    def value(self, value: Number, *, percent: bool = False) -> str:
        """The value, a dash if it is not defined."""
        if isinstance(value, Undefined):
            return "–"
        return self.share(value) if percent else self.number(value)

    def ends(self, interval: Interval | Undefined, *, percent: bool = False) -> str:
        """Both ends of an interval; empty without one."""
        if isinstance(interval, Undefined):
            return ""
        return self("to", **self._bounds(interval, percent=percent))

    def range(self, interval: Interval, *, percent: bool = False) -> str:
        """Both ends of an interval above 0, for a narrow cell."""
        return self("range", **self._bounds(interval, percent=percent))

    def _bounds(self, interval: Interval, *, percent: bool) -> dict[str, str]:
        """Both ends, rounded outwards: what is shown holds all that the interval does."""
        low, high = (interval.low, ROUND_FLOOR), (interval.high, ROUND_CEILING)
        if percent:
            return {"low": self.share(*low), "high": self.share(*high)}
        return {"low": self.number(low[0], 2, low[1]), "high": self.number(high[0], 2, high[1])}

    def level(self, *intervals: Interval | Undefined | float) -> str:
        """The confidence level of intervals in percent, without the sign; of several the lowest and the highest.

        It has three digits, and is never said to be 100.
        """
        levels = [each.level if isinstance(each, Interval) else each for each in intervals]
        known = [each for each in levels if isinstance(each, float)] or [LEVEL]
        shown = dict.fromkeys(f"{min(100 * each, 99.9):.3g}" for each in (min(known), max(known)))
        return "–".join(shown).replace(".", self.decimal)

    def interval_head(self, *intervals: Interval | Undefined) -> str:
        """The head of a column with the ends of these intervals."""
        return self("interval_head", level=self.level(*intervals))

    def estimate(self, estimate: Estimate) -> str:
        """The value and, in brackets, the ends of its interval, if it has one, with its level unless it is 95%."""
        value, ends = self.value(estimate.value), self.ends(estimate.interval)
        if ends and self.level(estimate.interval) != self.level(LEVEL):
            ends = f"{self.interval_head(estimate.interval)} {ends}"
        return f"{value} ({ends})" if ends else value

    def time(self, moment: str) -> str:
        """A time in UTC as the run stores it, in ISO 8601, to the minute."""
        return f"{self.day(moment)} {moment[11:16]} UTC"

    def day(self, moment: str) -> str:
        """The day of a time in UTC as the run stores it."""
        year, month, day = moment[:10].split("-")
        return self("day", year=year, month=month, day=day)


@cache
def in_any_language(phrase: str) -> tuple[str, ...]:
    """Return the words of each language: for files that come back from people."""
    return tuple(dict.fromkeys(Language(name)(phrase) for name in languages()))


@cache
def _read(name: str) -> Any:
    return load_ours(FOLDER / f"{name}.yaml")
