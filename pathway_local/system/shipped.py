"""Finds the package, and what ships beside its code: `models.yaml`, `prompts/` and the pages of `docs/`."""

import os
import re
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

from pathway_local.errors import UsageError

_PACKAGE = Path(__file__).resolve().parents[1]


def shipped(name: str) -> Path:
    """Return the file or folder of that name: in the repository's root, or packaged in a wheel."""
    checkout = _PACKAGE.parent / name
    if (_PACKAGE.parent / "pyproject.toml").is_file() and checkout.exists():
        return checkout
    packaged = _PACKAGE / "_shipped" / name
    if packaged.exists():
        return packaged
    raise UsageError(f"this installation lacks {name}", "Install pathway-local again.")


def with_pages(text: str) -> str:
    """Return a message with the place of each page that it names, such as docs/judges.md, if a wheel brought it."""

    def place(found: re.Match[str]) -> str:
        packaged = _PACKAGE / "_shipped" / found[0]
        return str(packaged) if packaged.is_file() else found[0]

    return re.sub(r"\bdocs/[\w-]+\.md\b", place, text)


def packaged_folder(name: str) -> Path:
    """Return the folder of that name inside the package; it may not exist yet."""
    return _PACKAGE / name


def python_path() -> str:
    """Return the PYTHONPATH with which another Python finds this package."""
    return os.pathsep.join(filter(None, [str(_PACKAGE.parent), os.environ.get("PYTHONPATH")]))


def similar_file(path: Path) -> str:
    """Return a question that names the file beside `path` with the most similar name; "" if none is similar."""
    try:
        names = [each.name for each in path.parent.iterdir() if each.is_file()]
    except OSError:
        return ""
    near = get_close_matches(path.name, names, n=1, cutoff=0.7)
    same_stem = [name for name in names if Path(name).stem == path.stem]
    found = next(iter((*near, *same_stem)), "")
    return f"Did you mean {quote(str(path.with_name(found)))}?" if found and found.isprintable() else ""
