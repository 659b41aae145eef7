"""Reads the numbers that a phrase allows, such as "<1-5>", "0 or 1", "in steps of 0.5"."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pathway_local.verdict import Number, plain

NUMBER = _N = r"-?\d{1,3}(?:\.\d{1,4})?"

# "1-5", "1 (worst) to 5", "between 0 and 10"; but not "1-2 sentences", "$1-5", "1-5%" or "1-5.5".
_DASHED = re.compile(
    rf"(?<![\w.$])({_N})(?:\s*\([^()\n]{{1,40}}\))?\s*(-|–|—|\bto\b|\bthrough\b|\.\.+|\band\b)\s*({_N})(?![\w%]|\.\d)"
    r"(?!\s*(?:minor|major|more|other|short|brief|full)?\s*"
    r"(?:words?|sentences?|characters?|tokens?|items?|minutes?|paragraphs?|bullet|lines?))"
)
# "1, 2 or 3", "1|2|3", "0, 0.5, 1"; but not "1, 2, …", which has no end.
_LISTED = re.compile(
    rf"(?<![\w.]){_N}(?:\s{{0,3}}(?:,\s{{0,3}}(?:or|and)\b|,|\bor\b|\band\b|\||/)\s{{0,3}}{_N}(?![\w.]\d)){{1,200}}"
    r"(?!\s{0,3},?\s{0,3}(?:\.\.|…))"
)
# "1 if it is right, 0 if it is not", "1 = matches, 0.5 = in part, 0 = not"
_ANCHOR = re.compile(rf"(?<![\w.])(?:([01])\s*(?:for|if|when)\b|({_N})\s*(?:=|means\b))")

_STEP = re.compile(
    r"(?P<half>\bhalf[- ]?(?:points?|marks?|steps?|scores?|grades?|stars?)\b|\bnearest half\b|\bhalves\b)"
    r"|(?P<quarter>\bquarter[- ]?(?:points?|marks?|steps?)\b)"
    rf"|\b(?:steps?|increments?|multiples?|intervals?)\s+of\s+(?P<of>{_N})"
    rf"|(?<![\w.])(?P<wide>{_N})[- ](?:points? )?(?:increments?|intervals?)\b|(?<![\w.])(?P<fine>\d?\.\d+)[- ]steps?\b"
    rf"|\bnearest\s+(?P<nearest>{_N})|(?<![\w.])(?P<er>{_N})(?:er[- ]?(?:schritte?n?|steps)|[- ]points?[- ]steps?)\b"
    r"|\b(?P<places>one|two|three|[123])[- ](?:decimals?|digits? after the (?:decimal )?point)\b"
    r"|(?P<tenths>\btenths\b)|(?P<hundredths>\bhundredths\b)",
    re.IGNORECASE,
)
_TOLD = re.compile(
    rf"(?<![\w.$/-]){_N}(?![\w%/]|\.\d|[ -](?:\w+ )?(?:words?|sentences?|characters?|tokens?|points?|decimals?)\b)"
)
_NOT = re.compile(r"(?i)\b(?:no|not|never|without|don't|avoid)\b[^.,;\n]{0,20}$")
FORBIDS = re.compile(r"(?i)^[^.;\n]{0,12}\b(?:not|never|forbidden|disallowed)\b")
_STEPS = {"half": 0.5, "quarter": 0.25, "tenths": 0.1, "hundredths": 0.01}
_PLACES = {"one": 1, "two": 2, "three": 3, "1": 1, "2": 2, "3": 3}
_FRACTION = re.compile(
    r"(?i)\b(?:floats?|floating|decimals?|real number|fractions?|fractional|continuous|probability|"
    r"(?:intermediate|in-between) (?:values?|scores?|grades?|marks?))\b"
)


@dataclass(frozen=True, slots=True)
class Scale:
    """Numbers from `low` to `high`. `step` is None if the prompt wants a fraction and does not say how fine."""

    low: Number
    high: Number
    step: Number | None = 1
    listed: tuple[Number, ...] = ()

    @property
    def said(self) -> str:
        """The scale in words."""
        if self.listed:
            return ", ".join(map(str, self.listed))
        return f"{self.low} to {self.high}" + ("" if self.step in (1, None) else f" in steps of {self.step}")

    @property
    def values(self) -> tuple[Number, ...]:
        """All its values, ascending."""
        if self.listed:
            return tuple(sorted(self.listed))
        step = self.step or 1
        return tuple(plain(self.low + at * step) for at in range(round((self.high - self.low) / step) + 1))

    @property
    def field(self) -> dict[str, object]:
        """The keys of a score field with this scale."""
        if self.listed:
            return {"levels": {value: str(value) for value in sorted(self.listed)}}
        found: dict[str, object] = {"min": self.low, "max": self.high}
        return found if self.step in (1, None) else found | {"step": self.step}

    def stepped(self, step: Number | None) -> "Scale":
        """Return the scale with this step, if it fits in."""
        fits = step and abs((self.high - self.low) / step - round((self.high - self.low) / step)) < 1e-9
        return replace(self, step=step) if fits and not self.listed else self


def number(text: str) -> Number:
    """Return the number that a text spells."""
    return plain(float(text))


def scale_in(said: str) -> Scale | None:
    """Return the scale in a phrase, such as "1-5", "0 or 1", "0, 2, 4", "1 if …, 0 if …"; None if it has none."""
    bare = re.sub(r"[`\"'“”]", "", said)
    step = step_in(bare)
    fraction = is_fraction(bare)
    for found in _DASHED.finditer(bare):
        # "from 5 (best) to 1" is the same scale: the judge writes the same numbers.
        low, high = sorted((number(found.group(1)), number(found.group(3))))
        # "2 and 5" is a scale only behind "between".
        between = found.group(2) != "and" or "between" in bare[: found.start()].lower()
        if between and _plausible(low, high):
            shown = max(_decimals(found.group(1)), _decimals(found.group(3)))
            fine = step or (plain(10.0**-shown) if shown else None if fraction else 1)
            return Scale(low, high).stepped(fine) if fine else Scale(low, high, None)
    for listed in _LISTED.finditer(bare):
        numbers = [number(text) for text in re.findall(NUMBER, listed.group())]
        if " and " in listed.group() and len(numbers) < 3:
            continue
        if (found_list := _list_scale(numbers)) is not None:
            return found_list
    anchors = {number(found.group(1) or found.group(2)) for found in _ANCHOR.finditer(bare)}
    return _list_scale(sorted(anchors)) if {0, 1} <= anchors or len(anchors) > 2 else None


def _list_scale(numbers: Sequence[Number]) -> Scale | None:
    """Return the scale of numbers that a phrase lists: they go up or down, and a step other than 1 needs three."""
    steps = {plain(second - first) for first, second in pairwise(numbers)}
    monotone = all(step > 0 for step in steps) or all(step < 0 for step in steps)
    if len(numbers) < 2 or not monotone or not _plausible(min(numbers), max(numbers)):
        return None
    if steps in ({1}, {-1}):
        return Scale(min(numbers), max(numbers))
    return Scale(min(numbers), max(numbers), listed=tuple(sorted(numbers))) if len(numbers) > 2 else None


def _plausible(low: Number, high: Number) -> bool:
    return low < high and (low in (0, 1) or low == -high)


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def numbers_beyond(said: str, scale: Scale) -> list[str]:
    """Return the numbers in a phrase that lie outside of the scale, other than steps and lengths of texts."""
    bare = _STEP.sub(" ", _DASHED.sub(" ", said))
    return [text for text in dict.fromkeys(_TOLD.findall(bare)) if not scale.low <= number(text) <= scale.high]


def is_fraction(said: str) -> bool:
    """Whether the phrase asks for a number with digits behind the point."""
    return any(not _is_refused(said, found) for found in _FRACTION.finditer(said))


def _is_refused(said: str, found: re.Match[str]) -> bool:
    return bool(_NOT.search(said[: found.start()]) or FORBIDS.search(said[found.end() :]))


def step_in(said: str) -> Number | None:
    """Return the step in a phrase, such as "half points" or "two decimals"; None if it has none, or forbids it."""
    for found in _STEP.finditer(said):
        kind, told = str(found.lastgroup), found[found.lastgroup or 0]
        if _is_refused(said, found):
            continue
        if kind in _STEPS:
            return _STEPS[kind]
        step = plain(10.0 ** -_PLACES[told.lower()]) if kind == "places" else number(told)
        if step > 0:
            return step
    return None
