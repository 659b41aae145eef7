"""Spells a slot of a form as a field by what stands in it; `?` marks what the slot leaves open.

A score's levels may stand in a list of the prompt, whose lines begin "5 - Fully complete" or "Score 1 - Poor".
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from pathway_local.rubrics.spelling import quoted_word

OPEN = "?"

_N = r"-?\d+(?:\.\d+)?"
_TO = r"\s*(?:[-–—~]|\.\.+|\b(?:to|and|bis|und|a|à|y|et|e)\b)\s*"
_RANGE = re.compile(rf"(?P<told>[^\d]*?)(?<![\d.])(?P<low>{_N}){_TO}(?P<high>{_N})(?![\d.%])(?P<more>.*)", re.DOTALL)
_OR = r"(?:or|oder|ou|o)"
_PARTS = re.compile(rf",\s*{_OR}\s+|\s*[|/,]\s*|\s+{_OR}\s+")
_WORD = re.compile(r"N/A|[^\W\d][\w+'’-]*[+-]?(?: [^\W\d][\w'’-]*){0,2}")
_EXPLAINS = re.compile(
    r"(?i)why|reason|expla|analys|comment|feedback|thought|thinking|rationale|justif|begr|grund|raz[oó]n|raison|motiv"
    r"|claim|statement|sentence|quote|summary"
)
_SCORE = re.compile(r"(?i)(?:score|rating|grade|number|integer|\bint|float|\bnot[ae]|punkte?|puntuaci[oó]n)\W*$")
_ORDERED = (("no", "yes"), ("n", "y"), ("false", "true"), ("fail", "pass"), ("incorrect", "correct"))
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


@dataclass(frozen=True, slots=True)
class Slot:
    """A value of the reply: its name, what stands in it, and the slots of the objects in a list."""

    name: str
    text: str
    members: tuple["Slot", ...] = ()


def spelled(slots: Sequence[Slot], levels: Levels | None, inputs: Sequence[str]) -> dict[str, str]:
    """Return the spelling of each slot; beside a list with verdicts, another number leaves open which is the score."""
    found = {slot.name: _spelling(slot, levels, inputs) for slot in slots}
    if any(re.match(rf"{_N}(?: to |-| )", spelling) for spelling in found.values()):
        found |= {name: OPEN for name, spelling in found.items() if spelling.startswith("[")}
    return found


def _spelling(slot: Slot, levels: Levels | None, inputs: Sequence[str]) -> str:
    if slot.members:
        members = spelled(slot.members, None, inputs)
        return f"[{', '.join(f'{name}: {each}' for name, each in members.items())}] as {slot.name}_share"
    if echo := re.fullmatch(r"\W*\{\{ (\w+) \}\}\W*", slot.text):
        return f"= {echo[1]}"
    shown = slot.text.strip(" \n,")
    inside = shown.strip("<>[](){}*_ \n")
    if shown.startswith("[") and ('"' in shown or not inside):
        return "list" if re.fullmatch(r'\[\s*(?:"[^"]*",?\s*)*\]', shown) else OPEN
    inside = inside if inside.count('"') > 2 else inside.strip('"').strip("<>[]() ")
    parts = [part.strip(" \"'“”`[].").replace("N\0A", "N/A") for part in _PARTS.split(inside.replace("N/A", "N\0A"))]
    if number := _number(inside, parts):
        return (levels.spelling(slot.name, number) if levels else "") or number
    if _are_words(inside, parts):
        return _words(parts)
    if inside in ("true", "false"):
        return f"false {OPEN} true"
    # One word in a slot may be an example of a value; a sentence is none.
    told = _EXPLAINS.search(slot.name) or (shown[:1] != "<" and _EXPLAINS.search(inside))
    sample = re.fullmatch(rf"\W*(?:{_N}|x|n)\W*", inside, re.IGNORECASE) or _SCORE.search(slot.name)
    if sample or (not told and _SCORE.search(inside)):
        return (levels.spelling(slot.name) if levels else "") or OPEN
    free = told or (shown[:1] != "<" and len(inside.split()) > 1 and not re.search(r"\d|[,:/|]", inside))
    theirs = slot.name.rpartition(".")[2] in inputs  # a verdict on a text, or the text again
    return "text" if free and not theirs and not re.search(r"\b(?:null|none)\b", inside, re.IGNORECASE) else OPEN


def _number(inside: str, parts: Sequence[str]) -> str:
    """Return the spelling of a range or of listed numbers, open where more may count; empty for anything else."""
    if len(parts) > 1 and all(re.fullmatch(_N, part) for part in parts):
        values = sorted(parts, key=float)
        return f" {OPEN} ".join(map(quoted_word, values) if '"' in inside else values)  # texts, or numbers
    if not (found := _RANGE.fullmatch(inside)) or not float(found["low"]) < float(found["high"]):
        return ""
    fine = "." in found["low"] + found["high"] or re.search(r"(?i)decim|float|frac|real", found["told"])
    low, high = (found[end].removesuffix(".0") for end in ("low", "high"))
    span = f"{low}{' to ' if low.startswith('-') else '-'}{high}"
    span += f" by {OPEN}" if fine or (low, high) == ("0", "1") else ""
    return span + f" {OPEN}" * bool(re.search(r"\w", found["more"]))


def _are_words(inside: str, parts: Sequence[str]) -> bool:
    """Return whether the slot holds words to choose from: behind bars, in quotes, or each alone behind the other."""
    divided = re.search(rf"[|/]|\s{_OR}\s", inside) and (
        re.search(r"[|/]", inside) or inside.count('"') == 2 * len(parts) or not any(" " in part for part in parts)
    )
    return bool(divided) and 1 < len(parts) <= 12 and len({*parts}) == len(parts) and all(map(_WORD.fullmatch, parts))


def _words(parts: Sequence[str]) -> str:
    lower = [part.lower() for part in parts]
    for low, high in _ORDERED:
        if sorted(lower) == sorted((low, high)):
            return " < ".join(quoted_word(parts[lower.index(word)]) for word in (low, high))
    return f" {OPEN} ".join(map(quoted_word, parts))
