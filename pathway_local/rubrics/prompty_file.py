"""Prompty files: YAML front matter, then a prompt in turns, each below a line with its role."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import cast

from jinja2 import TemplateSyntaxError

from pathway_local.errors import RubricError
from pathway_local.rubrics.front_matter import ModelBlock, read_model
from pathway_local.rubrics.turn import Turn, read_turn
from pathway_local.system.safe_yaml import Places, load_yaml

# No two patterns for blanks are adjacent: on a long line of blanks, they would try every way to share them.
ROLE = re.compile(
    r"^[ \t]*(?:#[ \t]*)?(system|user|assistant|developer)[ \t]*:[ \t]*\r?$", re.MULTILINE | re.IGNORECASE
)
KEYS = {
    *("name", "description", "version", "authors", "tags", "base", "model", "inputs", "outputs", "sample", "template"),
    *("$schema", "id", "kind", "displayName", "metadata", "inputSchema", "outputSchema", "tools"),
    *("notes", "people", "rules", "swap"),
}
"""The keys of Prompty's version 1, of version 2, and our own."""

LIMIT = 400_000
"""Characters of a rubric's file at most; the longest prompts for judges have about ten thousand."""

MOST_INPUTS = 64

TEMPLATES = ("jinja2", "jinja", "mustache")
"""Names of template languages in which {{ name }} inserts an input."""

REFERENCE = re.compile(r"\$\{(?:env|file):[^}\n]*\}", re.IGNORECASE)
"""${env:NAME} or ${file:PATH}, which other programs look up."""
SERVERS = ("configuration", "connection")
"""Keys of `model:` that are never read, since no server is called."""


@dataclass(frozen=True, slots=True)
class Prompty:
    """The parts of a Prompty file.

    `outputs` and `rules` are as the file writes them, or None; `declared` says whether the file names its inputs.
    `body` is the prompt as it stands; it begins at line `first_line` of the file `body_file`. A `kind` of "pair"
    compares two responses, which `swap` names. `people` tells persons how to rate.
    """

    name: str
    description: str
    inputs: Mapping[str, object]
    outputs: object
    turns: tuple[Turn, ...]
    model: ModelBlock
    notes: str
    places: Places
    body: str = ""
    body_file: str = ""
    first_line: int = 1
    rules: object = None
    declared: bool = True
    sample: Mapping[str, str] = field(default_factory=dict)
    notices: tuple[str, ...] = ()
    kind: str = ""
    swap: object = None
    people: str = ""


def parse_prompty(text: str, where: str, prompt_file: str = "") -> Prompty:
    """Read a Prompty text; errors call it `where`, and its prompt `prompt_file` if that is another file.

    Raises RubricError.
    """
    matter, body, first_line = split_front_matter(text, where)
    body_file, first_line = (prompt_file, 1) if prompt_file else (where, first_line)
    front = load_yaml(matter, where, RubricError, first_line=2)
    if not isinstance(front, Mapping) or not all(isinstance(key, str) for key in front):
        raise RubricError(f"{where}: the front matter has no keys", "Write inputs: and outputs: between the --- lines.")
    places = Places(matter, where, first_line=2)
    _check_front(front, places)
    inputs = declared_inputs(front, places)
    _check_template(front.get("template"), places)
    sample = _sample(front.get("sample"), inputs)
    names = inputs or dict.fromkeys(sample)
    return Prompty(
        name=str(front.get("name") or ""),
        description=str(front.get("description") or front.get("displayName") or ""),
        inputs=names,
        outputs=front.get("outputs", front.get("outputSchema")),
        turns=tuple(checked_turn(*part, body_file) for part in _split_roles(body, body_file, first_line)),
        model=read_model(front.get("model"), places),
        notes=str(front.get("notes") or ""),
        places=places,
        body=body,
        body_file=body_file,
        first_line=first_line,
        rules=front.get("rules"),
        declared=bool(names),
        sample=sample,
        notices=("tools are not offered to a judge",) if front.get("tools") else (),
        kind=str(front.get("kind") or ""),
        swap=front.get("swap"),
        people=people_in(front, places),
    )


def people_in(front: Mapping[str, object], places: Places) -> str:
    """Return what a rubric's keys tell people about how to rate. Raises RubricError."""
    told = front.get("people") or ""
    if not isinstance(told, str):
        raise RubricError(f"{places.of('people')}: people must be a text", "Begin it with `people: |` and indent it.")
    return told.strip()


def split_front_matter(text: str, where: str) -> tuple[str, str, int]:
    """Return the front matter, the body, and the line number of the body's first line."""
    _check_length(text, where)
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", text, re.DOTALL | re.MULTILINE)
    if not found:
        hint = "Turn a plain prompt into a rubric: `pathway-local rubrics adopt FILE -o NEW.prompty`."
        raise RubricError(f"{where}: the file has no front matter between two --- lines", hint)
    return found.group(1), text[found.end() :].removeprefix("\ufeff"), found.group().count("\n") + 1


