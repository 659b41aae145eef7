"""The ranges and levels of scores that a prompt states."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pathway_local.adopt.slots import Source
from pathway_local.adopt.words import any_of, table

_NUMBER, _REMARK = r"-?\d+(?:\.\d+)?", r"(?:\s*\([^()\n]{1,80}\))?"
_STEP = re.compile(
    r"(?i)(?:steps|increments|multiples) of (\d+(?:\.\d+)?)|(\d+\.\d+)[ -](?:point )?(?:increments?|steps?)"
)
_BAND = re.compile(r"(?i)^[^\w\n]*(?:scores?|ratings?)?(?: of)?[\s\"'*([]*$|\b(?:scores?|ratings?) of[\s\"'(]*$")
"""Stands before a part of a scale, as in "- 1-2: bad" or "scores of 1-2 are for …"."""
_LEVEL = re.compile(r"^[^\w\n]*(?P<word>[^\W\d]+:? |)(?P<number>\d{1,2})(?P<mark>\s*\w*s?[^\w\n]{1,6})(?P<name>[^\n]*)")


@cache
def _range() -> re.Pattern[str]:
    between, and_, to = (any_of(group).pattern for group in ("between", "and", "to"))
    return re.compile(
        rf"(?i)(?<![\w.,/%+-])(?:{between}\s+({_NUMBER}){_REMARK}\s+{and_}"
        rf"|\+?({_NUMBER}){_REMARK}\s*(?:[-–—~]|\.\.+|{to}))\s*\+?({_NUMBER})(?![\w%]|[.,]\d|[-/]\d)"
    )


@cache
def _list() -> re.Pattern[str]:
    or_, and_ = any_of("or").pattern, any_of("and").pattern
    return re.compile(
        rf"(?i)(?<![\w.,/-]){_NUMBER}{_REMARK}"
        rf"(?:(?:\s*[,/|]\s*(?:(?:{or_}|{and_}) )?|\s+(?:{or_}|and)\s+){_NUMBER}{_REMARK})+(?![\w%]|[.,]\d)"
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """The values of a score as a spelling writes them, the row that says so, and whether it may be only a part."""

    spelling: str
    row: int
    low: float
    high: float
    band: bool = False


@dataclass(frozen=True, slots=True)
class Levels:
    """A list of levels: their names by number (empty for none) and its first row."""

    names: dict[int, str]
    row: int

    @property
    def scale(self) -> Scale:
        """The scale from the lowest level to the highest."""
        low, high = min(self.names), max(self.names)
        return Scale(_spelled(low, high, "1"), self.row, low, high)


def scale_in(text: str, row: int) -> Scale | None:
    """Return the scale that this text alone states, such as "an integer from 1 to 5"; None for none or several."""
    found = {scale.spelling: scale for scale in scales(text, row)}
    return next(iter(found.values())) if len(found) == 1 else None


def scale_of(name: str, source: Source, levels: list[Levels]) -> Scale | None:
    """Return the one scale that the prompt states for this score, or for scores; None for none, or for several."""
    stem = re.sub(rf"_?(?:{table()['score_names']})$", "", name.lower()).replace("_", " ")
    own = [each for row, line in enumerate(source.lines) if len(stem) > 2 and stem in line.lower() for each in _whole(scales(line, row))]  # fmt: skip # noqa: E501
    listed = [each.scale for each in levels]
    told = [
        each for each in stated(source) if not any(whole.low <= each.low < each.high <= whole.high for whole in listed)
    ]
    for every in (own, [*told, *listed]):
        if len({(scale.low, scale.high) for scale in every}) == 1:
            return max(every, key=lambda scale: ("by" in scale.spelling, len(scale.spelling)))
    return None


def stated(source: Source) -> list[Scale]:
    """Return the whole scales in the lines that speak of scores."""
    lines = ((row, line) for row, line in enumerate(source.lines) if any_of("score").search(line))
    return _whole(scale for row, line in lines for scale in scales(line, row))


def _whole(every: Iterable[Scale]) -> list[Scale]:
    """Return the scales but for bands: those called so, and those that together make up another scale."""
    found = list(every)
    bands = set[tuple[float, float]]()
    for whole in found:
        inside = {(each.low, each.high) for each in found if whole.low <= each.low and each.high <= whole.high}
        parts = sorted(inside - {(whole.low, whole.high)})
        meet = all(0 <= after[0] - before[1] <= 1 for before, after in pairwise(parts))
        if len(parts) > 1 and meet and (parts[0][0], parts[-1][1]) == (whole.low, whole.high):
            bands.update(parts)
    return [each for each in found if not each.band and (each.low, each.high) not in bands]


def scales(text: str, row: int) -> Iterator[Scale]:
    """Yield each scale that a line states, in figures."""
    step = next((each[1] or each[2] for each in [_STEP.search(text)] if each), "")
    taken: list[tuple[int, int]] = []
    for found in _list().finditer(text):
        values = [float(each) for each in re.findall(_NUMBER, re.sub(r"\([^()]*\)", "", found[0]))]
        values = sorted(values) if values in (sorted(set(values)), sorted(set(values), reverse=True)) else []
        gaps = {round(second - first, 6) for first, second in pairwise(values)}
        if not values or _is_amount(text, found) or (len(values) == 2 and (gaps != {1} or " and " in found[0])):
            continue
        taken.append(found.span())
        interval = values == [0, 1] and "," in found[0] and not re.search(r"[a-z]", found[0])
        by = "?" if interval else f"{gaps.pop():g}" if len(gaps) == 1 else ""
        spelling = _spelled(values[0], values[-1], by) if by else " < ".join(f"{value:g}" for value in values)
        yield Scale(spelling, row, values[0], values[-1])
    for found in _range().finditer(text):
        first, last = found[1] or found[2], found[3]
        low, high = sorted((float(first), float(last)))
        inside = any(start < found.end() and found.start() < end for start, end in taken)
        if not inside and not _is_amount(text, found) and 0 < high - low <= 1000:
            fine = "?" if "." in first + last and not step else step
            yield Scale(_spelled(low, high, fine), row, low, high, bool(_BAND.search(text[: found.start()])))


def _is_amount(text: str, found: re.Match[str]) -> bool:
    """Return whether the numbers count words, sentences and the like, and no score."""
    return any_of("units").match(text[found.end() :].lstrip(" -")) is not None


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
        above = " ".join(source.lines[max(0, run[0][0] - 3) : run[0][0]])
        told = ":" in run[0][2]["word"] or any_of("score").search(run[0][2]["word"]) or any_of("scale").search(above)
        counted = sum(found["mark"].strip(" *")[:1] in (".", ")", "") for _, _, found in run) * 2 > len(run)
        if len(run) > 1 and min(run[0][1], run[-1][1]) in (0, 1) and told and not counted:
            whole = {number: _title(found["name"] + _goes_on(source, row)) for row, number, found in run}
            names = dict(sorted(whole.items()))
            made.append(Levels(names if all(names.values()) else dict.fromkeys(names, ""), run[0][0]))
    return made


def _goes_on(source: Source, row: int) -> str:
    """Return the rest of a sentence that goes on in the next line, which then begins with blanks or a small letter."""
    rest = "".join(source.lines[row + 1 : row + 2])
    return f" {rest.strip()}" if re.match(r"\s{2,}\w|[^\W\d_A-Z]", rest) else ""


def _title(text: str) -> str:
    """Return the name of a level in the text behind its number: up to a colon, a dash or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)\s*(?:\*|:|$)", text.strip(" *:([|-–—"))[0]
    plain = plain if "(" not in plain or ")" in plain else plain.partition("(")[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not set("{}") & set(text) else ""
