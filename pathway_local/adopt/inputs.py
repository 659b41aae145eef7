"""The inputs of a prompt: those that it marks with braces, or those that it only mentions."""

import re
from collections.abc import Collection
from dataclasses import dataclass

from pathway_local.adopt.finding import Source
from pathway_local.adopt.mentions import LISTED, OUTPUT_WORDS, identifier, mentioned
from pathway_local.adopt.placeholders import Placeholders

GUESS = ("question", "answer")
_HEADS = re.compile(r"^[\s\-*•+_`\"'\d.)]*\{")
_BLANK = re.compile(
    r"(?:can|may|might|could) (?:also )?be (?:empty|blank|missing|absent)|\boptional\b|\bif (?:any|available|present)\b"
    r"|\bif (?:it is |the )?\w* ?(?:is )?(?:empty|blank|missing)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class FoundInput:
    """An input: its name, what the prompt says of it, its row (-1 for none), and whether it may be empty."""

    name: str
    said: str
    row: int
    empty: bool
    doubt: str = ""


def find_inputs(source: Source, placeholders: Placeholders, declared: Collection[str]) -> list[FoundInput]:
    """Return the inputs in the order of the prompt, or the `declared` ones if there are any."""
    doubts: dict[str, str] = {}
    if declared:
        rows = {name: placeholders.rows.get(name, -1) for name in declared}
    else:
        rows = placeholders.rows or mentioned(source)
        blanks = placeholders.unsure | {name for name in placeholders.rows if OUTPUT_WORDS.fullmatch(name)}
        doubts = {name: f"{name} may be an input, or a blank for the judge to fill in" for name in blanks}
    if not rows:
        doubt = "the prompt does not name its inputs; these names are a guess"
        return [FoundInput(name, "", -1, False, doubt) for name in GUESS]
    found = []
    for name, row in rows.items():
        said = _descriptions(source, name)
        # A label that comes several times stands in examples, where a case follows it and not a description.
        description = said[0][:200] if len(said) == 1 else ""
        found.append(FoundInput(name, description, row, may_be_empty(source, name), doubts.get(name, "")))
    return found


def may_be_empty(source: Source, name: str) -> bool:
    """Return whether the prompt says that this input may be empty."""
    return any(_BLANK.search(said) for said in _descriptions(source, name))


def _descriptions(source: Source, name: str) -> list[str]:
    """Return what stands behind the input's name in lines that begin with it, such as `- **answer**: the reply`."""
    found = []
    for line in source.lines:
        head = re.sub(r"[{}]", "", line) if line.count("{") == 1 and _HEADS.match(line) else line
        listed = LISTED.match(head)
        if listed and identifier(listed.group(1)) == name and "{" not in listed.group(2):
            found.append(listed.group(2).strip())
    return found
