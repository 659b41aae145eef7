"""Files of a bundle: put into it, cut into parts where they are too large, and listed with their hashes."""

import hashlib
import re
import shutil
from collections import defaultdict
from pathlib import Path

from pathway_local.errors import UsageError

SUMS = "SHA256SUMS"
"""The list of a bundle's files and their hashes, as `sha256sum --check` reads it."""

_PART = ".part-"
_ALWAYS_BYTES = 1 << 20
_BLOCK = 1 << 20
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
_LINE = re.compile(r"([0-9a-f]{64})  (\S+)")


def read_size(text: str) -> int:
    """Return the bytes that a size such as 500M or 2G means. Raises UsageError."""
    found = re.fullmatch(r"([1-9]\d{0,14})([KMG]?)", text.strip().upper())
    if not found:
        raise UsageError(f"{text[:20]!r} is not a size", "Write it like 500M or 2G.")
    return int(found[1]) * _UNITS[found[2]]


def put(source: Path, target: Path, part_bytes: int | None) -> None:
    """Copy a file to `target`, or to target.part-0000 and so on if it is larger than `part_bytes`."""
    target.parent.mkdir(parents=True, exist_ok=True)
    size = source.stat().st_size
    if part_bytes is None or size <= part_bytes:
        shutil.copyfile(source, target)
        return
    with source.open("rb") as stream:
        for number, begin in enumerate(range(0, size, part_bytes)):
            with target.with_name(f"{target.name}{_PART}{number:04}").open("xb") as part:
                left = min(part_bytes, size - begin)
                while left and (block := stream.read(min(left, _BLOCK))):
                    part.write(block)
                    left -= len(block)


def hash_files(folder: Path) -> dict[str, str]:
    """Return the SHA-256 of each file of a bundle by its name in it, in order, so that parts can be joined in order."""
    sums = dict[str, str]()
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as stream:
            sums[path.relative_to(folder).as_posix()] = hashlib.file_digest(stream, "sha256").hexdigest()
    return sums


def drop_unchanged(folder: Path, sums: dict[str, str], older: dict[str, str]) -> None:
    """Remove large wheels and files of judges that an older bundle holds as well, from the folder and from `sums`.

    A file in parts goes only if no part has changed. The project stays whole, and small files stay: they let the other
    side check what it has.
    """
    before, now = _by_file(older), _by_file(sums)
    for name, parts in now.items():
        may_go = name.startswith(("wheels/", "judges/")) and before.get(name) == parts
        if may_go and sum((folder / part).stat().st_size for part in parts) > _ALWAYS_BYTES:
            for part in parts:
                (folder / part).unlink()
                del sums[part]


def read_sums(path: Path) -> dict[str, str]:
    """Return the hashes of an older bundle's files by name. Raises UsageError."""
    hint = f"Name the {SUMS} of the bundle that is installed on the other machine."
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        raise UsageError(f"{path} can't be read", hint) from None
    found = [_LINE.fullmatch(line) for line in lines]
    if not lines or not all(found):
        raise UsageError(f"{path} is not a list of files and hashes", hint)
    return {each[2]: each[1] for each in found if each}


def write_sums(folder: Path, sums: dict[str, str]) -> str:
    """Write the list of hashes; return its own SHA-256, which stands for the whole bundle."""
    text = "".join(f"{digest}  {name}\n" for name, digest in sums.items()).encode()
    (folder / SUMS).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def _by_file(sums: dict[str, str]) -> dict[str, dict[str, str]]:
    files = defaultdict[str, dict[str, str]](dict)
    for name, digest in sums.items():
        files[name.partition(_PART)[0]][name] = digest
    return files
