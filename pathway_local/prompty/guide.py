"""Reads the guide to a built-in rubric: its audience, its languages, and how to adapt it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pathway_local.errors import RubricError
from pathway_local.prompty.rubric_file import builtin_names
from pathway_local.system.safe_yaml import load_yaml

FILE = Path(__file__).with_name("guides.yaml")


@dataclass(frozen=True, slots=True)
class Guide:
    """Sentences about a rubric; `fit` says what another institution changes in a copy of its file."""

    audience: str
    languages: str
    fit: str


def guide_to(name: str) -> Guide | None:
    """Return the guide to the built-in rubric of that name; None for a rubric from a file."""
    if name not in builtin_names():
        return None
    read: Any = load_yaml(FILE.read_text(encoding="utf-8"), FILE.name, RubricError)
    return Guide(languages=read["languages"], **read[name])
