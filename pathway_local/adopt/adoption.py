"""Turns a prompt into a rubric: writes front matter from what it finds, and keeps the prompt byte for byte.

Only chat tokens are replaced: a prompt in them is split into turns.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath

from jinja2 import TemplateSyntaxError

from pathway_local.adopt.chat_tokens import split_chat
from pathway_local.adopt.comparisons import HINT, comparison_format, comparison_row
from pathway_local.adopt.declaration import Declared, with_special
from pathway_local.adopt.demands import Demand
from pathway_local.adopt.finding import Finding, Source
from pathway_local.adopt.formats import FoundFormat, closing, find_format, score_line
from pathway_local.adopt.front_matter import MARK, write_front
from pathway_local.adopt.inputs import FoundInput, find_inputs
from pathway_local.adopt.number_phrases import scale_in
from pathway_local.adopt.placeholders import Placeholders, find_placeholders, shown
from pathway_local.adopt.refusals import check_verdicts, no_score
from pathway_local.adopt.schemas import schema_candidates
from pathway_local.errors import RubricError
from pathway_local.prompty.jinja_turn import jinja_turn
from pathway_local.prompty.model_block import read_model
from pathway_local.prompty.prompty_file import (
    MOST_INPUTS,
    ROLE,
    declared_inputs,
    read_template,
    split_front_matter,
    text_of,
)
from pathway_local.system.safe_yaml import load_yaml
from pathway_local.system.yaml_places import Places

Ask = Callable[[str, str], str]
"""Asks the user a question, proposes an answer, and returns the user's answer."""

INPUT_KEYS = {"inputs", "inputSchema", "sample"}
OUTPUT_KEYS = {"outputs", "outputSchema"}

_TEMPLATE = re.compile(
    r"\{%-?\s*(?:if|for|set|macro|block|include|import|from|extends|filter|call|with|raw)\b"
    r"|\{\{-?[ \t]*[A-Za-z_]\w*[ \t]*[|(.\[]"
)
"""Marks of Jinja that do more than insert an input."""

_CONVERSATION = re.compile(r"(?i)(?:\w*_)?(?:conversation|dialog|dialogue|messages|history|transcript)(?:_\w*)?")
"""Names of inputs that may be a list of messages; a plain text is judged as it is."""

PLACES = {
    "jinja2": "{{name}}, as Prompty writes it",
    "braces": "{name}, with {{ and }} for braces",
    "single-braces": "{name}; other braces are text",
    "double-braces": "{{name}}; other braces are text",
    "dollars": "$name or ${name}",
    "angles": "<name>",
    "none": "none: the prompt becomes the system turn, the inputs follow in the user turn",
}


@dataclass(frozen=True, slots=True)
class Adoption:
    """The new rubric's bytes, the findings, the reconciliation, and the number of open points in it.

    The reconciliation has rows of what the prompt demands, its line, what the format writes, and how the two differ.
    """

    data: bytes
    findings: tuple[Finding, ...]
    reconciliation: tuple[tuple[str, str, str, str], ...]
    unsettled: int


def adopt(data: bytes, where: str, *, outputs: object = None, layout: str = "", ask: Ask | None = None) -> Adoption:
    """Make a rubric of the prompt in `data`; `where` is its path. Raises RubricError.

    `outputs` declares the format, so that none is looked for. `layout` is `score-line` for the standard format, also in
    place of one that the prompt asks for. `ask` puts uncertain points to the user. A point that nobody settles gets a
    marked line in the rubric.
    """
    prompt = _read(data, where)
    inputs = find_inputs(prompt.source, prompt.placeholders, prompt.declared)
    if ask:
        inputs = _asked_inputs(inputs, ask)
    if outputs is not None and not OUTPUT_KEYS.isdisjoint(prompt.front):
        raise RubricError(f"{where}: its front matter has outputs already", "Change them there.")
    names = [each.name for each in inputs]
    found, replaced = (None, None) if outputs is not None else _format(prompt, names, layout, where)
    if ask and found:
        found = _asked_format(found, ask)
    written = _front(prompt, inputs, found, outputs, replaces=replaced is not None, where=where)
    findings = [*prompt.turns, Finding("places", PLACES[prompt.placeholders.syntax])]
    for each in inputs:
        value = f"{each.name} (may be empty)" if each.empty else each.name
        findings.append(Finding("input", value, prompt.source.line(each.row), each.doubt))
    if replaced:
        findings.append(replace(replaced.findings[0], what="replaced"))
    rows = _reconciled(found) if found and not replaced else ()
    findings += found.findings if found else ()
    return Adoption(prompt.with_front(written).encode(), tuple(findings), tuple(rows), written.count(MARK))


