"""Cases files to draw pages from, what a page holds, and the file that it would save."""

import csv
import json
from collections.abc import Iterable, Mapping
from pathlib import Path

from html_page import PageParser, check_harmless

from pathway_local.pages.page import FOLDER
from pathway_local.rubrics.rubric import Rubric

SCRIPT = (FOLDER / "rate.js").read_text(encoding="utf-8")


def write_sheet(folder: Path, rubric: Rubric, texts: Iterable[str]) -> None:
    """Write a rubric and a cases file for it, with these texts as the last input of each case."""
    (folder / f"{rubric.name}.prompty").write_text(rubric.text, encoding="utf-8")
    *others, last = rubric.inputs
    with (folder / "cases.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *others, last, "bot"])
        for number, text in enumerate(texts, 1):
            writer.writerow([f"secret-{number}", *(f"the {name} of {number}" for name in others), text, "bot-x"])
    (folder / "cases.csv").chmod(0o600)


def parsed(path: Path) -> PageParser:
    """Return a rating page as parsed, if nothing but its own script could run."""
    return check_harmless(path.read_text(encoding="utf-8"), SCRIPT)


def rows_of(path: Path, ratings: Mapping[int, Mapping[str, object]]) -> list[dict[str, object]]:
    """Return the rows that a page saves with these ratings by the number of the case."""
    page = parsed(path)
    (main,) = page.of("main")
    empty = {**{each["data-score"]: None for each in page.of("fieldset")}, "notes": None}
    return [
        {"rating_id": each["data-id"], "rater": main["data-rater"]} | empty | ratings.get(number, {})
        for number, each in enumerate(page.of("article"), 1)
    ]


def write_rows(path: Path, rows: Iterable[Mapping[str, object]]) -> Path:
    """Write rows as a page saves them."""
    path.write_text(json.dumps(list(rows)), encoding="utf-8")
    return path
