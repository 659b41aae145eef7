"""Finds the package, and what ships beside its code: `models.yaml`, `prompts/` and the pages of `docs/`."""

import os
import re
from pathlib import Path

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
    """Return the PYTHONPATH with which another Python, in whatever folder it runs, finds this package."""
    given = filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))
    return os.pathsep.join([str(_PACKAGE.parent), *map(os.path.abspath, given)])
