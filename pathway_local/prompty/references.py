"""Replaces references in front matter, ${env:NAME} and ${file:PATH}, if the user allows it."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import REFERENCE, SERVERS, split_front_matter
from pathway_local.system.safe_yaml import load_yaml

LIMIT = 1_000_000
"""Bytes that a file in a reference has at most."""


def resolved(text: str, path: Path) -> str:
    """Return the text of the rubric at `path` with values in place of its references.

    Settings of a server are dropped: no server is called, and its key must not get into a run. Raises RubricError for
    a variable that is not set and for a file outside the rubric's folder.
    """
    if not text.lstrip("\ufeff").startswith("---"):
        return text
    matter, body, _ = split_front_matter(text, str(path))
    front = load_yaml(matter, str(path), RubricError, first_line=2)
    if not isinstance(front, Mapping) or not REFERENCE.search(matter):
        return text
    kept = dict(front)
    if isinstance(kept.get("model"), Mapping):
        kept["model"] = {key: value for key, value in kept["model"].items() if key not in SERVERS}
    written = yaml.safe_dump(_looked_up(kept, path), sort_keys=False, allow_unicode=True, width=1000)
    return f"---\n{written}---\n{body}"


def _looked_up(value: object, path: Path) -> object:
    if isinstance(value, Mapping):
        return {key: _looked_up(inner, path) for key, inner in value.items()}
    if isinstance(value, list):
        return [_looked_up(inner, path) for inner in value]
    if not isinstance(value, str):
        return value
    whole = REFERENCE.fullmatch(value.strip())
    if whole and whole.group(1).lower() == "file":
        return _file(whole.group(2), path)
    return REFERENCE.sub(lambda found: _text(found, path), value)


def _text(found: re.Match[str], path: Path) -> str:
    kind, name, default = found.groups()
    if kind.lower() == "file":
        return str(_file(name, path))
    said = os.environ.get(name, default)
    if said is None:
        raise RubricError(f"{path}: the variable {name} is not set", f"Set it, or write ${{env:{name}:DEFAULT}}.")
    return said


def _file(name: str, path: Path) -> object:
    """Return the content of a file in the rubric's folder: a value if it is JSON, else its text."""
    folder = path.resolve().parent
    wanted = (folder / name).resolve()
    if not wanted.is_relative_to(folder):
        raise RubricError(f"{path}: {name} lies outside the rubric's folder", "Move the file beside the rubric.")
    try:
        data = wanted.read_bytes()[: LIMIT + 1]
        if len(data) > LIMIT:
            raise RubricError(f"{path}: {name} is larger than {LIMIT} bytes", "Use a smaller file.")
        text = data.decode()
        value: object = json.loads(text) if wanted.suffix == ".json" else text
        return value
    except (OSError, ValueError) as error:
        raise RubricError(f"{path}: {name} can't be read ({type(error).__name__})", "Check its path.") from None
