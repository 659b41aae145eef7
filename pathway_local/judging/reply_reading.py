"""Makes a verdict from one reply, or from the average of several samples; marks copied and looping texts."""

import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from statistics import median_low

from pathway_local.errors import ReplyError
from pathway_local.judging.pool import Completion
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.lists import VerdictListField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import (
    COPIED,
    CUT,
    LOOP,
    Failure,
    Number,
    Outcome,
    Score,
    Value,
    Verdict,
    mean_mass,
    storable,
)


def verdict_of(completions: Sequence[Completion], output_format: OutputFormat, marks: Sequence[str]) -> Outcome:
    """Return the verdict of one case from its completions.

    With several samples, each score's distribution is the mean of the samples', and its value the likeliest one; a
    share of verdicts is the middle one of the samples'. The other fields come from the first sample with these values.
    A failed sample fails the case.
    """
    for completion in completions:
        if completion.reading is None:
            return Failure(*completion.problem)
    slots = [part for part in output_format.parts if isinstance(part, Slot) and part.score]
    scores = {slot.score: _score(slot, completions) for slot in slots}
    chosen = next((c for c in completions if _agrees(c, scores)), completions[0])
    assert chosen.reading is not None
    fields = {
        name: _clean(chosen.reading.values[name], name in chosen.cut)
        for name in output_format.fields
        if name in chosen.reading.values
    }
    thinking = output_format.thinking
    if chosen.thinking:
        fields[thinking] = _clean(chosen.thinking, cut=True)
    cut = (*([thinking] if chosen.thinking_cut else []), *chosen.cut)
    return Verdict(output_format.with_totals(scores), fields, (*marks, *(f"{CUT}:{name}" for name in cut)))


def _score(slot: Slot, completions: Sequence[Completion]) -> Score:
    name, said = slot.score, [_value(completion, slot.score) for completion in completions]
    own = [Score(v, c.probabilities.get(name, {}), c.masses.get(name)) for v, c in zip(said, completions, strict=True)]
    if len(own) == 1:
        return own[0]
    if isinstance(slot.field, VerdictListField):
        # Shares rarely repeat, so the likeliest of them would be chance: the middle one counts, or none at all.
        none = slot.field.NONE
        shares = [value for value in said if value != none]
        return Score(median_low(shares) if 2 * len(shares) >= len(said) else none)
    parts = [score.probabilities or {score.value: 1.0} for score in own]
    values = sorted(set().union(*parts))
    mean = {value: sum(part.get(value, 0.0) for part in parts) / len(parts) for value in values}
    likeliest = max(mean, key=lambda value: (mean[value], -value))
    return Score(likeliest, mean, mean_mass(own))


def _value(completion: Completion, name: str) -> Number:
    value = completion.reading.values[name] if completion.reading else None
    if not isinstance(value, int | float):
        raise ReplyError(f"the score {name!r} is not a number")
    return value


def _agrees(completion: Completion, scores: Mapping[str, Score]) -> bool:
    return all(_value(completion, name) == score.value for name, score in scores.items())


def _clean(value: Value, cut: bool) -> Value:
    """Strip blanks, and the half of a character that a budget may leave at the end of a text."""
    if isinstance(value, list):
        return [_clean(item, cut) for item in value]
    if isinstance(value, dict):
        return {key: _clean(item, cut) for key, item in value.items()}
    if not isinstance(value, str):
        return value
    whole = storable(value)
    return (whole.rstrip("\ufffd") if cut else whole).strip()


WINDOW = 1000
"""Characters to look at together: the longer an honest text is, the better it compresses."""

REPEATING = 4.0
"""Bytes of a text for each byte that zlib needs. Of 4,330 windows in the texts of a benchmark of judges, 99% have at
most 2.9, and all but one above 4 are loops; that one lists the outcomes of two dice."""

_PLACEHOLDER = re.compile(r"""\[([^][<>{}"]+)]|<([^][<>{}"]+)>""")
_WORD = re.compile(r"[^\W_]+")
_EDGES = " []<>\"'.…"


def filler_marks(fields: Mapping[str, Value], templates: tuple[str, ...], reply: str = "") -> tuple[str, ...]:
    """Return the marks of these fields: `copied:FIELD` and `loop:FIELD`. `templates` are the turns of the rubric.

    If the whole reply stands in the prompt, score included, all its texts of several words are copied.
    """
    known, marks = _placeholders(templates), []
    whole = bool(_words(reply)) and any(_words(reply) in words for words in _prompts(templates))
    for name, value in fields.items():
        texts = list(_texts(value))
        copied = any(_is_copied(text, known) or (whole and " " in text.strip()) for text in texts)
        marks += [f"{COPIED}:{name}"] if copied else []
        marks += [f"{LOOP}:{name}"] if any(map(_loops, texts)) else []
    return tuple(marks)


@lru_cache(64)
def _prompts(templates: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(map(_words, templates))


def _words(text: str) -> str:
    """Return the words and numbers of a text, whatever stands between them."""
    return " ".join(_WORD.findall(text.casefold()))


def _texts(value: Value) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


@lru_cache(64)
def _placeholders(templates: tuple[str, ...]) -> frozenset[str]:
    """Return what stands in square or angle brackets, in one line and lower case."""
    found = ("".join(each) for template in templates for each in _PLACEHOLDER.findall(template))
    return frozenset(map(_normal, found))


def _is_copied(text: str, placeholders: frozenset[str]) -> bool:
    """Return whether the text has a placeholder in brackets, or is one; within a text, one word may be a name."""
    said = _normal(text)
    held = any(f"[{each}]" in said or f"<{each}>" in said for each in placeholders if " " in each)
    return held or (bool(bare := said.strip(_EDGES)) and bare in placeholders)


def _normal(text: str) -> str:
    return " ".join(text.split()).casefold()


def _loops(text: str) -> bool:
    begins = range(0, max(1, len(text) - WINDOW // 2), WINDOW // 2)
    windows = (text[begin : begin + WINDOW].encode("utf-8", "replace") for begin in begins)
    return any(len(data) > REPEATING * len(zlib.compress(data)) for data in windows)
