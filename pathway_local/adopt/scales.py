"""The scales of a prompt: the range of each score, and the names of its levels.

A prompt says its scale in a phrase (`number_phrases`) or lists the levels, one to a line. Prompts hold many other
numbers, so a range counts only if it begins at 0 or 1 (or runs from -n to n) and stands in a line with a word such as
score; a list counts only if its numbers follow each other, and it stands under such a word or uses one.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.adopt.finding import Source
from pathway_local.adopt.languages import in_english
from pathway_local.adopt.number_phrases import Scale, scale_in, step_in
from pathway_local.adopt.word_order import is_graded

SCORE_WORDS = re.compile(
    r"scor|scale|rating|\brate\b|grade|grading|rubric|level|\bstars?\b|\bmark\b|"
    r"\b(?:award|assign)\b[^.\n]{0,40}\bpoints?\b",
    re.IGNORECASE,
)
LABEL_LENGTH = 80
"""Characters of the longest name of a level; a longer text is a description without a name."""

_NUMBERS = re.compile(r"\b(?:integer|whole number|number|digit)\b", re.IGNORECASE)
_JUDGES = re.compile(r"\b(?:judge|evaluate|assess)\b", re.IGNORECASE)

# A level that names itself: "Score 3 - Good", "[Clarity: 3] Good".
_EXPLICIT = re.compile(
    r"^[\s>*#_•-]*(?:(?:score|level|rating|grade|stars?|stufe|note|niveau|nivel)\s*[:=]?|\[[A-Z][\w ]{0,40}:)\s*"
    r"(?P<n>\d{1,2})\]?(?P<rest>[^\d].*|)$",
    re.IGNORECASE,
)
# A level that needs a heading to be one: "3 - Good", "**3**: Good".
_BARE = re.compile(r"^[\s>*#_•|-]*(?P<n>\d{1,2})[*_]*\s*(?P<rest>[-–—.:=)|(].*)$")
_HEADING = re.compile(r"^(?:#+\s.*|\*\*[^*]+\*\*:?|__[^_]+__:?|[A-Z][A-Z /_()-]{3,}|.{1,60}:)\s*$")


@dataclass(frozen=True, slots=True)
class LevelSet:
    """Levels that stand together in a prompt: numbers, their names, and the heading above them."""

    labels: Mapping[int, str]
    row: int
    heading: str
    sure: bool = True
    """Whether it is certain that these are levels, and not steps or criteria."""

    @property
    def scale(self) -> Scale:
        """The scale from the smallest to the largest number."""
        return Scale(min(self.labels), max(self.labels))


def stem(name: str) -> str:
    """Return the topic of a score: the last word of its name that is not "score" or the like; empty for none."""
    words = [
        word for word in re.split(r"[\W_]+", name.lower()) if word not in ("", "score", "rating", "value", "final")
    ]
    return words[-1] if words and words[-1] != "overall" else ""


class Scales:
    """All ranges and level lists of a prompt."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines = source.english.lines
        found = list(_level_sets(source))
        self.sets = [each for each in found if each.sure]
        self.unsure = [each for each in found if not each.sure]
        self.ranges = _ranges(source, SCORE_WORDS) or _ranges(source, _NUMBERS) or _ranges(source, _JUDGES)
        steps = ((step_in(line), row) for row, line in enumerate(self.lines))
        self.steps = [(step, row) for step, row in steps if step]

    def scale_of(self, name: str) -> tuple[Scale, int] | None:
        """Return the scale of the score called `name`, and the row that states it.

        The first that exists wins: a line that names the score's topic, the levels under a heading that names it, the
        range that the prompt states most often, the last list of levels.
        """
        stated = self._stated(name)
        if stated:
            return stated
        about = self._about(name)
        if not about and self.ranges:
            # One "1-2" among several "1-5" is some other number. Of equally frequent ranges, the first counts.
            counts = [found for found, _ in self.ranges]
            return max(self.ranges, key=lambda item: (counts.count(item[0]), -item[1]))
        named = [found for found in about or self.sets if all(found.labels.values()) or len(found.labels) > 2]
        return (named[-1].scale, named[-1].row) if named else None

    def states(self, name: str) -> bool:
        """Return whether a line names the topic of this value and a scale for it."""
        return self._stated(name) is not None

    def _stated(self, name: str) -> tuple[Scale, int] | None:
        topic = stem(name)
        for row, line in enumerate(self.source.lines) if topic else ():
            if topic in line.lower() and (found := scale_in(self.lines[row])):
                return found, row
        return None

    def levels_of(self, name: str, scale: Scale) -> LevelSet | None:
        """Return the levels of a score, if all have names. The last list counts: examples come earlier."""
        sets = self._about(name) or self.sets
        return next((found for found in sets[::-1] if found.scale == scale and all(found.labels.values())), None)

    def _about(self, name: str) -> list[LevelSet]:
        topic = stem(name)
        return [found for found in self.sets if topic and topic in found.heading.lower()]


