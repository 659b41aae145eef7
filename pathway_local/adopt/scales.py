"""The scales of a prompt: between which numbers a score lies, and what each of them is called."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.adopt.finding import Source

Range = tuple[int, int]

SCORE_WORDS = re.compile(r"scor|scale|rating|\brate\b|grade|grading|rubric|level|\bstars?\b|\bmark\b", re.IGNORECASE)
LABEL_LENGTH = 80

_NUMBERS = re.compile(r"\b(?:integer|whole number|number|digit)\b", re.IGNORECASE)

_DASHED = re.compile(
    r"(?<![\w.$])(-?\d{1,3})(?:\s*\([^()\n]{1,40}\))?\s*(-|–|—|\bto\b|\bthrough\b|\.\.+|\band\b)\s*(-?\d{1,3})(?![\w%]|\.\d)"
    r"(?!\s*(?:minor|major|more|other)?\s*(?:words?|sentences?|characters?|tokens?|items?|minutes?|paragraphs?|bullet|lines?))"
)
_LISTED = re.compile(r"(?<![\w.])\d{1,2}(?:\s*(?:,\s*or|,|\bor\b|\||/)\s*\d{1,2}(?![\w.]\d))+(?!\s*,?\s*(?:\.\.|…))")
_EITHER = re.compile(r"(?<![\w.])([01])\s*(?:for|if|=|means|when)\b")

_EXPLICIT = re.compile(
    r"^[\s>*#_•-]*(?:(?:score|level|rating|grade|stars?)\s*[:=]?|\[[A-Z][\w ]{0,40}:)\s*"
    r"(?P<n>\d{1,2})\]?(?P<rest>[^\d].*|)$",
    re.IGNORECASE,
)
_BARE = re.compile(r"^[\s>*#_•-]*(?P<n>\d{1,2})[*_]*\s*(?P<rest>[-–—.:=)|(].*)$")
_HEADING = re.compile(r"^(?:#+\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|[A-Z][A-Z /_()-]{3,}|.{1,60}:)\s*$")


@dataclass(frozen=True, slots=True)
class LevelSet:
    """Numbers with their names, as they stand together in one part of a prompt."""

    labels: Mapping[int, str]
    row: int
    heading: str

    @property
    def range(self) -> Range:
        """The smallest and the largest number."""
        return min(self.labels), max(self.labels)


def range_in(said: str) -> Range | None:
    """The scale that a phrase names, such as 1-5, from 1 to 5, 0 or 1, 1 if … 0 if …"""
    bare = re.sub(r"[`\"'“”]", "", said)
    for found in _DASHED.finditer(bare):
        low, high = int(found.group(1)), int(found.group(3))
        between = found.group(2) != "and" or "between" in bare[: found.start()].lower()
        if between and _plausible(low, high):
            return low, high
    for listed in _LISTED.finditer(bare):
        numbers = [int(number) for number in re.findall(r"\d+", listed.group())]
        if _steps(numbers) in ({1}, {-1}) and _plausible(min(numbers), max(numbers)):
            return min(numbers), max(numbers)
    return (0, 1) if {found.group(1) for found in _EITHER.finditer(bare)} == {"0", "1"} else None


def _steps(numbers: Sequence[int]) -> set[int]:
    return {second - first for first, second in pairwise(numbers)}


def _plausible(low: int, high: int) -> bool:
    return low < high and (low in (0, 1) or low == -high)


def stem(name: str) -> str:
    """What a score is about: its name without words such as score."""
    words = [
        word for word in re.split(r"[\W_]+", name.lower()) if word not in ("", "score", "rating", "value", "final")
    ]
    return words[-1] if words and words[-1] != "overall" else ""


class Scales:
    """All that a prompt says of its scales."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.sets = list(_level_sets(source))
        self.ranges = _ranges(source, SCORE_WORDS) or _ranges(source, _NUMBERS)

    def range_of(self, name: str) -> tuple[Range, int] | None:
        """The scale of the score of that name, and the line that tells it."""
        topic = stem(name)
        for row, line in enumerate(self.source.lines) if topic else ():
            if topic in line.lower() and (found := range_in(line)):
                return found, row
        about = [found for found in self.sets if topic and topic in found.heading.lower()]
        if not about and self.ranges:
            # A "1-2" among many "1-5" is some other number.
            counts = [found for found, _ in self.ranges]
            return max(self.ranges, key=lambda item: (counts.count(item[0]), -item[1]))
        named = [found for found in about or self.sets if all(found.labels.values()) or len(found.labels) > 2]
        return (named[-1].range, named[-1].row) if named else None

    def levels_of(self, name: str, scale: Range) -> LevelSet | None:
        """The level names of that score; the last set is the one that holds for the prompt's own criterion."""
        fitting = [found for found in self._own_sets(name) if found.range == scale and all(found.labels.values())]
        return fitting[-1] if fitting else None

    def _own_sets(self, name: str) -> list[LevelSet]:
        topic = stem(name)
        own = [found for found in self.sets if topic and topic in found.heading.lower()]
        return own or self.sets


def _ranges(source: Source, words: re.Pattern[str]) -> list[tuple[Range, int]]:
    """The scales in lines with one of these words, each with its row."""
    rows = [row for row, line in enumerate(source.lines) if words.search(line)]
    return [(found, row) for row in rows if (found := range_in(source.lines[row]))]


def _level_sets(source: Source) -> Iterator[LevelSet]:
    for pattern in (_EXPLICIT, _BARE):
        current: list[tuple[int, str, int]] = []
        for row, line in enumerate(source.lines):
            found = pattern.match(line)
            label = _label(found.group("rest")) if found else None
            if found is None or label is None:
                continue
            number = int(found.group("n"))
            steps = _steps([*(item[0] for item in current), number])
            if current and steps not in ({1}, {-1}):
                yield from _whole(source, current, explicit=pattern is _EXPLICIT)
                current = []
            current.append((number, label, row))
        yield from _whole(source, current, explicit=pattern is _EXPLICIT)


def _whole(source: Source, found: list[tuple[int, str, int]], *, explicit: bool) -> Iterator[LevelSet]:
    if len(found) < 2 or min(number for number, _, _ in found) not in (0, 1):
        return
    heading = _heading(source, found[0][2])
    if explicit or SCORE_WORDS.search(heading):
        yield LevelSet({number: label for number, label, _ in sorted(found)}, found[0][2], heading)


def _heading(source: Source, row: int) -> str:
    for above in range(row - 1, max(-1, row - 12), -1):
        line = source.lines[above].strip()
        if line and set(line) <= {"=", "-"} and above:
            return source.lines[above - 1]
        if _HEADING.match(line):
            return line
    return ""


def _label(rest: str) -> str | None:
    """A level's name; empty where there is only a sentence, None where the line is no level at all."""
    text = rest.strip().lstrip("-–—:=.)|").strip()
    if re.match(r"[\"“'*_]*(?:[\"“]|example\b)", text, re.IGNORECASE):
        return None
    if text.startswith("(") and ")" in text:
        return text[1 : text.index(")")].strip()
    bold = re.match(r"[*_]{2}?([^*_:]+)[*_]{2}", text) or re.match(r"([^*_]+?):?[*_]{2}", text)
    name = bold.group(1) if bold else text.split(":")[0]
    name = name.strip(" *_#:.")
    return name if len(name) <= LABEL_LENGTH else ""
