"""Spells a slot of a form as a field by what stands in it; `?` marks what the slot leaves open."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pathway_local.declare.levels import Levels
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