def _ranges(source: Source, words: re.Pattern[str]) -> list[tuple[Scale, int]]:
    """Return the ranges in lines with one of these words, each with its row."""
    lines = enumerate(source.english.lines)
    return [(found, row) for row, line in lines if words.search(line) and (found := scale_in(line))]


def _level_sets(source: Source) -> Iterator[LevelSet]:
    for pattern in (_EXPLICIT, _BARE):
        # Levels may have paragraphs between them; a number that breaks the steps of one begins another list.
        current: list[tuple[int, str, int]] = []
        for row, line in enumerate(source.lines):
            found = pattern.match(line)
            label = _label(found.group("rest")) if found else None
            if found is None or label is None:
                continue
            number = int(found.group("n"))
            steps = {second - first for first, second in pairwise([*(item[0] for item in current), number])}
            if current and steps not in ({1}, {-1}):
                yield from _whole(source, current, explicit=pattern is _EXPLICIT)
                current = []
            current.append((number, label, row))
        yield from _whole(source, current, explicit=pattern is _EXPLICIT)


def _whole(source: Source, found: list[tuple[int, str, int]], *, explicit: bool) -> Iterator[LevelSet]:
    """Yield the list as a LevelSet, unless it is some other numbered list, such as steps."""
    if len(found) < 2 or min(number for number, _, _ in found) not in (0, 1):
        return
    heading = _heading(source, found[0][2])
    levels = {number: label for number, label, _ in sorted(found)}
    if explicit or SCORE_WORDS.search(in_english(heading, source.language)):
        yield LevelSet(levels, found[0][2], heading)
        return
    above = next((line for line in source.english.lines[found[0][2] - 1 :: -1] if line.strip()), "")
    labels = list(levels.values())
    dashed = all(re.search(r"\d[*_]*\s*[-–—=:|(]", source.lines[row]) for _, _, row in found)
    if found[0][2] and dashed and all(label and len(label.split()) <= 6 for label in labels):
        rated = SCORE_WORDS.search(above) or _JUDGES.search(above)
        yield LevelSet(levels, found[0][2], heading, bool(rated) and is_graded(labels[0]) and is_graded(labels[-1]))


def _heading(source: Source, row: int) -> str:
    """Return the nearest heading in the eleven lines above; empty if none is near."""
    for above in range(row - 1, max(-1, row - 12), -1):
        line = source.lines[above].strip()
        # A line of === or --- underlines the heading above it.
        if line and set(line) <= {"=", "-"} and above:
            return source.lines[above - 1]
        if _HEADING.match(line) or re.match(r"\|\s*[A-Za-z]", line):
            return line
    return ""


def _label(rest: str) -> str | None:
    """Return a level's name; empty if it has only a description, None if the line is no level, such as an example."""
    text = rest.strip().lstrip("-–—:=.)|").strip()
    if re.match(r"[\"“'*_]*(?:[\"“]|example\b)", text, re.IGNORECASE):
        return None
    if text.startswith("(") and ")" in text:
        return text[1 : text.index(")")].strip()
    bold = re.match(r"[*_]{2}?([^*_:]+)[*_]{2}", text) or re.match(r"([^*_]+?):?[*_]{2}", text)
    name = bold.group(1) if bold else text.split(":")[0]
    name = name.strip(" *_#:.|")
    return name if len(name) <= LABEL_LENGTH else ""
