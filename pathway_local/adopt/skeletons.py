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
    yield Candidate(kind, "json", places, source.row(best.start), note=note)


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
    # From each brace the text is parsed anew: without a bound, thousands of open braces would take quadratic time.
    for found in list(_OPEN.finditer(text))[-MOST:]:
        if found.start() < end:
            continue  # inside of the object before
        before = text[end : found.start()].rstrip()
        try:
            members, end = _object(text, found.start(), "", source, 0)
        except (_Broken, IndexError):
            continue
        flat, listed = tuple(members), before.endswith("[") or (listed and before.strip() == ",")
        yield Skeleton(flat, found.start(), any(_is_open(place) for place in flat), listed)


def _is_open(place: Place) -> bool:
    marked = bool(_MARKED.match(place.said)) or scale_in(place.said) is not None
    return (
        place.kind == ""
        or bool(place.choices)
        or (marked and place.kind == "text")
        or any(_is_open(inner) for inner in place.inner)
    )


def _object(text: str, at: int, prefix: str, source: Source, depth: int) -> tuple[list[Place], int]:
    """Return the members of the object at `at`, with dotted names for nested ones, and where it ends."""
    if depth > DEPTH:
        raise _Broken
    at += 1
    places: list[Place] = []
    while True:
        key = _KEY.match(text, at)
        if not key:
            end = re.compile(r"[\s,]*(?:\.\.\.|…)?\s*\}").match(text, at)
            if not end:
                raise _Broken
            return places, end.end()
        name = f"{prefix}{key.group(1)}"
        found, at = _value(text, key.end(), name, source, depth)
        comment = _COMMENT.match(text, at)
        if comment:
            at = comment.end()
            found = [replace(place, said=f"{place.said} {comment.group(1)}".strip()) for place in found]
        places += found


def _value(text: str, at: int, name: str, source: Source, depth: int) -> tuple[list[Place], int]:
    row = source.row(at)
    if text[at] == "{":
        return _object(text, at, f"{name}.", source, depth + 1)
    if text[at] == "[":
        return _list(text, at, name, source, depth)
    if text[at] in "\"'“`":
        said, end = _string(text, at)
        options = [said]
        # "yes" | "no" and "yes" or "no" list the texts of one value.
        while more := re.compile(r"\s*(?:\||/|\bor\b)\s*(?=[\"'“])").match(text, end):
            said, end = _string(text, more.end())
            options.append(said)
        choices = tuple(options) if len(options) > 1 else ()
        return [Place(name, " | ".join(options), row, "text", choices=choices)], end
    word = _WORD.match(text, at)
    if word:
        kind = "null" if word.group(1) in ("null", "None") else "boolean"
        return [Place(name, "", row, kind)], word.end()
    number = _NUMBER.match(text, at)
    if number:
        return [Place(name, number.group(), row, "number")], number.end()
    return _loose(text, at, name, row)


def _loose(text: str, at: int, name: str, row: int) -> tuple[list[Place], int]:
    """Return a value without quotes that is not JSON, such as <1-5> or 1 | 2 | 3."""
    marked = re.compile(r"<[^<>\n]{1,400}>|\([^()\n]{1,400}\)").match(text, at)
    found = marked or re.compile(r"[^,{}\n\"]{1,200}").match(text, at)
    if not found or not found.group().strip():
        raise _Broken
    said = found.group().strip()
    kind = "boolean" if re.fullmatch(r"<?\s*(true|false)\s*(\||/|or)\s*(true|false)\s*>?", said, re.IGNORECASE) else ""
    return [Place(name, said, row, kind)], found.end()


def _string(text: str, at: int) -> tuple[str, int]:
    close = "”" if text[at] == "“" else text[at]
    end = at + 1
    while text[end] != close:
        if text[end] == "\n" and text[end - 1 : end + 1] == "\n\n":
            raise _Broken
        end += 2 if text[end] == "\\" else 1
    return text[at + 1 : end], end + 1


def _list(text: str, at: int, name: str, source: Source, depth: int) -> tuple[list[Place], int]:
    row = source.row(at)
    plain = re.compile(r"\[([^\[\]\"'{}\n]*)\]").match(text, at)
    if plain:
        said = plain.group(1).strip()
        listed = not said or said in ("...", "…") or re.search(r"^list|\blist of\b|, *(\.\.\.|…)$", said, re.IGNORECASE)
        return [Place(name, said, row, "list" if listed else "")], plain.end()
    inside = re.compile(r"\[\s*").match(text, at)
    assert inside is not None
    items: list[list[Place]] = []
    end = inside.end()
    while not (close := re.compile(r"[\s,]*(?:\.\.\.|…)?\s*\]").match(text, end)):
        end = re.compile(r"[\s,]*").match(text, end).end()  # type: ignore[union-attr]
        before = end
        item, end = _value(text, end, "", source, depth + 1)
        items.append(item)
        if end <= before or len(items) > 50:
            raise _Broken
    if text[inside.end()] == "{":
        inner = tuple(replace(place, name=place.name.lstrip(".")) for place in items[0])
        return [Place(name, "", row, "objects", inner=inner)], close.end()
    said = " | ".join(place.said for item in items for place in item)
    return [Place(name, said, row, "list")], close.end()
