"""The inputs of a prompt: those that it marks, and texts that it mentions without a mark."""

import re
from dataclasses import dataclass

from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.slots import as_name
from pathway_local.adopt.words import any_of, is_in, table

_LISTED = re.compile(
    r"^\s*(?:[-*•+]|\d+[.)])?\s*[*_`\"']*\{{0,2}([A-Za-z][\w '/-]{0,30}?)\}{0,2}[*_`\"']*\s*[:–—-][*_]*\s+([^{}]{2,})$"
)
_LABEL = re.compile(r"^\s*[\[#*]*\s*([A-Za-z][\w '-]{2,30}?)\s*[\]*]*\s*:?\s*[*]*\s*$")
_TAIL = re.compile(
    r"(?i)^(?:and|the|an?|its|both|one|user'?s?)\s+|\s+(?:is|are|below|that|which|for|from|of|provided|in|based|it|by)\b.*$"
)


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs by name, each with what the prompt says of it, the rows read, and questions about them."""

    said: dict[str, str]
    empty: frozenset[str] = frozenset()
    rows: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()


def inputs_of(prompt: Prompt) -> Inputs:
    """Return the inputs in the order of the prompt, or those that its front matter declares."""
    source, names, questions = prompt.source, list(prompt.declared), list[str]()
    rows: tuple[int, ...] = ()
    if not names:
        names = list(prompt.placeholders.names)
        unsure = [name for name in names if name in prompt.placeholders.unsure or is_in("blanks", name)]
        questions = [f"is {name} an input, or a blank that the judge fills in?" for name in unsure]
    if not names or (prompt.placeholders.syntax == "none" and not prompt.declared):
        names, rows = _mentioned(source)
        lists = f"no mark shows where inputs go; line {source.line(rows[0])} lists these" if rows else ""
        questions += [f"{lists}: does the judge need no other text?"] if rows else []
    elif not prompt.declared:
        questions += [
            f'line {source.line(row)} speaks of "{said}", and no mark shows where it goes: does a text lack its place?'
            for said, row in _unmarked(source, names)
        ]
    described = {name: [each[2].strip() for line in source.lines if (each := _LISTED.match(line)) and as_name(each[1]) == name.lower()] for name in names}  # fmt: skip # noqa: E501
    empty = frozenset(name for name, said in described.items() if any(map(any_of("empty").search, said)))
    # A label that comes several times stands in examples, where a case follows it and not a description.
    once = {name: said[0][:200] if len(said) == 1 else "" for name, said in described.items()}
    return Inputs(once, empty, rows, tuple(questions))


def _mentioned(source: Source) -> tuple[list[str], tuple[int, ...]]:
    """Return the texts that a prompt without marks lists, and the rows that list them."""
    heads = {match[1]: row for row, line in enumerate(source.lines) if (match := re.match(r"^\s*[-*•]?\s*[*_]*\{(\w+)\}[*_]*\s*[:–—-]", line))}  # fmt: skip # noqa: E501
    if heads:
        return list(heads), tuple(heads.values())
    for row, line in enumerate(source.lines):
        items = [match for each in source.lines[row + 1 : row + 12] if (match := _LISTED.match(each))]
        if re.match(r"(?i)^#+\s*(?:inputs?|data)\b", line) and items:
            return [as_name(match[1]) for match in items], (row,)
    lists = [
        ([as_name(each) for each in _phrases(found[1]) if _kind(each)], source.row(found.start()))
        for found in _given(source)
    ]
    names, row = max(lists, key=lambda each: len(each[0]), default=([], 0))
    return list(dict.fromkeys(names)), (row,) if names else ()


def _given(source: Source) -> list[re.Match[str]]:
    return list(re.finditer(rf"(?i){any_of('given').pattern}:?\s+(?:carefully\s+)?((?:an?|the|two|both|its|user'?s?)\b[^.\n:;]{{3,200}})", source.text))  # fmt: skip # noqa: E501


def _phrases(said: str) -> list[str]:
    """Return the nouns of a list such as "the question, the ideal answer and a context"."""
    parts = re.split(r",\s*(?:and\s+|or\s+)?|\s+(?:and|with|to|as well as)\s+", said)
    bare = [_TAIL.sub("", _TAIL.sub("", part.strip(" *\"'`()"))).strip(" *\"'`()") for part in parts]
    return [each for each in bare if 0 < len(each.split()) <= 3]


def _kind(said: str) -> str:
    """Return which of a case's texts a noun means; a reference answer is a reference, and no answer."""
    plain = re.sub(r"[_-]", " ", said)
    return next((kind for kind, stems in table()["kinds"].items() if re.search(rf"(?i)\b(?:{stems})", plain)), "")


def _unmarked(source: Source, names: list[str]) -> list[tuple[str, int]]:
    """Return the texts that the prompt says it gives the judge, of a kind that no input has."""
    marks = [mark for name in names for mark in re.finditer(rf"[{{$<]\s*{re.escape(name)}\b", source.text)]
    before = [source.text[max(0, mark.start() - 60) : mark.start()].rstrip().split("\n")[-1] for mark in marks]
    before = [re.split(r"[.?!]\s", text)[-1] for text in before]
    have = {
        _kind(each) for each in [*names, *(word for text in before for word in re.findall(r"[A-Za-z][\w '-]*", text))]
    }
    missing: dict[str, tuple[str, int]] = {}
    for found in _given(source):
        for said in _phrases(found[1]):
            kind, others = _kind(said), set(map(_kind, said.split())) & have - {""}
            if kind in {"reference", "context", "answer"} - have and (kind == "reference" or not others):
                missing.setdefault(kind, (said, source.row(found.start(1))))
    for row, line in enumerate(source.lines[:-2]):
        label = _LABEL.match(line)
        if (
            label
            and ":" in line
            and _kind(label[1]) in {"reference", "context", "answer", "question"} - have
            and not source.lines[row + 1].strip()
        ):
            missing.setdefault(_kind(label[1]), (label[1], row))
    return list(missing.values())


def is_conversation(name: str, prompt: Prompt) -> bool:
    """Return whether an input may be a list of messages; a plain text is judged as it is."""
    stems: str = table()["kinds"]["conversation"]
    return name in prompt.placeholders.loops or re.search(rf"(?:^|_)(?:{stems})(?:_|s?$)", name.lower()) is not None
