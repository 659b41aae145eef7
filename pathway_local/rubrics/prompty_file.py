"""Prompty files: YAML front matter, then a prompt in turns, each below a line with its role."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

import yaml
from jinja2 import TemplateSyntaxError

from pathway_local.errors import RubricError
from pathway_local.rubrics.turn import Turn, read_turn
from pathway_local.system.safe_yaml import Places, load_yaml

# No two patterns for blanks are adjacent: on a long line of blanks, they would try every way to share them.
ROLE = re.compile(
    r"^[ \t]*(?:#[ \t]*)?(system|user|assistant|developer)[ \t]*:[ \t]*\r?$", re.MULTILINE | re.IGNORECASE
)
KEYS = {
    *("name", "description", "version", "authors", "tags", "base", "model", "inputs", "outputs", "sample", "template"),
    *("kind", "swap", "rules", "people", "notes", "examples", "rated_as"),
}
"""Prompty's keys, and our own."""

LIMIT = 400_000
"""Characters of a rubric's file at most; the longest prompts for judges have about ten thousand."""


@dataclass(frozen=True, slots=True)
class Prompty:
    """A Prompty file in parts: its front matter, the `places` of its keys, and its turns.

    `body` is the prompt as it stands; it begins at line `first_line` of the file.
    """

    front: Mapping[str, object]
    places: Places
    inputs: Mapping[str, object]
    turns: tuple[Turn, ...]
    body: str
    first_line: int

    def text(self, key: str) -> str:
        """Return the text of a key; empty if the file has none. Raises RubricError for anything else."""
        told = self.front.get(key) or ""
        if isinstance(told, dict | list):
            said = f"{self.places.of(key)}: {key} must be a text"
            raise RubricError(said, f"Begin it with `{key}: |` and indent it.")
        return str(told).strip()


def parse_prompty(text: str, where: str) -> Prompty:
    """Read a Prompty text; errors call it `where`. Raises RubricError."""
    matter, body, first_line = split_front_matter(text, where)
    front = read_front(matter, where)
    places = Places(matter, where, first_line=2)
    if strange := [key for key in front if key not in KEYS]:
        # It is not quoted: a line of an example that is not indented looks like a key.
        raise RubricError(f"{places.of(strange[0])}: unknown key", f"Known are {', '.join(sorted(KEYS))}.")
    turns = tuple(checked_turn(*part, where) for part in _split_roles(body, where, first_line))
    return Prompty(front, places, declared_inputs(front, places), turns, body, first_line)


def read_front(matter: str, where: str) -> dict[str, object]:
    """Return the keys of front matter. Raises RubricError."""
    front = load_yaml(matter, where, RubricError, first_line=2)
    if not isinstance(front, Mapping) or not all(isinstance(key, str) for key in front):
        raise RubricError(f"{where}: the front matter has no keys", "Write inputs: and outputs: between the --- lines.")
    return dict(front)


def declared_inputs(front: Mapping[str, object], places: Places) -> dict[str, object]:
    """Return the inputs that front matter declares, by name. Raises RubricError."""
    declared = front.get("inputs") or {}
    if not isinstance(declared, Mapping) or not all(isinstance(name, str) for name in declared):
        hint = "Such as inputs: {question: {type: string}}."
        raise RubricError(f"{places.of('inputs')}: inputs must map names to their descriptions", hint)
    return dict(cast(Mapping[str, object], declared))


def split_front_matter(text: str, where: str) -> tuple[str, str, int]:
    """Return the front matter, the body, and the line number of the body's first line."""
    _check_length(text, where)
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", text, re.DOTALL | re.MULTILINE)
    if not found:
        hint = "Turn a plain prompt into a rubric: `pathway-local rubrics adopt FILE -o NEW.prompty`."
        raise RubricError(f"{where}: the file has no front matter between two --- lines", hint)
    return found.group(1), text[found.end() :].removeprefix("\ufeff"), found.group().count("\n") + 1


def read_text(path: Path) -> str:
    """Return the text of a prompt's file, with \\n as line ends. Raises RubricError if it can't be one."""
    try:
        with path.open("rb") as file:
            data = file.read(4 * LIMIT + 1)
        text = data.decode("utf-8")
    except OSError as error:
        raise RubricError(f"{path} can't be read: {error.strerror}", "Check the path.") from None
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        said = f"{path} line {line}: byte {error.start + 1} is not UTF-8 text"
        raise RubricError(said, "Save the file as UTF-8 text.") from None
    _check_length(text, str(path))
    if not text.strip("\ufeff \t\r\n"):
        raise RubricError(f"{path}: the file is empty", "Write a prompt into it, or name another file.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _check_length(text: str, where: str) -> None:
    """Raise RubricError for a file that is longer than any judge can read."""
    if len(text) > LIMIT:
        raise RubricError(f"{where}: over {LIMIT:,} characters are too long for a prompt", "Name another file.")


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


class _Dumper(yaml.SafeDumper):
    """Writes a text of several lines as a block, where YAML can, and no alias, which our reader refuses."""

    def ignore_aliases(self, data: object) -> bool:
        return True


_TEXT = "tag:yaml.org,2002:str"
_Dumper.add_representer(
    str, lambda dumper, text: dumper.represent_scalar(_TEXT, text, style="|" if "\n" in text else None)
)


def write_front(front: Mapping[str, object]) -> str:
    """Return the keys and values as YAML lines."""
    return str(yaml.dump(dict(front), Dumper=_Dumper, width=120, allow_unicode=True, sort_keys=False))
