"""Formats of tagged parts, such as <reason>…</reason> <score>…</score>."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.adopt.finding import Candidate, Place, Source, in_layout
from pathway_local.adopt.mentions import identifier
from pathway_local.adopt.number_phrases import scale_in
from pathway_local.adopt.word_phrases import listed_words, word_runs
from pathway_local.rubrics.turn import MARKS

MOST = 400
"""How many pairs of tags are looked at, from the end; a prompt has a few."""

_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})>")
_NUMBERED = re.compile(r"[A-Za-z]?\d+")
_SCORE = re.compile(r"scor|rating|grade|\blevel\b", re.IGNORECASE)
_STARTS = re.compile(r"\b(?:start|begin)s?\b[^.\n]{0,60}?\bwith:?\s+[\"“'`]([^\"”\n`]{2,80})[\"”'`]", re.IGNORECASE)
_NAMED = re.compile(r"<([A-Za-z][\w-]{0,40})>(?:\s*(?:and|,|…|\.\.\.)?\s*</\1>)?\s*(?:XML\s+)?tags?\b", re.IGNORECASE)
_VALUE = re.compile(r"\s*[\w+-]+(?: [\w+-]+){0,2}\s*")
_JOINT = re.compile(r"\s*(?:,|/|\||,?\s*\bor\b)\s*")
_FILLER = re.compile(r"^(?:your|the|a|an|brief|very|short|final|overall|detailed)\s+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class _Pair:
    name: str
    start: int
    end: int
    said: str


def tag_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the format that the prompt's tags make, if one of them holds a score."""
    # A tag around {{input}} or {input} marks an input, not a part of the reply.
    marks = MARKS["double-braces"].search, MARKS["single-braces"].fullmatch
    pairs = [pair for pair in _pairs(source.text) if not any(mark(pair.said.strip()) for mark in marks)]
    names = list(dict.fromkeys(pair.name for pair in pairs))
    said = {name: _said(source, pairs, name) for name in names}
    scores = [name for name in names if _is_score(source, name) or any(map(_may_score, said[name]))]
    run = _run(source.text, pairs) if scores else []
    if all(pair.name not in scores for pair in run):
        return
    fields = _field_names([pair.name for pair in run], said)
    starts = _starts(source.text, run)
    layout = ""
    for before, pair in zip([None, *run], run, strict=False):
        begins = in_layout(starts.get(pair.name, ""))
        layout += f"{_gap(source.text, before, pair)}<{pair.name}>{begins}{{{fields[pair.name]}}}</{pair.name}>"
    places = tuple(Place(fields[pair.name], "; ".join(said[pair.name]), source.row(pair.start)) for pair in run)
    yield Candidate("tags", _wrapped(source.text, run, layout), places, source.row(run[0].start))


