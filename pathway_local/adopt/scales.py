"""The ranges and levels of scores that a prompt states."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.adopt.prompt import Source
from pathway_local.adopt.words import any_of

_NUMBER, _REMARK = r"-?\d+(?:\.\d+)?", r"(?:\s*\([^()\n]{1,80}\))?"
_RANGE = re.compile(
    rf"(?i)(?<![\w.,/%-])({_NUMBER}){_REMARK}\s*([-–—~]|\.\.+|to|through|bis|à|hasta|até|and|und|et|e|y|a)"
    rf"\s*({_NUMBER})(?![\w%]|[.,]\d|[-/]\d)"
)
_LIST = re.compile(
    rf"(?i)(?<![\w.,/-]){_NUMBER}{_REMARK}"
    rf"(?:(?:\s*[,/|]\s*(?:or |and |oder |und )?|\s+(?:or|and|oder|ou|o)\s+){_NUMBER}{_REMARK})+"
    r"(?![\w%]|[.,]\d)"
)
_STEP = re.compile(
    r"(?i)(?:steps|increments|multiples) of (\d+(?:\.\d+)?)|(\d+\.\d+)[ -](?:point )?(?:increments?|steps?)"
)
_PART = re.compile(r"(?i)(?:\b(?:scores?|ratings?)(?: of)?|\ban?|\bof)[\s\"'(]*$")
"""Stands before a part of a scale, as in "scores of 1-2 are for …"."""

_LEVEL = re.compile(r"^[^\w\n]*(?P<word>[^\W\d]+:? |)(?P<number>\d{1,2})(?P<mark>\s*\w*s?[^\w\n]{1,6})(?P<name>[^\n]*)")


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a score as a spelling writes them, and the row that says so; `sure` if it is surely all of them."""

    spelling: str
    row: int
    low: float
    high: float
    sure: bool = True


@dataclass(frozen=True, slots=True)
class Levels:
    """A list of levels: their names by number (empty for none) and its first row."""

    names: dict[int, str]
    row: int


def scale_in(text: str, row: int) -> Scale | None:
    """Return the scale that this text alone states, such as "an integer from 1 to 5"; None for none or several."""
    found = {scale.spelling: scale for scale in _scales(text, row)}
    return next(iter(found.values())) if len(found) == 1 else None


def scale_of(name: str, source: Source, levels: list[Levels]) -> Scale | None:
    """Return the scale of a score that the prompt's sentences or levels state; None for none, or for several."""
    stem = re.sub(r"_?(?:score|rating|grade|points)$", "", name.lower()).replace("_", " ")
    about = [row for row, line in enumerate(source.lines) if stem and re.search(rf"(?i)\b{re.escape(stem)}\b", line)]
    own = {scale.spelling: scale for row in about for scale in _scales(source.lines[row], row)}
    if len(own) == 1 and len(stem) > 2:
        return next(iter(own.values()))
    told = [
        each for row, line in enumerate(source.lines) if any_of("score").search(line) for each in _scales(line, row)
    ]
    whole = [scale for scale in told if scale.sure] or told
    spans = {(float(min(each.names)), float(max(each.names))) for each in levels}
    if not whole or (
        len(spans) == 1 and all(low <= each.low < each.high <= high for low, high in spans for each in told)
    ):
        low, high = spans.pop() if len(spans) == 1 else (0.0, 0.0)
        return Scale(_spelled(low, high, "1"), levels[-1].row, low, high) if high else None
    first = max(whole, key=lambda scale: scale.spelling.count("<") + scale.spelling.count("by"))
    agree = len({(scale.low, scale.high) for scale in whole}) == 1 and spans <= {(first.low, first.high)}
    return first if agree and all(first.low <= each.low <= each.high <= first.high for each in told) else None


def another_scale(source: Source, levels: list[Levels], low: float, high: float) -> int | None:
    """Return the row that states another whole scale than this one; None if none does."""
    told = [
        each for row, line in enumerate(source.lines) if any_of("score").search(line) for each in _scales(line, row)
    ]
    listed = any((min(each.names), max(each.names)) == (low, high) for each in levels)
    others = (each for each in told if each.sure and (each.low, each.high) != (low, high))
    return next((each.row for each in others if not (listed and low <= each.low < each.high <= high)), None)