def text_of(data: bytes, where: str) -> str:
    """Return the text of a prompt's file. Raises RubricError, with line and column, if it is not UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8")
        line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
        said = f"{where} line {line}, column {column}: byte {error.start + 1} is not UTF-8 text"
        raise RubricError(said, "Save the file as UTF-8 text.") from None
    _check_length(text, where)
    if not text.strip("\ufeff \t\r\n"):
        raise RubricError(f"{where}: the file is empty", "Write a prompt into it, or name another file.")
    return text


def _check_length(text: str, where: str) -> None:
    """Raise RubricError for a file that is longer than any judge can read."""
    if len(text) > LIMIT:
        raise RubricError(f"{where}: {len(text):,} characters are too long for a prompt", f"The limit is {LIMIT:,}.")


def _split_roles(body: str, where: str, first_line: int) -> Iterator[tuple[str, str, int]]:
    """Yield each turn's role, text and first line; a prompt without role markers is one user turn."""
    marks = list(ROLE.finditer(body))
    if not marks:
        yield "user", body, first_line
        return
    if body[: marks[0].start()].strip():
        said = f"{where} line {first_line}: text stands before the first role marker"
        raise RubricError(said, "Begin the prompt with system: or user:")
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    for mark, end in zip(marks, ends, strict=True):
        role = mark.group(1).lower()
        line = first_line + body[: mark.end()].count("\n")
        yield "system" if role == "developer" else role, body[mark.end() : end], line


def checked_turn(role: str, text: str, line: int, where: str) -> Turn:
    """Return the turn of a Jinja template that begins in this line. Raises RubricError, which names the line."""
    line += text[: len(text) - len(text.lstrip())].count("\n")
    try:
        return read_turn(role, text)
    except TemplateSyntaxError as error:
        hint = "Insert inputs as {{ name }}, choose with {% if name %}; `rubrics adopt` converts other marks of inputs."
        raise RubricError(f"{where} line {line + error.lineno - 1}: {error.message}", hint) from None


def _check_front(front: Mapping[str, object], places: Places) -> None:
    for key in front:
        if key not in KEYS:
            near = get_close_matches(key, KEYS, n=1)
            hint = f"Did you mean {near[0]!r}? " if near else ""
            raise RubricError(f"{places.of(key)}: unknown key {key!r}", f"{hint}Known are {', '.join(sorted(KEYS))}.")
    for keys, value in _values((), front):
        ignored = keys[0] == "sample" or keys[:2] in [("model", key) for key in SERVERS]
        if isinstance(value, str) and not ignored and (found := REFERENCE.search(value)):
            raise RubricError(f"{places.of(*keys)}: {found.group()} is not looked up", "Write the value itself.")


def _values(keys: tuple[str | int, ...], value: object) -> Iterator[tuple[tuple[str | int, ...], object]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _values((*keys, str(key)), inner)
    elif isinstance(value, list):
        for at, inner in enumerate(value):
            yield from _values((*keys, at), inner)
    else:
        yield keys, value


def declared_inputs(front: Mapping[str, object], places: Places) -> dict[str, object]:
    """Return the inputs by name, from v1's mapping, v2's `properties`, or a list of entries with names.

    Raises RubricError.
    """
    key = "inputs" if "inputs" in front else "inputSchema"
    declared = front.get(key) or {}
    if isinstance(declared, Mapping) and isinstance(declared.get("properties"), Mapping | list):
        declared = declared["properties"]
    if isinstance(declared, list) and all(isinstance(e, Mapping) and isinstance(e.get("name"), str) for e in declared):
        declared = {entry["name"]: {k: v for k, v in entry.items() if k != "name"} for entry in declared}
    if not isinstance(declared, Mapping) or not all(isinstance(name, str) for name in declared):
        hint = "Such as inputs: {question: {type: string}}."
        raise RubricError(f"{places.of(key)}: {key} must map names to their descriptions", hint)
    if len(declared) > MOST_INPUTS:
        raise RubricError(f"{places.of(key)}: {len(declared)} inputs are too many", f"The limit is {MOST_INPUTS}.")
    return dict(cast(Mapping[str, object], declared))


def _check_template(block: object, places: Places) -> None:
    """Raise RubricError for a template that is not Jinja's, or not in Prompty's turns."""
    parts = block if isinstance(block, Mapping) else {"format": block} if block else {}
    known = {"format": TEMPLATES, "type": TEMPLATES, "parser": ("prompty",)}
    for key, given in parts.items():
        kind = given.get("kind") if isinstance(given, Mapping) else given
        if kind not in known.get(key, ()):
            said = f"{places.of('template', str(key))}: template.{key} {str(kind)[:60]!r} is not read"
            raise RubricError(
                said, "A rubric's template is jinja2: {{ name }}. `rubrics adopt` converts other prompts."
            )


def _sample(block: object, inputs: Mapping[str, object]) -> dict[str, str]:
    """Return an example of each input: from `sample:`, from the input's own `sample`, or from v1's example values."""
    found = {name: str(value) for name, value in block.items()} if isinstance(block, Mapping) else {}
    for name, declared in inputs.items():
        if isinstance(declared, Mapping) and "sample" in declared:
            found.setdefault(name, str(declared["sample"]))
        elif isinstance(declared, str | int | float) and declared:
            found.setdefault(name, str(declared))
    return found