def named_tag_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the format that a sentence describes, such as "your reasons in <why> tags, then 1 to 5 in <score> tags"."""
    places: dict[str, Place] = {}
    at = 0
    for found in _NAMED.finditer(source.text):
        # A tag is described before its name: after the tag before it, in the same sentence.
        said = re.split(r"[.!?;]\s|\n", source.text[at : found.start()])[-1].strip(" ,")
        at, name = found.end(), found.group(1)
        if name in places:
            continue
        runs = [] if scale_in(said) else [run.words for run in word_runs(said) if run.plain]
        kind, choices = ("text", runs[-1]) if runs else ("", ())
        places[name] = Place(identifier(name), said, source.row(found.start()), kind, choices=choices)
    if any(_is_score(source, name) or scale_in(place.said) or place.choices for name, place in places.items()):
        layout = "\n".join(f"<{name}>{{{place.name}}}</{name}>" for name, place in places.items())
        yield Candidate("named-tags", layout, tuple(places.values()), min(place.row for place in places.values()))


def _is_score(source: Source, name: str) -> bool:
    return _SCORE.search(source.english_name(name)) is not None


def _may_score(said: str) -> bool:
    return bool(_SCORE.search(said) or scale_in(said) or listed_words(said))


def _pairs(text: str) -> list[_Pair]:
    """Return the innermost pairs of an opening and a closing tag."""
    found: list[_Pair] = []
    opened: re.Match[str] | None = None
    for tag in _TAG.finditer(text):
        if not tag.group(1):
            opened = tag
        elif opened is not None and opened.group(2) == tag.group(2):
            found.append(_Pair(tag.group(2), opened.start(), tag.end(), text[opened.end() : tag.start()]))
            opened = None
    return found[-MOST:]


def _said(source: Source, pairs: Sequence[_Pair], name: str) -> list[str]:
    """Return the prompt's descriptions of a tag's content, shortest first."""
    alternatives = _alternatives(source.text, [pair for pair in pairs if pair.name == name])
    if alternatives:
        return [alternatives]
    found = []
    for pair in pairs:
        if pair.name == name:
            behind = source.text[pair.end :].partition("\n")[0]
            found.append(pair.said.strip() or behind.lstrip(" :-–—=").strip())
    return sorted(dict.fromkeys(text for text in found if text and not _TAG.search(text)), key=len)


def _alternatives(text: str, pairs: Sequence[_Pair]) -> str:
    """Return "Yes or No" for <v>Yes</v> or <v>No</v>; empty unless the tags are joined in one row, as a choice is."""
    joined = len(pairs) > 1 and all(_JOINT.fullmatch(text[one.end : two.start]) for one, two in pairwise(pairs))
    if not joined or not all(_VALUE.fullmatch(pair.said) for pair in pairs):
        return ""
    *before, last = (pair.said.strip() for pair in pairs)
    return f"{', '.join(before)} or {last}"


def _run(text: str, pairs: Sequence[_Pair]) -> list[_Pair]:
    """Return the longest row of different tags: preferably one with each tag on its own line, else the last one."""
    runs: list[list[_Pair]] = []
    for first in range(len(pairs)):
        run: dict[str, _Pair] = {}
        for pair in pairs[first:]:
            if pair.name in run:
                break
            run[pair.name] = pair
        runs.append(list(run.values()))

    def rank(run: Sequence[_Pair]) -> tuple[int, bool]:
        gaps = [text[one.end : two.start] for one, two in pairwise(run)]
        apart = all(gap.strip() == "" and "\n" in gap for gap in gaps)
        return len(run), apart and all(pair.said.strip() for pair in run)

    # Prompts often name their tags in a sentence and show the form elsewhere: only the form has a tag to a line, and
    # text in each. The later of two equal rows wins, since examples and explanations come before the form.
    return max(reversed(runs), key=rank)


def _gap(text: str, before: _Pair | None, pair: _Pair) -> str:
    """Return the text between two tags: line breaks stay; words and commas become one line break."""
    if before is None:
        return ""
    gap = text[before.end : pair.start]
    return gap if gap.strip(" \t") and not gap.strip() and len(gap) < 4 else "\n"


def _wrapped(text: str, run: Sequence[_Pair], layout: str) -> str:
    """Return the layout inside the tag that surrounds it, if the prompt shows one."""
    before = re.search(r"<([A-Za-z][\w-]{0,40})>(\s{0,8})$", text[max(0, run[0].start - 60) : run[0].start])
    if not before:
        return layout
    behind = re.match(rf"(\s{{0,8}})</{before.group(1)}>", text[run[-1].end :])
    name = before.group(1)
    return f"<{name}>{before.group(2)}{layout}{behind.group(1)}</{name}>" if behind else layout


def _field_names(names: Sequence[str], said: dict[str, list[str]]) -> dict[str, str]:
    """Return a name for each field: the tag's own, or for numbered tags a word of its description."""
    fields: dict[str, str] = {}
    for name in names:
        wanted = _named(said[name]) if _NUMBERED.fullmatch(name) else identifier(name)
        fields[name] = wanted if wanted and wanted not in fields.values() else identifier(name)
    return fields


def _named(said: Sequence[str]) -> str:
    short = next(iter(said), "")
    for word in ("thought", "explanation", "score", "rating", "reason", "justification", "analysis", "feedback"):
        if word in short.lower():
            return "thoughts" if word == "thought" else word
    bare = _FILLER.sub("", short)
    return identifier(bare) if len(bare.split()) <= 4 else ""


def _starts(text: str, run: Sequence[_Pair]) -> dict[str, str]:
    """Return the words that a tag's content must begin with, said inside the tag, or anywhere for the first tag."""
    found = {pair.name: told.group(1) for pair in run if (told := _STARTS.search(pair.said))}
    told = _STARTS.search(text)
    return found or ({run[0].name: told.group(1)} if told else {})
