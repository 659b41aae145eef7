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
_LEVEL = re.compile(
    r"^(?P<lead>[^\w\n]*(?:[^\W\d]+:? |))(?P<number>\d{1,2})[ *]*[^\w\s*.)][^\w\n]{0,5}(?P<name>\w[^\n]{0,200})",
    re.MULTILINE,
)
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
    """Return the only list of levels: lines that begin alike, with numbers from 0 or 1 on, up or down, and names."""
    lists = dict[str, list[re.Match[str]]]()
    for found in _LEVEL.finditer(text):
        lists.setdefault(found["lead"].strip(), []).append(found)
    levels = [each for lines in lists.values() if (each := _levels(lines, text))]
    return levels[0] if len(levels) == 1 else None


def _levels(lines: Sequence[re.Match[str]], text: str) -> Levels | None:
    numbers, begin = [int(each["number"]) for each in lines], lines[0].start()
    names = {number: _title(each["name"]) for number, each in zip(numbers, lines, strict=True)}
    steps = {two - one for one, two in pairwise(numbers)}
    told = re.search(r"\w", lines[0]["lead"]) or _HEADING.search("".join(text[:begin].splitlines(keepends=True)[-3:]))
    if steps not in ({1}, {-1}) or min(numbers) > 1 or not told or not all(names.values()):
        return None
    return Levels(names, text[begin : lines[-1].end()]) if len({*names.values()}) > 1 else None


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
    if words := _words(inside, parts):
        return words
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


def _words(inside: str, parts: Sequence[str]) -> str:
    """Return the spelling of words to choose from, behind bars or each alone; empty for anything else."""
    divided = re.search(r"[|/]", inside) or (
        re.search(rf"\s{_OR}\s", inside) and not any(" " in part for part in parts)
    )
    if not divided or not 1 < len({*parts}) == len(parts) <= 12 or not all(map(_WORD.fullmatch, parts)):
        return ""
    order = next((pair for pair in _ORDERED if {*pair} == {part.lower() for part in parts}), ())
    ranked = sorted(parts, key=lambda part: order.index(part.lower())) if order else parts
    return (" < " if order else f" {OPEN} ").join(map(quoted_word, ranked))
