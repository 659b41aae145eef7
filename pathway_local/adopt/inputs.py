"""The inputs of a prompt: those that it marks with braces, or those that it only mentions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from pathway_local.adopt.finding import Finding, Source
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
    """An input: its name, what the prompt says of it, and whether it may be empty."""

    name: str
    said: str
    row: int
    empty: bool
    doubt: str = ""


def find_inputs(source: Source, placeholders: Placeholders, declared: Iterable[str] = ()) -> list[FoundInput]:
    """Return the inputs in the order of the prompt, or the `declared` ones if there are any."""
    names = list(declared)
    if names:
        return [_described(source, name, placeholders.rows.get(name, -1)) for name in names]
    if placeholders.rows:
        unsure = "{} may be an input, or a blank for the judge to fill in"
        blanks = placeholders.unsure | {name for name in placeholders.rows if OUTPUT_WORDS.fullmatch(name)}
        doubts = {name: unsure.format(name) for name in blanks}
        return [_described(source, name, row, doubts.get(name, "")) for name, row in placeholders.rows.items()]
    found = mentioned(source)
    if found:
        return [_described(source, name, row) for name, row in found]
    doubt = "the prompt does not name its inputs; these names are a guess"
    return [FoundInput(name, "", -1, False, doubt) for name in GUESS]


def findings(inputs: Iterable[FoundInput], source: Source) -> Iterator[Finding]:
    """Yield one row of the table of findings for each input."""
    for found in inputs:
        value = f"{found.name} (may be empty)" if found.empty else found.name
        yield Finding("input", value, source.line(found.row) if found.row >= 0 else 0, found.doubt)


def _described(source: Source, name: str, row: int, doubt: str = "") -> FoundInput:
    found = [said for line in source.lines if (said := _said_of(name, line))]
    # A label that comes several times stands in examples, where a case follows it and not a description.
    said = found[0] if len(found) == 1 else ""
    return FoundInput(name, said[:200], row, any(_BLANK.search(text) for text in found), doubt)


def _said_of(name: str, line: str) -> str:
    head = re.sub(r"[{}]", "", line) if line.count("{") == 1 and _HEADS.match(line) else line
    listed = LISTED.match(head)
    named = listed is not None and identifier(listed.group(1)) == name
    return listed.group(2).strip() if listed and named and "{" not in listed.group(2) else ""
