"""The inputs of a prompt: those that it marks, and texts that it mentions without a mark."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pathway_local.adopt.prompt import Prompt, Source
from pathway_local.adopt.words import any_of, as_name, is_in, kind_of, table
from pathway_local.rubrics.turn import MARKS

_HEAD = re.compile(r"^\s*(?:[-*•+]|\d+[.)])?\s*[*_]*\{(\w+)\}[*_]*\s*[:–—-]\s*(.*)$")
_FOREIGN = re.compile(
    r"\$[A-Za-z]\w+\$|%\(\w+\)s|(?<!\w)%s|(?<!\{)\{\}(?!\})|\[\[[a-z_]\w*\]\]|(?<=: )\[[A-Z][A-Z_]{3,}\]$"
    r"|\$\{[^{}\n]{1,200}\}|\{\w+(?:\.\w+)*(?:[\[(!]|:[.\d])[^{}\n]{0,60}\}",
    re.MULTILINE,
)
"""Marks of inputs in other tools, which no rubric can have: [[name]], $name$, %(name)s, {name[:200]} …"""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The inputs by name, each with what the prompt says of it, the rows read, and questions about them.

    `foreign` asks about marks of other tools: they stay in the prompt, whatever a person names as its inputs.
    """

    said: dict[str, str]
    rows: tuple[int, ...] = ()
    questions: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()

    @property
    def asked(self) -> tuple[str, ...]:
        """All questions."""
        return self.questions + self.foreign


def inputs_of(prompt: Prompt) -> Inputs:
    """Return the inputs in the order of the prompt, or those that its front matter declares."""
    source, marks, names = prompt.source, prompt.placeholders, ", ".join(prompt.placeholders.names)
    lacking = [name for name in marks.names if name not in prompt.declared]
    if prompt.declared and (not lacking or marks.syntax == "none"):
        return Inputs(dict.fromkeys(prompt.declared, ""))
    foreign = tuple(
        f"is {each} the mark of an input? The judge would read it as it stands" for each in _foreign(prompt)
    )
    if not marks.names or marks.syntax == "none":
        return _listed(source, foreign)
    unsure = [name for name in marks.names if name in marks.unsure or is_in("blanks", name)]
    questions = [f"is {name} an input, or a blank that the judge fills in?" for name in unsure]
    if prompt.declared:
        questions.append(f"the front matter does not declare {', '.join(lacking)}: are all of these inputs?")
    kinds = {kind_of(name) for name in marks.names}
    lacks = {
        noun: row
        for nouns, row in (*_given(source), *_references(source))
        for noun in nouns
        if (kind := kind_of(noun)) not in kinds
        and (
            kind == "reference" or (kind in ("context", "answer") and not kinds & {*map(kind_of, noun.split())} - {""})
        )
    }
    questions += [
        f'line {source.line(row)} speaks of "{noun}": is it one of {names}, or does the judge lack a text?'
        for noun, row in lacks.items()
    ]
    if not kinds - {"", "question"}:
        questions.append(f"does the judge read no other text than {names}?")
    return Inputs(dict.fromkeys(marks.names, ""), (), tuple(questions), foreign)


def _foreign(prompt: Prompt) -> list[str]:
    """Return the marks of other tools; [[name]] is one only beside another, and $name$ only with a text's name."""
    every = [each for each in dict.fromkeys(_FOREIGN.findall(prompt.source.text)) if _is_mark(each)]
    doubled = [each for each in every if each.startswith("[[") and kind_of(each)]
    known = MARKS["dollars"] if prompt.placeholders.syntax == "dollars" else re.compile(r"(?!)")
    return [each for each in every if (each[:2] != "[[" or len(doubled) > 1) and not known.fullmatch(each)]


def _is_mark(text: str) -> bool:
    return not re.fullmatch(r"\$\w+\$", text) or text.isupper() or kind_of(text) != ""


def _listed(source: Source, foreign: tuple[str, ...]) -> Inputs:
    """Return the inputs of a prompt without marks: those that it describes, or else lists in a sentence."""
    heads = {found[1]: (found[2], row) for row, line in enumerate(source.lines) if (found := _HEAD.match(line))}
    lists = [([as_name(each) for each in nouns if kind_of(each)], row) for nouns, row in _given(source)]
    names, row = max(lists, key=lambda each: len(each[0]), default=([], 0))
    said = {name: told[:200] for name, (told, _) in heads.items()} or dict.fromkeys(names, "")
    rows = tuple(row for _, row in heads.values()) or (row,)
    asked = (
        f"I found no mark where inputs go; line {source.line(rows[0])} lists these: does the judge need no other text?"
    )
    # Beside marks of another tool, a list is a sentence about them.
    return Inputs(said, rows, (asked,), foreign) if said and not foreign else Inputs({}, foreign=foreign)


def places_of(name: str, text: str) -> list[int]:
    """Return where an input's marks begin."""
    return [mark.start() for mark in re.finditer(rf"[{{$<]\s*\$?{name.replace('_', '[_.]')}\b", text)]


def _given(source: Source) -> Iterator[tuple[list[str], int]]:
    """Yield the nouns of each list such as "given the question, an ideal answer and a context", and its row."""
    begins = (
        rf"(?i){any_of('given').pattern}:?\s+(?:carefully\s+)?((?:an?|the|two|both|its|user'?s?)\b[^.\n:;]{{3,200}})"
    )
    tail = re.compile(rf"(?i)^{any_of('before_noun').pattern}\s+|\s+{any_of('behind_noun').pattern}.*$")
    for told in re.finditer(begins, source.text):
        parts = re.split(r",\s*(?:and\s+|or\s+)?|\s+(?:and|with|to|as well as)\s+", told[1])
        bare = [tail.sub("", tail.sub("", part.strip(" *\"'`()"))).strip(" *\"'`()") for part in parts]
        yield [each for each in dict.fromkeys(bare) if 0 < len(each.split()) <= 3], source.row(told.start(1))


def _references(source: Source) -> Iterator[tuple[list[str], int]]:
    """Yield the first name of a reference answer, which a prompt in any language may mention without "given"."""
    if found := any_of("references").search(source.text):
        yield [found[0]], source.row(found.start())


def is_conversation(name: str, prompt: Prompt) -> bool:
    """Return whether an input may be a list of messages; a plain text is judged as it is."""
    stems: str = table()["kinds"]["conversation"]
    return name in prompt.placeholders.loops or re.search(rf"(?:^|_)(?:{stems})(?:_|s?$)", name.lower()) is not None
