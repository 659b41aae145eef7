"""Finds the list of levels that a prompt shows, such as lines that begin "5 - Fully complete" or "Score 1 - Poor"."""

import re
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.rubrics.spelling import quoted_word

_LEVEL = re.compile(r"^(?P<lead>[^\w\n]*(?:[^\W\d]+:? |))(?P<number>\d{1,2})(?P<mark>\s*[^\w\n]{1,6})(?P<name>[^\n]*)")
_HEADING = re.compile(r"(?i)scale|scor|rubric|rating|level|point|grad|skala|stufe|escala|échelle|nivel|note")


@dataclass(frozen=True, slots=True)
class Levels:
    """The levels of a list by number, and the list itself."""

    names: dict[int, str]
    text: str

    def spelling(self, name: str, span: str = "") -> str:
        """Return the levels of the score called `name`, and of this range; empty if they are not its own."""
        # A number without a range may be a count.
        fits = span == f"{min(self.names)}-{max(self.names)}" if span else _HEADING.search(name)
        return " < ".join(f"{at} {quoted_word(self.names[at])}" for at in sorted(self.names)) if fits else ""


def levels_in(text: str) -> Levels | None:
    """Return the only list of levels: lines with numbers from 0 or 1 on, up or down, each with a name."""
    lines, runs = text.split("\n"), list[list[tuple[int, int, re.Match[str]]]]()
    for row, line in enumerate(lines):
        if not (match := _LEVEL.match(line[:300])):
            continue
        number, run = int(match["number"]), runs[-1] if runs else []
        numbers = [*(each[1] for each in run[-2:]), number]
        goes_on = {two - one for one, two in pairwise(numbers)} in ({1}, {-1})
        if not goes_on or match["lead"].strip() != run[-1][2]["lead"].strip():
            runs.append([])
        runs[-1].append((row, number, match))
    found = [each for run in runs if (each := _list(run, lines))]
    return found[0] if len(found) == 1 else None


def _list(run: list[tuple[int, int, re.Match[str]]], lines: list[str]) -> Levels | None:
    names, first = {number: _title(match["name"]) for _, number, match in run}, run[0][0]
    counted = any(match["mark"].strip(" *")[:1] in (".", ")", "") for *_, match in run)
    told = re.search(r"\w", run[0][2]["lead"]) or _HEADING.search(" ".join(lines[max(0, first - 3) : first]))
    if len(run) < 2 or min(names) not in (0, 1) or counted or not told or not all(names.values()):
        return None
    return Levels(names, "\n".join(lines[first : run[-1][0] + 1])) if len({*names.values()}) > 1 else None


def _title(text: str) -> str:
    """Return the name of a level: what stands before a colon, a dash, a bracket or the end of bold text."""
    plain = re.split(r"\*\*|:|\s[-–—]\s|\||\.(?:\s|$)|;|\)", text.strip(" *:([|-–—"))[0]
    plain = " ".join(plain.replace('"', "'").split()).rstrip(" .,")
    return plain if 0 < len(plain) <= 60 and not {*"{}"} & {*text} else ""
