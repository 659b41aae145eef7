"""The words of pages and terminals: one file per language, by key, and how the language writes numbers."""

from pathlib import Path

FOLDER = Path(__file__).parent


def languages() -> list[str]:
    """The languages that have a file of words, by their names: `de`, `en` …"""
    return sorted(path.stem for path in FOLDER.glob("*.yaml"))