@dataclass(frozen=True)
class _Prompt:
    """A prompt in parts: its front matter as text and as values, the inputs `declared` there, and its body.

    `schema` is that of the reply which the front matter asks the model for, None for none.
    """

    head: str
    body: str
    front: Mapping[str, object]
    declared: tuple[str, ...]
    placeholders: Placeholders
    source: Source
    schema: object
    turns: tuple[Finding, ...] = ()

    @property
    def roles(self) -> bool:
        """Whether the text begins with a role marker: further down, such a line belongs to an example."""
        first = next((line for line in self.body.splitlines() if line.strip()), "")
        return bool(self.head) or bool(ROLE.match(first))

    def with_front(self, written: str) -> str:
        """Return the new file: `written` ends the existing front matter, or becomes the front matter."""
        if not self.head:
            return f"---\n{written}---\n{self.body}"
        end = re.search(r"^---[ \t]*\r?\n?\Z", self.head, re.MULTILINE)
        assert end is not None
        return f"{self.head[: end.start()]}{written}{self.head[end.start() :]}{self.body}"


def _read(data: bytes, where: str) -> _Prompt:
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
    source = Source(body.replace("\r\n", "\n"), first_line)
    chat = split_chat(source.text, where, first_line)
    if chat:
        body, source = chat.body, replace(source, text=chat.bare)
    found = find_placeholders(source, inputs)
    if found.syntax != "jinja2" and _TEMPLATE.search(source.text):
        _refuse_template(source, where)
    if len(found.rows) > MOST_INPUTS:
        raise RubricError(f"{where}: {len(found.rows)} names stand in braces", f"The limit is {MOST_INPUTS} inputs.")
    if "template" in front:
        found = replace(found, syntax=read_template(front["template"], places).syntax)
    schema = read_model(front.get("model"), places).schema
    return _Prompt(head, body, front, inputs, found, source, schema, chat.findings if chat else ())


def _format(
    prompt: _Prompt, names: Sequence[str], layout: str, where: str
) -> tuple[FoundFormat | None, FoundFormat | None]:
    """Return the format, None if the front matter declares one; and the prompt's own, if `layout` replaces it."""
    declared = prompt.front.get("outputs", prompt.front.get("outputSchema", prompt.schema))
    if isinstance(declared, str) or (isinstance(declared, Mapping) and not {"layout", "fields"}.isdisjoint(declared)):
        return None, None
    source = replace(prompt.source, text=shown(prompt.source.text, prompt.placeholders.syntax))
    check_verdicts(source, where)
    candidates = list(schema_candidates(declared))
    row = comparison_row(source, names)
    if row >= 0:
        if layout or "kind" in prompt.front:
            what = "--layout score-line scores one response" if layout else "its front matter has a kind already"
            raise RubricError(f"{where}: the prompt compares two responses, and {what}", HINT)
        return comparison_format(source, row, names, candidates, where), None
    found = find_format(source, names, candidates)
    if layout:
        return score_line(source), found
    if not found:
        raise no_score(source, where)
    return found, None


def _refuse_template(source: Source, where: str) -> None:
    """Raise RubricError for a Jinja template with more than inputs and tests: its marks would reach the judge."""
    try:
        jinja_turn("user", source.text)
    except TemplateSyntaxError as error:
        said = f"{where} line {source.line(error.lineno - 1)}: in the Jinja template: {error.message}"
        raise RubricError(said, "Insert inputs as {{ name }}, and choose with {% if name %}.") from None


def _reconciled(found: FoundFormat) -> Iterator[tuple[str, str, str, str]]:
    """Yield rows of what the prompt demands, its line, what the format writes, and how the two differ."""
    for place in found.candidate.places:
        declared = found.fields[place.name]
        said = " ".join((place.said or " | ".join(place.choices)).split())
        demanded = f"{place.name}: {said[:60]}{'…' * (len(said) > 60)}" if said else place.name
        row = place.row if place.row >= 0 else declared.row
        yield demanded, str(found.source.line(row) or ""), declared.said, declared.doubt
    for demand in found.unmet:
        yield demand.phrase, str(found.source.line(demand.row)), "nothing of it", "the prompt demands it"


