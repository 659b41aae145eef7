"""Writes docs/json.md from the tables that commands print: their keys, what these hold, and the tables' titles.

A person writes only what a key means, and the sentences above each section's table. `WRITE_PAGES=1 pytest
tests/test_json_page.py tests/test_self_test.py` writes the page anew; a new key then asks for its meaning.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from pathway_local.cli import results
from pathway_local.output.plain import as_json
from pathway_local.results.table import ColumnKind, Table
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.system.safe_yaml import load_yaml
from pathway_local.words import FOLDER
from pathway_local.words.language import Language

PAGE = Path(__file__).parents[1] / "docs" / "json.md"
WORDS: dict[str, dict[str, str]] = load_yaml((FOLDER / "en.yaml").read_text("utf-8"), "en.yaml", ValueError)  # type: ignore
TITLES = WORDS["sections"] | WORDS["tables"]
HEAD = "| key | holds | meaning |\n| --- | --- | --- |\n"
MISSING = "MEANING"
SHARED = "of all rows"
HOLDS: Mapping[ColumnKind, str] = {
    "word": "text",
    "levels": "levels as text",
    "key": "a word of ours",
    "rater": "rater",
    "raters": "raters",
    "case": "case id",
    "count": "whole number",
    "number": "number",
    "share": "share",
    "estimate": "figure",
    "counts": "counts by level",
}
FIGURES = ("pairs", "together")
"""Tables of agreement with a column for each coefficient."""


def noting_tables(monkeypatch: pytest.MonkeyPatch) -> list[Table]:
    """Return a list to which commands in this process add the tables that they print as JSON."""
    found: list[Table] = []

    def noted(tables: Iterable[Table], say: Language) -> list[dict[str, object]]:
        every = [*tables]
        found.extend(every)
        return as_json(every, say)

    monkeypatch.setattr(results, "plain", noted)
    return found


def check_section(command: str, tables: Iterable[Table], *, of_scores: bool = False) -> None:
    """Check the section of a command against the tables that it printed, or write it anew if it was asked for.

    With `of_scores`, tables come for each score, and what all of them share is told once.
    """
    page = PAGE.read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(command)}\n(.*?)(?=^## |\Z)", page, re.DOTALL | re.MULTILINE)
    assert found, f"docs/json.md has no section {command}"
    before, _, old = found[1].partition("| key |")
    made = f"{before}{HEAD}{''.join(_rows([*tables], _meanings(old), of_scores=of_scores))}"
    made += "\n" if found.end() < len(page) else ""
    writing = bool(os.environ.get("WRITE_PAGES"))
    if writing:
        PAGE.write_text(page[: found.start(1)] + made + page[found.end(1) :], encoding="utf-8")
    assert MISSING not in made, f"write in docs/json.md what the keys with {MISSING} mean"
    assert writing or found[1] == made, f"docs/json.md is stale in {command}: write it with WRITE_PAGES=1"


def _meanings(section: str) -> dict[str, str]:
    rows = re.findall(r"^\| (`.*?) \|(?: [^|]* \|)? (.*?) \|$", section, re.MULTILINE)
    return {key: meaning for keys, meaning in rows for key in re.findall(r"`(.*?)`", keys)}


def _rows(tables: Sequence[Table], meanings: Mapping[str, str], *, of_scores: bool) -> Iterator[str]:
    """Yield the section's rows, table by table; keys with one meaning share a row."""
    for name in dict.fromkeys(table.key for table in tables):
        held: dict[str, dict[str, None]] = {}
        for table in tables:
            for key, holds in _keys(table) if table.key == name else ():
                held.setdefault(_in_short(key) if of_scores else key, {})[holds] = None
        if of_scores:
            shared = [key for key in held if key.startswith("TABLE.")]
            if name != tables[0].key:
                held = {key: holds for key, holds in held.items() if key not in shared}
        title = re.sub(r"\{(\w+)[^}]*\}", lambda blank: blank[1].upper(), TITLES.get(name, ""))
        yield f"| **{name}** | table | {title} |\n"
        together: dict[str, list[str]] = {}
        for key in held:
            together.setdefault(meanings.get(key, f"{MISSING} of {key}"), []).append(key)
        for meaning, keys in together.items():
            kinds = ", ".join(dict.fromkeys(kind for key in keys for kind in held[key]))
            yield f"| {', '.join(f'`{key}`' for key in keys)} | {kinds} | {meaning} |\n"


def _keys(table: Table) -> Iterator[tuple[str, str]]:
    for key in table.about:
        yield f"{table.key}.{key}", SHARED
    for column in table.columns:
        if any(column.name in row for row in table.rows):
            yield f"{table.key}.{column.name}", HOLDS[column.kind]


def _in_short(key: str) -> str:
    """The key as the page has it where tables come for each score: names of coefficients and raters in capitals."""
    table, _, name = key.partition(".")
    if name in ("rubric", "score", "cluster") and key != "words.score":
        return f"TABLE.{name}"
    if name.startswith("scores."):
        return f"{table}.scores.RATER"
    return f"{table}.FIGURE" if name in COEFFICIENTS and table in FIGURES else key
