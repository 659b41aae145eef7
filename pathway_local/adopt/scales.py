"""The ranges and levels of scores that a prompt states."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from pathway_local.adopt.slots import Source
from pathway_local.adopt.words import any_of, table

_NUMBER, _REMARK = r"-?\d+(?:\.\d+)?", r"(?:\s*(?:\([^()\n]{1,80}\)|=\s*[^\d,;=()\n]{1,40}))?"
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
        rf"(?:(?:\s*[,;/|]\s*(?:(?:{or_}|{and_}) )?|\s+(?:{or_}|and)\s+){_NUMBER}{_REMARK})+(?![\w%]|[.,]\d)"
    )


@dataclass(frozen=True, slots=True)
class Scale:
    """The ends of a score, the text and row that state them, and the step, 0 if the prompt states none.

    `listed` is the spelling of values that are listed one by one in uneven steps or as fractions. A `band` is only a
    part of a scale.
    """

    low: float
    high: float
    said: str
    row: int
    step: float = 0
    listed: str = ""
    band: bool = False

    def spelled(self, step: float) -> str:
        """Return the range as a spelling, in these steps."""
        by = f" by {step:g}" if step != 1 or (self.low, self.high) == (0, 1) else ""
        return f"{self.low:g}{' to ' if self.low < 0 else '-'}{self.high:g}{by}"


@dataclass(frozen=True, slots=True)
class Levels:
    """A list of levels: their names by number (empty for none) and its first row."""

    names: dict[int, str]
    row: int

    @property
    def scale(self) -> Scale:
        """The scale from the lowest level to the highest."""
        return Scale(min(self.names), max(self.names), "", self.row, step=1)


def scale_in(text: str, row: int) -> Scale | None:
    """Return the scale that this text alone states, such as "an integer from 1 to 5"; None for none or several."""
    found = {(scale.low, scale.high, scale.step): scale for scale in scales(text, row)}
    return next(iter(found.values())) if len(found) == 1 else None


def scale_of(name: str, keys: str, source: Source, levels: list[Levels]) -> Scale | None:
    """Return the one scale that the prompt states for this score, or for scores; None for none, or for several.

    What stands behind one of the `keys` of an object belongs to that key.
    """
    stem = re.sub(rf"_?(?:{table()['score_names']})$", "", name.lower()).replace("_", " ")
    lines = ((row, line) for row, line in enumerate(source.lines) if len(stem) > 2 and stem in line.lower())
    own = [scale for row, line in lines for scale in scales(line, row) if not scale.band]
    listed = [each.scale for each in levels]
    told = [
        each
        for each in stated(source, keys)
        if not any(whole.low <= each.low < each.high <= whole.high for whole in listed)
    ]
    for every in (own, [*told, *listed]):
        if len({(scale.low, scale.high) for scale in every}) == 1:
            return max(every, key=lambda scale: (bool(scale.step), bool(scale.listed)))
    return None


def stated(source: Source, keys: str = "") -> list[Scale]:
    """Return the whole scales in the lines that speak of scoring, each line up to the first of the `keys` in it."""
    cut = re.compile(rf"[\"'](?:{keys})[\"']\s*:" if keys else r"\Z")
    lines = (
        (row, cut.split(line)[0])
        for row, line in enumerate(source.lines)
        if any_of("score").search(line) or any_of("judges").search(line)
    )
    return [scale for row, line in lines for scale in scales(line, row) if not scale.band]


def scales(text: str, row: int) -> Iterator[Scale]:
    """Yield each scale that a line states, in figures."""
    steps = any_of("steps").search(text)
    step = next((float(each) for each in re.findall(r"\d+(?:\.\d+)?", steps[0])), 0.0) if steps else 0.0
    taken: list[tuple[int, int]] = []
    for found in _list().finditer(text):
        said = re.findall(_NUMBER, re.sub(r"\([^()]*\)|=[^,;]*", "", found[0]))
        values = [float(each) for each in said]
        values = sorted(values) if values in (sorted(set(values)), sorted(set(values), reverse=True)) else []
        gaps = {round(second - first, 6) for first, second in pairwise(values)}
        if (
            not values
            or _is_amount(text, found)
            or (len(values) == 2 and (gaps != {1} or any_of("and").search(found[0])))
        ):
            continue
        taken.append(found.span())
        interval = values == [0, 1] and "," in found[0] and not re.search(r"[a-z]", found[0])
        even = len(gaps) == 1 and all(gap.is_integer() for gap in gaps)
        listed = "" if even or interval else " < ".join(sorted(said, key=float))
        yield Scale(values[0], values[-1], found[0], row, gaps.pop() if even and not interval else 0, listed)
    for found in _range().finditer(text):
        first, last = found[1] or found[2], found[3]
        low, high = sorted((float(first), float(last)))
        inside = any(start < found.end() and found.start() < end for start, end in taken)
        band = any_of("band").search(text[: found.start()].strip("[*(\"' ")) or not re.search(
            r"\w", text[: found.start()]
        )
        if not inside and not _is_amount(text, found) and 0 < high - low <= 1000:
            yield Scale(low, high, found[0], row, step, band=bool(band))


def _is_amount(text: str, found: re.Match[str]) -> bool:
    """Return whether the numbers count words, sentences and the like, and no score."""
    return any_of("units").match(text[found.end() :].lstrip(" -")) is not None


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
        quoted = '"' in run[0][2]["mark"]
        counted = sum(found["mark"].strip(" *")[:1] in (".", ")", "") for _, _, found in run) * 2 > len(run)
        if len(run) > 1 and min(run[0][1], run[-1][1]) in (0, 1) and (told or quoted) and not counted:
            # A sentence that goes on in the next line is no name.
            ends = {
                row: not re.match(r"\s{2,}\w|[^\W\d_A-Z]", "".join(source.lines[row + 1 : row + 2]))
                for row, _, _ in run
            }
            whole = {number: _title(found["name"]) * ends[row] for row, number, found in run}
            names = dict(sorted(whole.items()))
            made.append(Levels(names if all(names.values()) else dict.fromkeys(names, ""), run[0][0]))
    return made


def _title(text: str) -> str:
    """Return the name of a level in the text behind its number: up to a colon, a dash or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)\s*(?:\*|:|$)", text.strip(" *:([|-–—"))[0]
    plain = plain if "(" not in plain or ")" in plain else plain.partition("(")[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not set("{}") & set(text) else ""
