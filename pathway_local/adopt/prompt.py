"""A prompt as it stands in its file: front matter, body, and the marks of its inputs."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from pathway_local.errors import RubricError
from pathway_local.rubrics.front_matter import write_front
from pathway_local.rubrics.placeholders import JINJA, Placeholders, find_placeholders
from pathway_local.rubrics.prompty_file import (
    ROLE,
    checked_turn,
    declared_inputs,
    read_template,
    split_front_matter,
    text_of,
)
from pathway_local.rubrics.turn import MARKS
from pathway_local.system.safe_yaml import Places, load_yaml

_CHAT = (
    r"<\|(?:im_start|im_end|start_header_id|begin_of_text|eot_id|system|user|assistant)\|>|<start_of_turn>|\[/?INST\]|<<SYS>>",
    "is a token of one model's chat template",
    "Write a line system: or user: above each turn instead; the judge's own template writes its tokens.",
)
_BLOCKS = (
    r"\{\{\s*[#/^>][^{}\n]*\}\}",
    "is no mark that a rubric can have",
    "Write {{ name }} for an input and {% if name %} to choose, or go through the messages of one.",
)
"""Marks of other tools that no rubric can have: a pattern, the error about it, and the hint."""


@dataclass(frozen=True)
class Source:
    """A prompt's text as the judge reads it; its first line has the number `first_line` in the file."""

    text: str
    first_line: int = 1

    @cached_property
    def lines(self) -> list[str]:
        """The beginnings of the text's lines, without line ends."""
        return [line[:2000] for line in self.text.split("\n")]

    def row(self, offset: int) -> int:
        """Return the index in `lines` of the line at this offset."""
        return self.text.count("\n", 0, offset)

    def line(self, row: int) -> int:
        """Return the number in the file of the line with this index."""
        return row + self.first_line


@dataclass(frozen=True)
class Prompt:
    """A prompt in parts: front matter as text and as values, the inputs `declared` there, and the body."""

    head: str
    body: str
    front: Mapping[str, object]
    declared: tuple[str, ...]
    placeholders: Placeholders
    source: Source

    @property
    def roles(self) -> bool:
        """Whether the text begins with a role marker: further down, such a line belongs to an example."""
        return bool(self.head) or bool(ROLE.match(self.body.lstrip()))

    def with_front(self, added: Mapping[str, object], end: str) -> str:
        """Return the new file: these keys take the place of those in the front matter, or begin one; then `end`."""
        begin = re.sub(r"^---[ \t]*\r?\n?\Z", "", self.head, flags=re.MULTILINE) or "---\n"
        closed = self.head[len(begin) :] or "---\n"
        keys = "outputs|outputSchema" + "|inputs|inputSchema" * ("inputs" in added)
        kept = re.sub(rf"(?m)^(?:{keys}):.*\n(?:[ \t]+.*\n|[ \t]*\r?\n)*", "", begin)  # with all that is indented below
        return kept + write_front(added) + end + closed + self.body


def read_prompt(data: bytes, where: str) -> Prompt:
    """Return the prompt in these bytes of the file `where`. Raises RubricError."""
    text = text_of(data, where)
    head, body, first_line, front, matter = "", text, 1, {}, ""
    if re.match(r"\ufeff?---[ \t]*\r?\n", text):
        matter, body, first_line = split_front_matter(text, where)
        head = text[: len(text) - len(body)]
        read = load_yaml(matter, where, RubricError, first_line=2)
        if not isinstance(read, Mapping):
            raise RubricError(f"{where}: the front matter has no keys", "Remove its two --- lines, or add keys.")
        front = {str(key): value for key, value in read.items()}
    places = Places(matter, where, first_line=2)
    inputs = tuple(declared_inputs(front, places))
    # A prompt that is cut out of a program's source may say: answer \"yes\" or \"no\".
    lines = [each if '":' in each else each.replace('\\"', '"') for each in body.split("\n")]
    # Patterns would try every way to share a long run of blanks.
    source = Source(re.sub(r"[ \t]{12,}", " " * 12, "\n".join(lines).replace("\r\n", "\n")), first_line)
    for strange, said, hint in (_CHAT, _BLOCKS):
        if found := re.search(strange, source.text):
            line = source.line(source.row(found.start()))
            raise RubricError(f"{where} line {line}: {found[0][:60]} {said}", hint)
    marks = find_placeholders(source.text, inputs)
    if marks.syntax != "jinja2" and JINJA.search(source.text):
        checked_turn("user", source.text, where, first_line)  # refuses marks that would reach the judge
    if "template" in front:
        marks = replace(marks, syntax=read_template(front["template"], places).syntax)
    if marks.syntax == "braces":
        plain = MARKS["braces"].sub(lambda mark: mark[0][0] if mark[0] in ("{{", "}}") else mark[0], source.text)
        source = replace(source, text=plain)
    return Prompt(head, body, front, inputs, marks, source)
