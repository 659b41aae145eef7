"""Formats shown as JSON: a skeleton with placeholders for values, or examples with real values."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pathway_local.adopt.finding import Candidate, Place, Source
from pathway_local.adopt.number_phrases import scale_in
from pathway_local.adopt.word_phrases import listed_words

MOST, DEPTH = 60, 6
"""How many braces are tried as the beginning of an object, from the end, and how deep objects nest."""

SCORED = re.compile(r"scor|rating|grade|stars|level|verdict|result|label|pass|correct|decision|outcome", re.IGNORECASE)

_OPEN = re.compile(r"\{\s*[\"'`“][A-Za-z_][^\"'`”\n]{0,60}[\"'`”]\s*:")
_KEY = re.compile(r"[\s,]*(?:[\"'`“]([^\"'`”\n]{1,60})[\"'`”])\s*:\s*")
_COMMENT = re.compile(r"[ \t]*(?:,[ \t]*)?(?://|#)[ \t]*([^\n]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?=\s*[,}\]\n/#])")
_WORD = re.compile(r"(true|false|null|None|True|False)(?=\s*[,}\]\n/#])")
_BOOLEAN = re.compile(r"(?i)<?\s*(true|false)\s*(\||/|or)\s*(true|false)\s*>?")
_STRINGS = {
    begin: re.compile(rf"{begin}((?:\\.|\n(?!\n)|[^\\{end}\n])*){end}", re.DOTALL)
    for begin, end in ('""', "''", "``", "“”")
}
_OR = re.compile(r"\s*(?:\||/|\bor\b)\s*(?=[\"'“])")
_BRACKETED, _BARE = re.compile(r"<[^<>\n]{1,400}>|\([^()\n]{1,400}\)"), re.compile(r"[^,{}\n\"]{1,200}")
_END_OF_OBJECT = re.compile(r"[\s,]*(?:\.\.\.|…)?\s*\}")
_PLAIN_LIST = re.compile(r"\[([^\[\]\"'{}\n]*)\]")
_LISTED = re.compile(r"(?i)^(?:\.\.\.|…)$|^list|\blist of\b|, *(?:\.\.\.|…)$")
_BEGIN_OF_LIST, _END_OF_LIST = re.compile(r"\[\s*"), re.compile(r"[\s,]*(?:\.\.\.|…)?\s*\]")
_GAP = re.compile(r"[\s,]*")
_MARKED = re.compile(r"[<\[(].*[>\])]$|.*\.\.\.|.*…", re.DOTALL)
_ASKS = re.compile(r"format|output|respond|return|reply|json|structure|exactly|following", re.IGNORECASE)
_SKIPS = re.compile(r"skip|example|sample|e\.g\.|for instance|expected", re.IGNORECASE)


class _Broken(Exception):
    """The text that follows is not a skeleton."""


@dataclass(frozen=True, slots=True)
class Skeleton:
    """A JSON object in a prompt: its members, where it begins, and whether a value is a placeholder (`open`).

    A `listed` one stands in a list, and not in another object that could be read.
    """

    places: tuple[Place, ...]
    start: int
    open: bool
    listed: bool
    doubts: tuple[str, ...]


def skeleton_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the object that the prompt most likely asks for: placeholders win over an example, later over earlier."""
    found = [skeleton for skeleton in skeletons(source) if not skeleton.listed]
    keyed = [skeleton for skeleton in found if any(scorable(place, source) for place in skeleton.places)]
    if not keyed:
        return
    best = max(keyed, key=lambda skeleton: _rank(source, skeleton))
    places = tuple(_with_alternatives(place, found) for place in best.places)
    fenced = source.text[: best.start].rstrip().endswith(("```", "```json", "```JSON"))
    note = "the code fence around it is left out" if fenced else ""
    kind = "skeleton" if best.open else "example"
    yield Candidate(kind, "json", places, source.row(best.start), best.doubts, note)


def _rank(source: Source, skeleton: Skeleton) -> tuple[bool, bool, bool, int]:
    row = source.row(skeleton.start)
    before = " ".join(source.lines[max(0, row - 3) : row + 1])
    return skeleton.open, not _SKIPS.search(before), bool(_ASKS.search(before)), skeleton.start


def scorable(place: Place, source: Source) -> bool:
    """Return whether this can be a score, or holds some. Null can't: it stands in an example of a skipped case."""
    if place.kind == "objects":
        return any(scorable(inner, source) for inner in place.inner)
    named = SCORED.search(source.english_name(place.name))
    told = named or scale_in(place.said) or place.choices or listed_words(place.said)
    return bool(told or place.kind in ("boolean", "number")) and place.kind not in ("null", "list")


