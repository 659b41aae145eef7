"""Formats asked for in a sentence: a bare number, Pass or Fail, [[rating]], Feedback … [RESULT], or a last label."""

import re
from collections.abc import Iterator

from pathway_local.adopt.finding import Candidate, Place, Source
from pathway_local.adopt.inputs import identifier
from pathway_local.adopt.scales import SCORE_WORDS, range_in

_RESULT = re.compile(r"(Feedback:|\()[^\n\[\]]{0,200}\[RESULT\]\s*([^\n]{0,200})")
_EITHER = re.compile(r"either\s+[\"“'`]?(\w{1,15})[\"”'`]?\s+or\s+[\"“'`]?(\w{1,15})\b", re.IGNORECASE)
_DOUBLED = re.compile(r"[\"“'`]?([A-Z][A-Za-z ]{2,30}:)?\s{0,8}\[\[\s{0,8}(\d+|[A-Za-z ]{3,20})\s{0,8}\]\]")
_ONLY = re.compile(r"(?i)\bonly\b|nothing else|\bjust\b|\bsingle\b|without (?:any )?(?:other|further|explanation)")
_ASKS = re.compile(r"(?i)\b(?:respond|reply|answer|output|return|give|provide|write|print|say|end|produce)\b")
_NUMBER = re.compile(
    r"\b(?:only|just|single|nothing (?:but|except))\b[^.\n]{0,40}\b(?:number|integer|digit|score|rating)\b"
    r"|\b(?:number|integer|digit|score|rating)\b[^.\n]{0,40}(?:\bonly\b|\balone\b|nothing else|no other)",
    re.IGNORECASE,
)
_WORDS = re.compile(
    r"[\"“'`*]{0,2}\b([A-Za-z]{2,15})[\"”'`*]{0,2}\s*(?:or|/|\||,)\s*[\"“'`*]{0,2}([A-Za-z]{2,15})\b[\"”'`*]{0,2}"
)
_LAST = re.compile(r"^[#*_\s]*([A-Za-z][\w ]{0,30}?)[*_]*\s*:[*_]*\s*$")
_INLINE = re.compile(
    r"[\"“'`]?((?:\*\*)?(?:Final |Overall )?(?:Score|Rating|Grade)(?:\*\*)?:(?:\*\*)?) ?"
    r"(?:X|N|#|\[[^\]\n]{1,60}\]|<[^>\n]{1,60}>|\d\s*[-–]\s*\d)(?![\w])"
)
_REASONS = re.compile(r"explain|explanation|reason|step[- ]by[- ]step|justif|analy[sz]", re.IGNORECASE)

NEGATIVE = frozenset(
    ("fail", "no", "false", "incorrect", "wrong", "ungrounded", "unsafe", "bad", "irrelevant", "invalid")
)
POSITIVE = frozenset(("pass", "yes", "true", "correct", "right", "grounded", "safe", "good", "relevant", "valid"))


def polarity(words: tuple[str, ...]) -> dict[int, str]:
    """Return the two words as 0 and 1; empty unless it is plain which one is the good one."""
    good = [word for word in words if word.lower() in POSITIVE]
    bad = [word for word in words if word.lower() in NEGATIVE]
    return {0: bad[0], 1: good[0]} if len(words) == 2 and len(good) == len(bad) == 1 else {}


def short_candidates(source: Source) -> Iterator[Candidate]:
    """Yield the last candidate of each kind of short reply."""
    for find in (_result, _doubled, _inline, _words, _number, _last_label):
        yield from list(find(source))[-1:]


def _result(source: Source) -> Iterator[Candidate]:
    for found in _RESULT.finditer(source.text):
        row = source.row(found.start())
        label = "Feedback: " if found.group(1) == "Feedback:" else ""
        either = None if range_in(found.group(2)) else _EITHER.search(found.group(2))
        result = (
            Place("result", "", row, "text", choices=either.groups())
            if either
            else Place("score", found.group(2), row, "number")
        )
        places = (Place("feedback", "feedback", row, "text"), result)
        yield Candidate("result", f"{label}{{feedback}} [RESULT] {{{result.name}}}", places, row)


def _doubled(source: Source) -> Iterator[Candidate]:
    for found in _DOUBLED.finditer(source.text):
        row = source.row(found.start())
        label = found.group(1) or "Rating:"
        places = (Place("explanation", "explanation", row, "text"), Place(identifier(label), "", row, "number"))
        yield Candidate("doubled", f"{{explanation}}\n\n{label} [[{{{identifier(label)}}}]]", places, row)


def _inline(source: Source) -> Iterator[Candidate]:
    reasons = bool(_REASONS.search(source.text))
    for found in _INLINE.finditer(source.text):
        row = source.row(found.start())
        label, line = found.group(1), source.lines[row]
        name = identifier(label)
        score = Place(name, found.group(), row, "number")
        if _ONLY.search(line) or not reasons:
            yield Candidate("inline", f"{label} {{{name}}}", (score,), row)
        else:
            places = (Place("reasoning", "reasoning before the score", row, "text"), score)
            doubt = ("the prompt does not say whether the reasons come before the score",)
            yield Candidate("inline", f"{{reasoning}}\n\n{label} {{{name}}}", places, row, doubt)


def _words(source: Source) -> Iterator[Candidate]:
    for row, line in enumerate(source.lines):
        asked = _ASKS.search(line) and (_ONLY.search(line) or len(line) < 80)
        for found in _WORDS.finditer(line) if asked else ():
            words = (found.group(1), found.group(2))
            if polarity(words):
                yield Candidate("words", "{verdict}", (Place("verdict", "", row, "text", choices=words),), row)


def _number(source: Source) -> Iterator[Candidate]:
    for row, line in enumerate(source.lines):
        sentences = [part for part in re.split(r"(?<=[.!?])\s", line) if _NUMBER.search(part)]
        if any(_ASKS.search(part) for part in sentences):
            yield Candidate("number", "{score}", (Place("score", " ".join(sentences), row, "number"),), row)


def _last_label(source: Source) -> Iterator[Candidate]:
    """Yield a label on the last line that the judge completes, such as `stars:`."""
    last = max((row for row, line in enumerate(source.lines) if line.strip()), default=0)
    found = _LAST.match(source.lines[last])
    if found and (SCORE_WORDS.search(found.group(1)) or range_in(source.text)):
        name = identifier(found.group(1))
        yield Candidate("last", f"{{{name}}}", (Place(name, "", last, "number"),), last)