def _front(
    prompt: _Prompt,
    inputs: Sequence[FoundInput],
    found: FoundFormat | None,
    outputs: object,
    *,
    replaces: bool,
    where: str,
) -> str:
    """Return the keys that the front matter still needs, as YAML."""
    front: dict[str, object] = {}
    doubts: dict[tuple[str, ...], str] = {}
    if not prompt.head:
        front["name"] = _name(where)
    if found and found.swap:
        front |= {"kind": "pair", "swap": found.swap}
    if INPUT_KEYS.isdisjoint(prompt.front):
        front["inputs"] = {one.name: _declared(one, prompt.placeholders) for one in inputs}
        doubts |= {("inputs", one.name): one.doubt for one in inputs}
    told = closing(found, replaces=replaces) if found else ""
    if "template" not in prompt.front and (told or prompt.placeholders.syntax != "jinja2" or not prompt.roles):
        parser = "prompty" if prompt.roles else "text"
        template = {"format": prompt.placeholders.syntax, "parser": parser, "closing": told}
        front["template"] = {key: value for key, value in template.items() if value}
    if outputs is not None:
        front["outputs"] = outputs
    if found and OUTPUT_KEYS.isdisjoint(prompt.front):
        front["outputs"] = found.outputs
        doubts["outputs", "layout"] = "; ".join(found.doubts)
        doubts |= {("outputs", "fields", name): declared.doubt for name, declared in found.fields.items()}
        if found.rules and "rules" not in prompt.front:
            front["rules"] = found.rules
        if found.unmet:
            front["settled"] = [demand.phrase for demand in found.unmet]
            # A user who asked for the standard format has settled the demands that differ from it.
            doubts |= {} if replaces else {("settled", each.phrase): _unsettled(each, found) for each in found.unmet}
    return write_front(front, doubts)


def _unsettled(demand: Demand, found: FoundFormat) -> str:
    said = f"line {found.source.line(demand.row)} demands {demand.phrase!r}, and the format does not write it"
    return f"{said}. Correct outputs and delete the line below, or keep it to do without"


def _name(where: str) -> str:
    return re.sub(r"[^\w.-]+", "-", PurePath(where).stem).strip("-") or "rubric"


def _declared(found: FoundInput, placeholders: Placeholders) -> dict[str, object]:
    conversation = found.name in placeholders.loops or _CONVERSATION.fullmatch(found.name)
    kind = "conversation" if conversation else "string"
    said = {"description": found.said} if found.said else {}
    return {"type": kind, **said, "empty": "judge" if found.empty else "fail"}


def _asked_inputs(inputs: Sequence[FoundInput], ask: Ask) -> list[FoundInput]:
    """Return the inputs after the user's answers: asks for all names if none was found, else about each doubt."""
    if all(found.doubt and found.row < 0 for found in inputs):
        proposed = ", ".join(found.name for found in inputs)
        answer = ask("Which inputs is the judge given? Separate names with commas", proposed)
        names = [name for name in re.split(r"[\s,]+", answer) if name]
        if names and all(re.fullmatch(r"[A-Za-z_]\w*", name) for name in names):
            return [FoundInput(name, "", -1, False) for name in dict.fromkeys(names)]
        return list(inputs)
    return [
        replace(found, doubt="") if found.doubt and _agrees(f"{found.doubt}. Is {found.name} an input?", ask) else found
        for found in inputs
    ]


def _asked_format(found: FoundFormat, ask: Ask) -> FoundFormat:
    """Return the format after the user's answers: asks for a scale, and for anything else whether to keep it."""
    fields = {name: _asked_field(name, declared, ask) for name, declared in found.fields.items()}
    doubts = tuple(said for said in found.doubts if not _agrees(f"{said}. Keep the format that was found?", ask))
    return replace(found, fields=fields, doubts=doubts)


def _asked_field(name: str, declared: Declared, ask: Ask) -> Declared:
    if not declared.doubt:
        return declared
    field = declared.field
    if field["type"] == "score" and "min" in field:
        proposed = f"{field['min']}-{field['max']}" + (f" in steps of {field['step']}" if "step" in field else "")
        scale = scale_in(ask(f"What is the scale of {name}?", proposed))
        if not scale:
            return declared
        settled = Declared({"type": "score", "scale": "ordinal", **scale.field}, scale.said, row=declared.row)
        # Words beyond the old scale get numbers beyond the new one.
        for word in field.get("written", {}).values():
            settled = with_special(settled, word)
        return settled
    return replace(declared, doubt="") if _agrees(f"{name}: {declared.doubt}. Keep {declared.said}?", ask) else declared


def _agrees(question: str, ask: Ask) -> bool:
    return ask(f"{question} y or n", "y").strip().lower() in ("y", "yes")
