"""Turns a prompt into a rubric: writes front matter from what it finds, and keeps the prompt byte for byte."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from pathway_local.adopt.finding import Finding, Source
from pathway_local.adopt.formats import FoundFormat, closing, find_format, score_line
from pathway_local.adopt.front_matter import MARK, FrontMatterEntry, write_front
from pathway_local.adopt.inputs import FoundInput, find_inputs, findings
from pathway_local.adopt.placeholders import Placeholders, find_placeholders, shown
from pathway_local.adopt.questions import Ask, asked_format, asked_inputs
from pathway_local.adopt.schemas import schema_candidates
from pathway_local.errors import RubricError, UsageError
from pathway_local.prompty.prompty_file import MOST_INPUTS, ROLE, SYNTAXES, split_front_matter, text_of
from pathway_local.system.safe_yaml import load_yaml

INPUT_KEYS = {"inputs", "inputSchema", "sample"}
OUTPUT_KEYS = {"outputs", "outputSchema"}

PLACES = {
    "jinja2": "{{name}}, as Prompty writes it",
    "braces": "{name}, with {{ and }} for braces",
    "single-braces": "{name}; other braces are text",
    "double-braces": "{{name}}; other braces are text",
    "none": "none: the prompt becomes the system turn, the inputs follow in the user turn",
}


@dataclass(frozen=True, slots=True)
class Adoption:
    """The new rubric's bytes, the findings, and the number of open points in it."""

    data: bytes
    findings: tuple[Finding, ...]
    unsettled: int


def adopt(data: bytes, where: str, *, layout: str = "", ask: Ask | None = None) -> Adoption:
    """Make a rubric of the prompt in `data`; `where` is its path. Raises RubricError.

    `layout` is `score-line` for a prompt that asks for no format. `ask` puts uncertain points to the user. A point that
    nobody settles gets a marked line in the rubric.
    """
    prompt = _read(data, where)
    inputs = prompt.inputs()
    if ask:
        inputs = asked_inputs(inputs, ask)
    format_ = _format(prompt, [found.name for found in inputs], layout, where)
    if ask and format_:
        format_ = asked_format(format_, ask)
    written = write_front(_entries(prompt, inputs, format_, layout, where))
    table = (
        Finding("places", PLACES[prompt.placeholders.syntax]),
        *findings(inputs, prompt.source),
        *(format_.findings if format_ else ()),
    )
    return Adoption(prompt.with_front(written).encode(), table, written.count(MARK))


@dataclass(frozen=True)
class _Prompt:
    """A prompt in parts: its front matter as text and as values, and its body."""

    head: str
    body: str
    front: Mapping[str, object]
    placeholders: Placeholders
    source: Source

    @property
    def roles(self) -> bool:
        """Whether the text begins with a role marker: further down, such a line belongs to an example."""
        first = next((line for line in self.body.splitlines() if line.strip()), "")
        return bool(self.head) or bool(ROLE.match(first))

    def inputs(self) -> list[FoundInput]:
        """Return the inputs that the front matter declares, or else those found in the text."""
        declared = self.front.get("inputs", self.front.get("inputSchema"))
        names = [str(name) for name in declared] if isinstance(declared, Mapping) else []
        return find_inputs(self.source, self.placeholders, names)

    def with_front(self, written: str) -> str:
        """Return the new file: `written` ends the existing front matter, or becomes the front matter."""
        if not self.head:
            return f"---\n{written}---\n{self.body}"
        end = re.search(r"^---[ \t]*\r?\n?\Z", self.head, re.MULTILINE)
        assert end is not None
        return f"{self.head[: end.start()]}{written}{self.head[end.start() :]}{self.body}"


def _read(data: bytes, where: str) -> _Prompt:
    text = text_of(data, where)
    head, body, first_line, front = "", text, 1, {}
    if re.match(r"\ufeff?---[ \t]*\r?\n", text):
        matter, body, first_line = split_front_matter(text, where)
        head = text[: len(text) - len(body)]
        read = load_yaml(matter, where, RubricError, first_line=2)
        if not isinstance(read, Mapping):
            raise RubricError(f"{where}: the front matter has no keys", "Remove its two --- lines, or add keys.")
        front = {str(key): value for key, value in read.items()}
    source = Source(body.replace("\r\n", "\n"), first_line)
    found = find_placeholders(source)
    if len(found.rows) > MOST_INPUTS:
        raise RubricError(f"{where}: {len(found.rows)} names stand in braces", f"The limit is {MOST_INPUTS} inputs.")
    declared = front.get("template")
    named = str(declared.get("format", "")) if isinstance(declared, Mapping) else str(declared or "")
    if named in SYNTAXES:
        found = replace(found, syntax=SYNTAXES[named])
    return _Prompt(head, body, front, found, source)


def _format(prompt: _Prompt, names: Sequence[str], layout: str, where: str) -> FoundFormat | None:
    """Return the format that the prompt asks for; None if its front matter declares one already."""
    declared = next((prompt.front[key] for key in OUTPUT_KEYS if key in prompt.front), None)
    if isinstance(declared, Mapping) and "layout" in declared:
        return None
    source = replace(prompt.source, text=shown(prompt.source.text, prompt.placeholders.syntax))
    found = find_format(source, names, list(schema_candidates(declared)))
    if layout and found:
        said = f"{where} line {found.findings[0].line}: the prompt already asks for a format"
        raise UsageError(said, "Leave out --layout: it is for prompts that ask for no format.")
    if not found and not layout:
        said = f"{where}: the text asks for no output format with a score; it looks like a rubric for people"
        raise RubricError(said, "Use the standard format: add --layout score-line.")
    return found or score_line(source)


def _entries(
    prompt: _Prompt, inputs: Sequence[FoundInput], found: FoundFormat | None, layout: str, where: str
) -> Iterator[FrontMatterEntry]:
    """Yield the keys that the front matter still needs."""
    if not prompt.head:
        yield FrontMatterEntry("name", _name(where))
    if not INPUT_KEYS & prompt.front.keys():
        doubts = {one.name: one.doubt for one in inputs if one.doubt}
        yield FrontMatterEntry("inputs", {one.name: _declared(one) for one in inputs}, doubts)
    template = {} if prompt.placeholders.syntax == "jinja2" and prompt.roles else _template(prompt)
    if layout and found:
        template = {**_template(prompt), "closing": closing(found)}
    if template and "template" not in prompt.front:
        yield FrontMatterEntry("template", template)
    if found and not OUTPUT_KEYS & prompt.front.keys():
        fields = {name: declared.field for name, declared in found.fields.items()}
        doubts = {name: declared.doubt for name, declared in found.fields.items() if declared.doubt}
        yield FrontMatterEntry("outputs", fields, doubts, layout=found.layout, layout_doubt="; ".join(found.doubts))
        if found.rules and "rules" not in prompt.front:
            yield FrontMatterEntry("rules", found.rules)


def _name(where: str) -> str:
    return re.sub(r"[^\w.-]+", "-", PurePath(where).stem).strip("-") or "rubric"


def _template(prompt: _Prompt) -> dict[str, object]:
    return {"format": prompt.placeholders.syntax, "parser": "prompty" if prompt.roles else "text"}


def _declared(found: FoundInput) -> dict[str, object]:
    said = {"description": found.said} if found.said else {}
    return {"type": "string", **said, "empty": "judge" if found.empty else "fail"}
