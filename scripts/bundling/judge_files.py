"""A judge's files as a bundle holds them: in a folder of the name by which it is found, with a record of hashes."""

import re
import subprocess
import sys
from pathlib import Path

from bundling.parts import put
from pathway_local.errors import EngineError, UsageError, WeightsMissing
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import (
    PACKAGE,
    RECORD,
    Fetched,
    changed_files,
    file_hashes,
    is_hub_id,
    read_record,
    weights_hash,
)
from pathway_local.system.shipped import shipped

_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)


def put_judge(name: str, judges: Path, part_bytes: int | None) -> None:
    """Put a judge's files into a folder of `judges`, fetching them if they are not on this disk.

    Raises PathwayError, also for files that have changed since they were fetched.
    """
    spec = load_registry().get(name)
    if spec.source.startswith(PACKAGE):
        print(f"note: judge {spec.name!r} comes with the installation", file=sys.stderr)
        return
    folder = _folder(spec)
    print(f"copying judge {spec.name!r} from {folder}", file=sys.stderr, flush=True)
    record = _record(spec, folder)
    target = judges / spec.name
    for file in record.files:
        if not _NAME.fullmatch(file):
            raise UsageError(
                f"judge {name!r}: {folder} holds a file {ascii(file)[:80]}", "Rename it: use a-z, 0-9 . - _"
            )
        put(folder / file, target / file, part_bytes)
    (target / RECORD).write_bytes(record.as_json())
    if spec.origin not in (FOLDER, str(shipped("models.yaml"))):
        print(f"note: {spec.name!r} has an entry in {spec.origin}: copy that, too", file=sys.stderr)


def _folder(spec: JudgeSpec) -> Path:
    try:
        return weights_folder(spec)
    except WeightsMissing:
        if not is_hub_id(spec.source):
            raise
    command = [str(Path(sys.executable).with_name("pathway-local")), "judges", "fetch", spec.name]
    if code := subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise EngineError(f"judge {spec.name!r} could not be fetched (exit code {code})", "The message above says why.")
    return weights_folder(spec)


def _record(spec: JudgeSpec, folder: Path) -> Fetched:
    """Return a record of the folder as it is now. Raises EngineError if a fetched file has changed."""
    before = read_record(folder)
    if before and (changed := changed_files(folder, before)):
        said = f"judge {spec.name!r}: {changed[0]} in {folder} has changed since it was fetched"
        raise EngineError(said, f"If you did not change it: delete {folder} and fetch it again.")
    # A folder of your own is recorded by its name: its path means nothing on the other machine.
    source = spec.source if is_hub_id(spec.source) else spec.name
    revision = before.revision if before else spec.revision or ""
    return Fetched(source, revision, weights_hash(folder), file_hashes(folder))
