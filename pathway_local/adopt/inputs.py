"""The inputs of a prompt: those that it marks with braces, or those that it only mentions."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from itertools import islice

from pathway_local.adopt.finding import Finding, Source
from pathway_local.adopt.placeholders import Placeholders

GUESS = ("question", "answer")
MOST_VERBS, LONGEST_SENTENCE = 200, 400
"""How many sentences are searched for inputs, and their characters: prompts have far fewer of both."""

OUTPUT_WORDS = re.compile(r"score|rating|grade|verdict|reason(ing)?|explanation|feedback|justification", re.IGNORECASE)

_READS = re.compile(
    r"\b(?:read|given|received?|provided with|access to|compare|consider|review|consists? of|contains?)\b[:,]?\s",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^[#*\s]*(?:the\s+)?(?:inputs?|data)\b[^.]{0,40}$", re.IGNORECASE)
_LISTED = re.compile(
    r"^\s*(?:(?:[-*•+]|\d+[.)])\s*)?[*_`\"'\[]*([A-Za-z][\w -]{0,30}?)[*_`\"'\]]*\s*(?::|-|–|—)[*_]*\s+(\w.*)$"
)
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
        doubts = {name: unsure.format(name) for name in placeholders.rows if OUTPUT_WORDS.fullmatch(name)}
        return [_described(source, name, row, doubts.get(name, "")) for name, row in placeholders.rows.items()]
    found = _under_heading(source) or _enumerated(source)
    if found:
        return [_described(source, name, row) for name, row in found]
    doubt = "the prompt does not name its inputs; these names are a guess"
    return [FoundInput(name, "", -1, False, doubt) for name in GUESS]


def findings(inputs: Iterable[FoundInput], source: Source) -> Iterator[Finding]:
    """Yield one row of the table of findings for each input."""
    for found in inputs:
        value = f"{found.name} (may be empty)" if found.empty else found.name
        yield Finding("input", value, source.line(found.row) if found.row >= 0 else 0, found.doubt)


def identifier(text: str) -> str:
    """Return a name made of the words of a phrase, such as ai_answer for "AI answer"."""
    return re.sub(r"\W+", "_", re.sub(r"['’]s?\b", "", text.strip().lower())).strip("_")


def _described(source: Source, name: str, row: int, doubt: str = "") -> FoundInput:
    found = [said for line in source.lines if (said := _said_of(name, line))]
    # A label that comes several times stands in examples, where a case follows it and not a description.
    said = found[0] if len(found) == 1 else ""
    return FoundInput(name, said[:200], row, any(_BLANK.search(text) for text in found), doubt)


def _said_of(name: str, line: str) -> str:
    head = re.sub(r"[{}]", "", line) if line.count("{") == 1 and _HEADS.match(line) else line
    listed = _LISTED.match(head)
    named = listed is not None and identifier(listed.group(1)) == name
    return listed.group(2).strip() if listed and named and "{" not in listed.group(2) else ""


def _under_heading(source: Source) -> list[tuple[str, int]]:
    for row, line in enumerate(source.lines):
        if not _HEADING.match(line):
            continue
        found = []
        for below in range(row + 1, len(source.lines)):
            text = source.lines[below]
            listed = _LISTED.match(text)
            if listed:
                found.append((identifier(listed.group(1)), below))
            elif text.strip(" =-") and found:
                break
        if len(found) > 1:
            return found
    return []


def _enumerated(source: Source) -> list[tuple[str, int]]:
    """Return the names in a sentence such as "read the question, the ideal answer and the AI answer".

    A name counts only if the prompt uses it elsewhere too, or any listing of things would yield inputs.
    """
    best: list[tuple[str, int]] = []
    whole = source.text.lower()
    named_again = cache(lambda item: whole.count(item) > 1)
    verbs = ((row, line, verb) for row, line in enumerate(source.lines) for verb in _READS.finditer(line))
    for row, line, verb in islice(verbs, MOST_VERBS):
        told = _sentence(line[verb.end() : verb.end() + LONGEST_SENTENCE])
        items = [_item(item) for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", told)]
        real = [item for item in items if item and named_again(item.lower())]
        if len(real) == len(items) > max(1, len(best)):
            best = [(identifier(item), row) for item in real]
    return best


def _sentence(text: str) -> str:
    return re.split(r"[.;:(]|,?\s+then\b|\s+to\s", text)[0]


def _item(text: str) -> str:
    bare = re.sub(r"^(?:the|a|an|both|all|each|its|following)\s+", "", text.strip(" *_`\"'"), flags=re.IGNORECASE)
    return bare if re.fullmatch(r"[A-Za-z][\w'-]*(?: [A-Za-z][\w'-]*){0,2}", bare) else ""
