"""Reads and writes the record beside fetched weights, by which a copy can be checked without a network."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from pathway_local.errors import EngineError
from pathway_local.judges.weights import file_hash, read_json
from pathway_local.system.output_file import output_file

RECORD = "fetched.json"
TAKEN = ("*.safetensors", "*.json", "*.jinja", "tokenizer.model", "merges.txt")
"""Files to fetch and record: weights, and the texts that describe model, tokenizer and chat template."""


@dataclass(frozen=True, slots=True)
class Fetched:
    """A fetch: its commit, the SHA-256 of all files (`weights_hash`) and of each."""

    source: str
    revision: str
    sha256: str
    files: dict[str, str]


def read_record(folder: Path) -> Fetched | None:
    """Return the record beside weights that were fetched. Raises EngineError for a broken one."""
    path = folder / RECORD
    if not path.is_file():
        return None
    found = read_json(path)
    source, revision, sha256, files = (found.get(key) for key in ("source", "revision", "sha256", "files"))
    if not (isinstance(source, str) and isinstance(revision, str) and isinstance(sha256, str)):
        hint = "Delete it and fetch the judge again; that fetch then trusts what it gets, as the first one did."
        raise EngineError(f"{path} is not a valid record of a fetch", hint)
    named = files if isinstance(files, dict) else {}
    return Fetched(source, revision, sha256, {str(name): str(digest) for name, digest in named.items()})


def changed_files(folder: Path, record: Fetched) -> list[str]:
    """Return the files of the record that are gone or have changed, in order."""
    now = file_hashes(folder)
    return sorted(name for name, digest in record.files.items() if now.get(name) != digest)


def write_record(folder: Path, record: Fetched) -> None:
    """Write the record beside the weights, over an earlier one. Raises UsageError if it can't be written."""
    with output_file(folder / RECORD, force=True) as file:
        file.write(f"{json.dumps(asdict(record), indent=2)}\n".encode())


def file_hashes(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file that a fetch would take, by its name."""
    taken = {path for pattern in TAKEN for path in folder.glob(pattern) if path.name != RECORD}
    return {path.name: file_hash(path) for path in sorted(taken)}
