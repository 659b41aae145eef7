"""Compares what a prompt demands of a reply with what a format writes.

The readers of formats look for one place that shows the format. This module reads the whole prompt again, sentence by
sentence, for every token that tells the judge what to write: steps, scales, words to choose from, values for special
cases, further keys. Each must be in the format. What is not there is a difference, which the user settles.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal

from pathway_local.adopt.declaration import Field, levels_of
from pathway_local.adopt.finding import Source
from pathway_local.adopt.number_phrases import FORBIDS, Scale, scale_in, step_in
from pathway_local.adopt.scales import SCORE_WORDS
from pathway_local.adopt.word_phrases import is_special, word_runs
from pathway_local.verdict import Number

_IF = re.compile(r"(?i)\b(?:if|when|where|unless|otherwise|in case|for (?:an? )?(?:empty|missing|blank))\b")
_OUTPUTS = re.compile(
    r"(?i)\b(?:return|respond|reply|output|answer|write|give|assign|use|set|score|rate|print|put|choose|select|mark|"
    r"say|must be|should be)\s+"
    r"(?:(?:the|a|an|it|as|to|with|of|score|rating|grade|value|label|verdict|field|only|just|exactly|simply|be|is|"
    r"never|not|"
    r"[\"'`]?\w+_\w+[\"'`]?|[\"`']?score[\"`']?)\s+){0,5}"
    r"(?P<token>\"[^\"\n]{1,40}\"|'[^'\n]{1,40}'|`[^`\n]{1,40}`|"
    r"-?\d+(?:\.\d+)?(?![\w%]| ?[-–/]| (?:to -?\d|words?\b|sentences?\b))|"
    r"null\b|None\b|N/?A\b|unknown\b|unsure\b)"
)
_ASKS = re.compile(
    r"(?i)\b(?:respond|reply|answer|output|return|give|provide|write|print|say|end|choose|pick|select|must be|label|"
    r"grade)\b"
)
_STATES = re.compile(r"(?i)\bscale\b|\bfrom\b|\bbetween\b|\brange\b")
_KEY = re.compile(
    r"(?i)\b(?:include|add|also|provide|plus|another|additional)\b[^.\n]{0,40}?[\"'`](?P<one>\w+)[\"'`]\s+"
    r"(?:key|field|tag|property|section|entry|attribute)"
    r"|\b(?:key|field|property|attribute)\s+(?:called|named)\s+[\"'`]?(?P<two>\w+)"
    r"|\b(?:include|add|also|provide|plus|another|additional)\b[^.\n]{0,40}?\b(?:key|field|property|attribute)\s+"
    r"[\"'`“„«]\s?(?P<three>\w+)"
)
_FINE = re.compile(
    r"(?i)\b(?:decimals?|floats?|floating|fractional|fractions?|"
    r"(?:intermediate|in-between) (?:values?|scores?|grades?|marks?))\b"
)
_OF_TEXT = re.compile(r"(?i)[ -](?!(?:if|when|for|to|where|and|or|on|in|at|as|only)\b)[a-z]")
_ALLOWED = re.compile(
    r"(?i)(?<![\w.])(\d{1,2}\.\d{1,2})(?!\.?\w)[^;\n]{0,40}?\b(?:allowed|permitted|possible|acceptable|valid)\b"
)
_NEVER = re.compile(r"(?i)\b(?:not|never|don't|avoid)\b")
_NEVER_BEFORE = re.compile(_NEVER.pattern + r"\s+(?:\w+\s+)?$")
_REFUSES = re.compile(r"(?i)\b(?:no|not|never|without|don't|avoid|whole|integers?)\b")


@dataclass(frozen=True, slots=True)
class Demand:
    """One thing that the prompt tells the judge to write: the words that say it, and their row."""

    phrase: str
    row: int
    kind: str
    values: tuple[str, ...] = ()
    scale: Scale | None = None


@lru_cache(8)
def demands(source: Source) -> tuple[Demand, ...]:
    """Return every demand that a sentence of the prompt makes, beside the place that shows the format."""
    return tuple(_demands(source))


def _demands(source: Source) -> Iterator[Demand]:
    for row, line in enumerate(source.english.lines):
        if step := step_in(line):
            phrase = "half points" if "half" in line.lower() else f"steps of {step}"
            yield Demand(phrase, row, "step", (str(step),))
        elif (
            SCORE_WORDS.search(line)
            and (fine := _FINE.search(line))
            and not _REFUSES.search(line[: fine.start()][-40:])
            and not FORBIDS.search(line[fine.end() :])
        ):
            yield Demand(fine.group(), row, "fraction")
        if SCORE_WORDS.search(line) and _STATES.search(line) and (scale := scale_in(line)):
            yield Demand(scale.said, row, "scale", scale=scale)
        for sentence in re.split(r"(?<=[.!?;])\s", line):
            for found in _OUTPUTS.finditer(sentence):
                token = found.group("token").strip("\"'`")
                if _IF.search(sentence):
                    yield Demand(token, row, "value", (token,))
                elif _OF_TEXT.match(sentence[found.end() :]):
                    continue
                elif token.isdecimal() and _forbids(sentence, found):
                    yield Demand(f"not {token}", row, "excluded", (token,))
                elif not _REFUSES.search(sentence[: found.start()][-20:]):
                    yield Demand(token, row, "text", (token,))
        for allowed in _ALLOWED.finditer(line):
            if not _REFUSES.search(allowed.group()):
                yield Demand(allowed.group(1), row, "value", (allowed.group(1),))
        if _ASKS.search(line):
            for run in word_runs(line, source.lines, row):
                yield Demand(" / ".join(run.words), row, "words", run.words)
        for key in _KEY.finditer(line):
            yield Demand(key[str(key.lastgroup)], row, "key")


def _forbids(sentence: str, found: re.Match[str]) -> bool:
    """Whether a "never" governs this order to write a value; "not as bad as Score 1" forbids nothing."""
    return bool(_NEVER.search(found.group()) or _NEVER_BEFORE.search(sentence[: found.start()]))


def special_values(source: Source, values: Sequence[str]) -> list[str]:
    """Return the values for special cases that the prompt names, and that are not among a score's `values`.

    They are numbers, null, and words such as Unknown; any other text stays a difference.
    """
    known = {value.lower() for value in values}
    found = []
    scale = all(re.fullmatch(r"-?[\d.]+|null", value) for value in values)
    for demand in demands(source):
        token = "null" if demand.phrase == "None" else demand.phrase
        # A word such as SKIP beside numbers may replace the whole reply, and only the user knows.
        fits = re.fullmatch(r"(?i)-?\d+|null|n/?a", token) if scale else is_special(token)
        if demand.kind == "value" and token.lower() not in known and fits:
            found.append(token)
    return list(dict.fromkeys(found))


@dataclass(frozen=True, slots=True)
class Reconciled:
    """A demand of the prompt, its line, and its state: met by the format, settled by the user, or open."""

    demand: str
    line: int
    state: Literal["met", "settled", "open"]


def reconcile(
    source: Source, outputs: Mapping[str, Any], inputs: Sequence[str], settled: Sequence[str]
) -> list[Reconciled]:
    """Return every demand of the prompt, each phrase once, with how an `outputs:` block meets it."""
    missing = {demand.phrase.lower() for demand in unmet(source, outputs, inputs)}
    accepted = {phrase.lower() for phrase in settled}
    found: dict[str, Reconciled] = {}
    for demand in demands(source):
        phrase = demand.phrase.lower()
        state: Literal["met", "settled", "open"] = (
            "met" if phrase not in missing else "settled" if phrase in accepted else "open"
        )
        # Words that a sentence lists are demands only where they differ: most lists are about something else.
        if demand.kind != "words" or state != "met":
            found.setdefault(phrase, Reconciled(demand.phrase, source.line(demand.row), state))
    return list(found.values())


def unmet(source: Source, outputs: Mapping[str, Any], inputs: Sequence[str]) -> list[Demand]:
    """Return the demands of the prompt that an `outputs:` block does not write, each phrase once."""
    format_ = _Written(outputs, inputs)
    found: dict[str, Demand] = {}
    for demand in demands(source):
        if not format_.meets(demand):
            found.setdefault(demand.phrase.lower(), demand)
    return list(found.values())


class _Written:
    """The contents of a reply under an `outputs:` block: names and texts in lower case, scores and other numbers."""

    def __init__(self, outputs: Mapping[str, Any], inputs: Sequence[str]) -> None:
        fields: dict[str, Field] = dict(outputs["fields"])
        for field in outputs["fields"].values():
            # A list of verdicts writes what the members of its objects write.
            fields |= field.get("members", {})
        self.layout = str(outputs["layout"]).lower()
        self.inputs = {name.lower() for name in inputs}
        self.names = {part.lower() for name in fields for part in (name, *name.split("."))}
        self.scores = [field for field in fields.values() if field["type"] == "score"]
        self.numbers = [field for field in fields.values() if field["type"] == "number"]
        texts = {text.lower() for field in fields.values() for text in texts_of(field)}
        self.texts = texts | {"n/a" for text in texts if text == "null"}

    def meets(self, demand: Demand) -> bool:
        """Return whether the format writes what a sentence demands."""
        known = self.texts | self.names
        match demand.kind:
            case "step":
                return any(str(score.get("step", 1)) in demand.values or _is_listed(score) for score in self.scores)
            case "fraction":
                return bool(self.numbers) or any(_has_gaps(score) for score in self.scores)
            case "scale":
                assert demand.scale is not None
                return self._has_scale(demand.scale)
            case "key":
                return demand.phrase.lower() in self.names | self.inputs
            case "excluded":
                return demand.values[0] not in known
            case "words":
                # A list of words is about a field if they share a word; then none may be missing.
                words, joined = [word.lower() for word in demand.values], " ".join(known)
                return (self.texts - self.names).isdisjoint(words) or all(word in joined for word in words)
        # Of "Verdict: PASS" the layout has the label; its word is a demand of its own kind.
        label, colon, _ = demand.phrase.lower().partition(":")
        return label in known or label.strip("[]") in known or label + colon in self.layout

    def _has_scale(self, scale: Scale) -> bool:
        own = {ends for score in self.scores for ends in _ends(score)}
        numbers = {(number["min"], number["max"]) for number in self.numbers}
        # Words have numbers of ours, so a scale in the prompt is about something else.
        in_words = any(score.get("written") for score in self.scores) and own <= {(0, 1), (0, 2), (1, 2)}
        return in_words or (scale.low, scale.high) in own | numbers


def texts_of(field: Field) -> list[str]:
    """Return the texts that a field of an `outputs:` block can write, and the names of its levels."""
    if field["type"] == "boolean":
        return ["true", "false"]
    if field["type"] == "choice":
        return list(field["choices"])
    if field["type"] != "score":
        return []
    written, special = field.get("written", {}), field.get("special", ())
    numbers = [value for value in levels_of(field) if value not in special]
    # A special value that is written as a word, such as null, does not allow its number.
    texts = [*numbers, *(written.get(value, value) for value in special), *written.values()]
    return [str(text) for text in (*texts, *field.get("levels", {}).values())]


def _is_listed(score: Field) -> bool:
    """Return whether the score has levels of its own that are not whole numbers in a row."""
    return score.get("min") is None and _has_gaps(score)


def _has_gaps(score: Field) -> bool:
    return any(second - first != 1 for first, second in pairwise(levels_of(score)))


def _ends(score: Field) -> set[tuple[Number, Number]]:
    """Return the ends of a scale, with special values on it and without."""
    levels = levels_of(score)
    on_scale = [value for value in levels if value not in score.get("special", ())]
    return {(levels[0], levels[-1]), (on_scale[0], on_scale[-1])}
