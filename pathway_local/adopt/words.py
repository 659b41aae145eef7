"""The words of languages by which a prompt is read: `words.yaml` is their only table."""

import re
from functools import cache
from pathlib import Path
from typing import Any

from pathway_local.system.safe_yaml import load_ours


@cache
def table() -> dict[str, Any]:
    """Return the table of words."""
    return dict(load_ours(Path(__file__).with_suffix(".yaml")))


@cache
def any_of(group: str) -> re.Pattern[str]:
    """Return a pattern for any word of a group."""
    words = re.sub(r"\|\s+", "|", table()[group])
    return re.compile(rf"(?<!\w)(?:{words})(?!\w)", re.IGNORECASE)


def is_in(group: str, text: str) -> bool:
    """Return whether the whole text is a word of the group."""
    return any_of(group).fullmatch(text.strip()) is not None
