"""Writes the workbook that people rate in: a sheet for each evaluator with texts, a list of levels and notes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import openpyxl
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation

from pathway_local.ratings.rating_layout import HANDOUT_IDS
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.workbook import fill_cell

RATING_ID = HANDOUT_IDS[0]
NOTES = "notes"
SCALE = "scale"
TEXT_WIDTH, SCORE_WIDTH, NOTES_WIDTH = 60, 24, 40
TITLE_LIMIT = 31
"""Excel's limit for the characters of a sheet's title."""

_NOT_IN_TITLES = str.maketrans(dict.fromkeys("[]:*?/\\'", "_"))


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One case to rate: its random id, and its texts by input."""

    rating_id: str
    texts: Mapping[str, str]


def write_rating_sheet(file: BinaryIO, rubric: Rubric, sheets: Mapping[str, Sequence[RatingRow]]) -> int:
    """Write a workbook with a sheet for each evaluator by name; returns how many texts were cut to fit their cells.

    The workbook holds no scores, case ids or metadata.
    """
    book = openpyxl.Workbook()
    scale = book.worksheets[0]
    scale.title = SCALE
    _fill_scale(scale, rubric)
    cut = 0
    for place, (evaluator, rows) in enumerate(sheets.items()):
        cut += _fill(book.create_sheet(_title(evaluator, place, len(sheets)), place), rubric, rows)
    book.active = 0
    book.save(file)
    return cut


def _title(evaluator: str, place: int, count: int) -> str:
    name = evaluator.translate(_NOT_IN_TITLES).strip()
    number = f"{place + 1} " if count > 1 else ""
    return f"{number}{name or 'ratings'}"[:TITLE_LIMIT]


def _fill(page: Any, rubric: Rubric, rows: Sequence[RatingRow]) -> int:
    """Write a header and the cases; returns how many texts were cut."""
    scores = list(rubric.format.scores)
    inputs = [name if name not in (RATING_ID, NOTES, *scores) else f"{name} (text)" for name in rubric.inputs]
    columns = [RATING_ID, *inputs, *scores, NOTES]
    widths = [12, *[TEXT_WIDTH] * len(inputs), *[SCORE_WIDTH] * len(scores), NOTES_WIDTH]
    for column, (name, width) in enumerate(zip(columns, widths, strict=True), 1):
        cell = page.cell(1, column)
        fill_cell(cell, name)
        cell.font = Font(bold=True)
        page.column_dimensions[get_column_letter(column)].width = width
    page.freeze_panes = "B2"
    cut = 0
    for line, row in enumerate(rows, 2):
        for column, text in enumerate([row.rating_id, *(row.texts[name] for name in rubric.inputs)], 1):
            cell = page.cell(line, column)
            cut += fill_cell(cell, text)
            cell.alignment = Alignment(wrap_text=True, vertical="top")
    for place, score in enumerate(scores):
        column = 2 + len(inputs) + place
        _add_levels(page, rubric.format.scores[score], place, get_column_letter(column), len(rows) + 1)
    return cut


def _add_levels(page: Any, score: ScoreField, place: int, column: str, last: int) -> None:
    """Add a drop-down list of the score's levels. Raters may also type a number, which the import checks."""
    of = get_column_letter(place + 1)
    levels = DataValidation(
        type="list",
        formula1=f"{SCALE}!${of}$2:${of}${len(score.values) + 1}",
        allow_blank=True,
        showErrorMessage=False,
    )
    page.add_data_validation(levels)
    if last > 1:
        levels.add(f"{column}2:{column}{last}")


def _fill_scale(page: Any, rubric: Rubric) -> None:
    """Write each score's levels in a column, highest first."""
    for column, (name, score) in enumerate(rubric.format.scores.items(), 1):
        page.column_dimensions[get_column_letter(column)].width = TEXT_WIDTH
        fill_cell(page.cell(1, column), name)
        for line, value in enumerate(reversed(score.values), 2):
            label = score.levels.get(value, "")
            fill_cell(page.cell(line, column), f"{value} – {label}" if label else value)
