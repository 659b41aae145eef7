"""Proposes the file that a user may have meant by a name that no file has."""

from difflib import get_close_matches
from pathlib import Path
from shlex import quote


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
