"""The inputs that a prompt only mentions: under a heading, or in a sentence that lists them."""

import re
from functools import cache
from itertools import islice

from pathway_local.adopt.finding import Source

MOST_VERBS, LONGEST_SENTENCE = 200, 400
"""How many sentences are searched for inputs, and their characters: prompts have far fewer of both."""

OUTPUT_WORDS = re.compile(r"score|rating|grade|verdict|reason(ing)?|explanation|feedback|justification", re.IGNORECASE)

_READS = re.compile(
    r"\b(?:read|given|received?|provided with|access to|compare|consider|review|consists? of|contains?)\b[:,]?\s",
    re.IGNORECASE,
)
_HEADING = re.compile(r"^[#*\s]*(?:the\s+)?(?:inputs?|data)\b[^.]{0,40}$", re.IGNORECASE)
LISTED = re.compile(
    r"^\s*(?:(?:[-*•+]|\d+[.)])\s*)?[*_`\"'\[]*([A-Za-z][\w -]{0,30}?)[*_`\"'\]]*\s*(?::|-|–|—)[*_]*\s+(\w.*)$"
)


def mentioned(source: Source) -> dict[str, int]:
    """Return the inputs that a heading or a sentence of the prompt lists: the row of each, by its name."""
    return _under_heading(source) or _enumerated(source)


def identifier(text: str) -> str:
    """Return a name made of the words of a phrase, such as ai_answer for "AI answer"."""
    return re.sub(r"\W+", "_", re.sub(r"['’]s?\b", "", text.strip().lower())).strip("_")


def _under_heading(source: Source) -> dict[str, int]:
    for row, line in enumerate(source.lines):
        if not _HEADING.match(line):
            continue
        found: dict[str, int] = {}
        for below in range(row + 1, len(source.lines)):
            text = source.lines[below]
            listed = LISTED.match(text)
            if listed:
                found[identifier(listed.group(1))] = below
            elif text.strip(" =-") and found:
                break
        if len(found) > 1:
            return found
    return {}


def _enumerated(source: Source) -> dict[str, int]:
    """Return the names in a sentence such as "read the question, the ideal answer and the AI answer".

    A name counts only if the prompt uses it elsewhere too, or any listing of things would yield inputs.
    """
    best: dict[str, int] = {}
    whole = source.text.lower()
    named_again = cache(lambda item: whole.count(item) > 1)
    verbs = ((row, line, verb) for row, line in enumerate(source.lines) for verb in _READS.finditer(line))
    for row, line, verb in islice(verbs, MOST_VERBS):
        told = _sentence(line[verb.end() : verb.end() + LONGEST_SENTENCE])
        items = [_item(item) for item in re.split(r",\s*(?:and\s+)?|\s+and\s+", told)]
        real = [item for item in items if item and named_again(item.lower())]
        if len(real) == len(items) > max(1, len(best)):
            best = dict.fromkeys(map(identifier, real), row)
    return best


def _sentence(text: str) -> str:
    return re.split(r"[.;:(]|,?\s+then\b|\s+to\s", text)[0]


def _item(text: str) -> str:
    bare = re.sub(r"^(?:the|a|an|both|all|each|its|following)\s+", "", text.strip(" *_`\"'"), flags=re.IGNORECASE)
    return bare if re.fullmatch(r"[A-Za-z][\w'-]*(?: [A-Za-z][\w'-]*){0,2}", bare) else ""