def _scales(text: str, row: int) -> Iterator[Scale]:
    step = next((each[1] or each[2] for each in [_STEP.search(text)] if each), "")
    taken: list[tuple[int, int]] = []
    for found in _LIST.finditer(text):
        values = [float(each) for each in re.findall(_NUMBER, re.sub(r"\([^()]*\)", "", found[0]))]
        values = sorted(values) if values in (sorted(set(values)), sorted(set(values), reverse=True)) else []
        gaps = {round(second - first, 6) for first, second in pairwise(values)}
        unit = any_of("units").match(text[found.end() :].lstrip(" -"))
        if unit or not values or (len(values) == 2 and (gaps != {1} or " and " in found[0])):
            continue
        taken.append(found.span())
        by = f"{gaps.pop():g}" if len(gaps) == 1 else ""
        spelling = _spelled(values[0], values[-1], by) if by else " < ".join(f"{value:g}" for value in values)
        yield Scale(spelling, row, values[0], values[-1])
    for found in _RANGE.finditer(text):
        low, high = sorted((float(found[1]), float(found[3])))
        before, after = text[max(0, found.start() - 30) : found.start()], text[found.end() :].lstrip(" -")
        needs = {"and": "between", "und": "zwischen", "et": "entre", "y": "entre", "e": "entre", "a": "de"}.get(
            found[2].lower()
        )
        lone = needs and not re.search(rf"(?i)\b{needs}\s*$", before)
        inside = any(start < found.end() and found.start() < end for start, end in taken)
        if not (lone or inside or any_of("units").match(after) or not 0 < high - low <= 1000):
            decimal = "." in found[1] + found[3] and not step
            yield Scale(_spelled(low, high, "?" if decimal else step), row, low, high, not _PART.search(before))


def _spelled(low: float, high: float, step: str) -> str:
    """Return a range as a spelling; from 0 to 1, its step is open unless the prompt states it."""
    by = step or ("?" if (low, high) == (0, 1) else "1")
    return f"{low:g}{' to ' if low < 0 else '-'}{high:g}" + (f" by {by}" if by != "1" or (low, high) == (0, 1) else "")


def levels_in(source: Source) -> list[Levels]:
    """Return the lists of levels: numbered lines from 0 or 1 on, up or down, that are no steps to take."""
    runs: list[list[tuple[int, int, re.Match[str]]]] = []
    for row, line in enumerate(source.lines):
        if found := _LEVEL.match(line):
            number, last = int(found["number"]), runs[-1] if runs else []
            step = last[1][1] - last[0][1] if len(last) > 1 else number - last[0][1] if last else 0
            if last and abs(step) == 1 and number == last[-1][1] + step and last[-1][2]["word"] == found["word"]:
                last.append((row, number, found))
            else:
                runs.append([(row, number, found)])
    made = []
    for run in runs:
        numbers = sorted(number for _, number, _ in run)
        above = " ".join(each for each in source.lines[max(0, run[0][0] - 3) : run[0][0]])
        told = ":" in run[0][2]["word"] or any_of("score").search(run[0][2]["word"]) or any_of("scale").search(above)
        counted = sum(found["mark"].strip(" *")[:1] in (".", ")", "") for _, _, found in run) * 2 > len(run)
        if len(run) > 1 and numbers[0] in (0, 1) and told and not counted:
            names = {number: _title(found["name"]) for _, number, found in sorted(run, key=lambda each: each[1])}
            made.append(Levels(names if all(names.values()) else dict.fromkeys(names, ""), run[0][0]))
    return made


def _title(text: str) -> str:
    """Return the name of a level in the text behind its number: up to a colon, a dash or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)\s*(?:\*|:|$)", text.strip(" *:([|-–—"))[0]
    plain = plain if "(" not in plain or ")" in plain else plain.partition("(")[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not set("{}") & set(text) else ""
