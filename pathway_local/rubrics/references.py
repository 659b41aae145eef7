"""References in front matter, ${env:NAME} and ${file:PATH}, looked up where the user allows it."""

import json
import os
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import SERVERS, split_front_matter
from pathway_local.system.safe_yaml import load_yaml

LIMIT = 1_000_000
"""Bytes of a file that is referred to."""

_REFERENCE = re.compile(r"\$\{(env|file):([^}:\n]*)(?::([^}\n]*))?\}", re.IGNORECASE)


def resolved(text: str, path: Path) -> str:
    """The text of the rubric at `path` with what its references stand for.

    What configures a server is dropped: nobody is called, and a key to one has no place in a run. Raises
    RubricError for a variable that is not set, and for a file outside the rubric's folder.
    """
    if not text.lstrip("\ufeff").startswith("---"):
        return text
    matter, body, _ = split_front_matter(text, str(path))
    front = load_yaml(matter, str(path), RubricError, first_line=2)
    if not isinstance(front, Mapping) or not _REFERENCE.search(matter):
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
    whole = _REFERENCE.fullmatch(value.strip())
    if whole and whole.group(1).lower() == "file":
        return _file(whole.group(2), path)
    return _REFERENCE.sub(lambda found: _text(found, path), value)


def _text(found: re.Match[str], path: Path) -> str:
    kind, name, default = found.groups()
    if kind.lower() == "file":
        return str(_file(name, path))
    said = os.environ.get(name, default)
    if said is None:
        raise RubricError(f"{path}: the environment has no {name}", f"Set it, or write ${{env:{name}:DEFAULT}}.")
    return said


def _file(name: str, path: Path) -> object:
    """What a file beside the rubric holds: a value if it is JSON, else its text."""
    folder = path.resolve().parent
    wanted = (folder / name).resolve()
    if not wanted.is_relative_to(folder):
        raise RubricError(f"{path}: {name} lies outside the rubric's folder", "Put the file beside the rubric.")
    try:
        data = wanted.read_bytes()[: LIMIT + 1]
        if len(data) > LIMIT:
            raise RubricError(f"{path}: {name} is larger than {LIMIT} bytes", "Name a smaller file.")
        text = data.decode()
        value: object = json.loads(text) if wanted.suffix == ".json" else text
        return value
    except (OSError, ValueError) as error:
        raise RubricError(f"{path}: {name} can't be read ({type(error).__name__})", "Check that it is there.") from None