def _with_alternatives(place: Place, found: Sequence[Skeleton]) -> Place:
    """Return the place with all words that several objects show for its key, such as completed and skipped."""
    if place.kind != "text" or not re.fullmatch(r"[A-Za-z_-]{2,30}", place.said):
        return place
    words = [
        other.said
        for skeleton in found
        for other in skeleton.places
        if other.name == place.name and other.kind == "text" and re.fullmatch(r"[A-Za-z_-]{2,30}", other.said)
    ]
    distinct = tuple(dict.fromkeys([place.said, *words]))
    return replace(place, choices=distinct) if 2 <= len(distinct) <= 8 else place


def skeletons(source: Source) -> Iterator[Skeleton]:
    """Yield the JSON objects in the prompt; an object inside of another is a part of it."""
    text, end, listed = source.text, 0, False
    broken: list[int] = []
    # From each brace the text is parsed anew: without a bound, thousands of open braces would take quadratic time.
    for found in list(_OPEN.finditer(text))[-MOST:]:
        if found.start() < end:
            continue  # inside of the object before
        before = text[end : found.start()].rstrip()
        reader = _Reader(source, found.start())
        try:
            places = tuple(reader.members("", 0))
        except (_Broken, IndexError):
            broken.append(found.start())
            continue
        end, listed = reader.at, before.endswith("[") or (listed and before.strip() == ",")
        yield Skeleton(places, found.start(), any(map(_is_open, places)), listed, source.around(broken, reader.at))


def _is_open(place: Place) -> bool:
    marked = place.kind == "text" and (_MARKED.match(place.said) or scale_in(place.said))
    return place.kind == "" or bool(place.choices or marked) or any(map(_is_open, place.inner))


class _Reader:
    """Reads JSON with placeholders for values; `at` is the offset of what comes next.

    Its methods raise _Broken, or IndexError at the end of the text.
    """

    def __init__(self, source: Source, at: int) -> None:
        self.source, self.at = source, at

    def _take(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.source.text, self.at)
        self.at = found.end() if found else self.at
        return found

    def members(self, prefix: str, depth: int) -> list[Place]:
        """Return the members of an object, with dotted names for nested ones."""
        if depth > DEPTH:
            raise _Broken
        self.at += 1
        places: list[Place] = []
        while key := self._take(_KEY):
            found = self._value(f"{prefix}{key.group(1)}", depth)
            if comment := self._take(_COMMENT):
                found = [replace(place, said=f"{place.said} {comment.group(1)}".strip()) for place in found]
            places += found
        if not self._take(_END_OF_OBJECT):
            raise _Broken
        return places

    def _value(self, name: str, depth: int) -> list[Place]:
        row, first = self.source.row(self.at), self.source.text[self.at]
        if first == "{":
            return self.members(f"{name}." if name else "", depth + 1)
        if first == "[":
            return [self._list(name, depth)]
        if first in _STRINGS:
            options = [self._string()]
            # "yes" | "no" and "yes" or "no" list the texts of one value.
            while self._take(_OR):
                options.append(self._string())
            choices = tuple(options) if len(options) > 1 else ()
            return [Place(name, " | ".join(options), row, "text", choices=choices)]
        if word := self._take(_WORD):
            return [Place(name, "", row, "null" if word.group(1) in ("null", "None") else "boolean")]
        if number := self._take(_NUMBER):
            return [Place(name, number.group(), row, "number")]
        # A value without quotes that is not JSON, such as <1-5> or 1 | 2 | 3.
        loose = self._take(_BRACKETED) or self._take(_BARE)
        said = loose.group().strip() if loose else ""
        if not said:
            raise _Broken
        return [Place(name, said, row, "boolean" if _BOOLEAN.fullmatch(said) else "")]

    def _string(self) -> str:
        found = self._take(_STRINGS[self.source.text[self.at]])
        if not found:
            raise _Broken
        return found.group(1)

    def _list(self, name: str, depth: int) -> Place:
        row = self.source.row(self.at)
        if plain := self._take(_PLAIN_LIST):
            said = plain.group(1).strip()
            return Place(name, said, row, "list" if not said or _LISTED.search(said) else "")
        if depth > DEPTH:
            raise _Broken
        self._take(_BEGIN_OF_LIST)
        objects, items = self.source.text[self.at] == "{", []
        while not self._take(_END_OF_LIST):
            self._take(_GAP)
            items.append(self._value("", depth + 1))
        if objects:
            return Place(name, "", row, "objects", inner=tuple(items[0]))
        return Place(name, " | ".join(place.said for item in items for place in item), row, "list")
