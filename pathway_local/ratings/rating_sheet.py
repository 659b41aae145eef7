"""Writes the workbook that one person rates in: locked texts, a list of levels, notes, and how to rate."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, BinaryIO

import openpyxl
from openpyxl.styles import Font, Protection
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation

from pathway_local.ratings.rating_rows import has_cant_say
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.workbook import WRAPPED, fill_cell, save_book
from pathway_local.words.language import ENGLISH, Language

TEXT_WIDTH, SCORE_WIDTH, NOTES_WIDTH = 60, 24, 40
OPEN = Protection(locked=False)


@dataclass(frozen=True, slots=True)
class RatingRow:
    """One case to rate: its random id and its texts by input."""

    rating_id: str
    texts: Mapping[str, str]


SheetWriter = Callable[[BinaryIO, Rubric, str, Sequence[RatingRow]], int]
"""Writes one evaluator's sheet; returns how many texts were cut to fit their cells."""


def write_rating_sheet(
    file: BinaryIO, rubric: Rubric, evaluator: str, rows: Sequence[RatingRow], lang: str = ENGLISH
) -> int:
    """Write an evaluator's workbook; return how many texts were cut to fit their cells.

    It has the cases, the rubric's instructions, and the levels; no scores, case ids or metadata.
    """
    book, say = openpyxl.Workbook(), Language(lang)
    ratings = book.worksheets[0]
    ratings.title = say("sheet_ratings")
    cut = _fill(ratings, rubric, rows, say)
    _write_instructions(book.create_sheet(say("sheet_instructions")), rubric, evaluator, say)
    _fill_scale(book.create_sheet(say("sheet_scale")), rubric, say)
    for page in book.worksheets:
        # Without a password: the lock keeps a slip of the hand from changing a text, and stops nobody who means to.
        page.protection.sheet = True
        page.protection.formatColumns = page.protection.formatRows = False  # may be made wider
    save_book(book, file)
    return cut


def _fill_text(cell: Any, value: int | float | str) -> bool:
    """Fill a cell without the apostrophe that guards CSV files: as a text, "=1" is no formula. Return whether cut."""
    cut = fill_cell(cell, value)
    if isinstance(value, str) and isinstance(cell.value, str):
        cell.value = cell.value if value.startswith("'") else cell.value.removeprefix("'")
        cell.data_type = "s"  # the library takes a new "=1" for a formula
    return cut


def _fill(page: Any, rubric: Rubric, rows: Sequence[RatingRow], say: Language) -> int:
    """Write a header and the cases; returns how many texts were cut."""
    scores, first, last = list(rubric.format.given), say("sheet_id"), say("sheet_notes")
    inputs = [name if name not in (first, last, *scores) else f"{name}*" for name in rubric.inputs]
    columns = [first, *inputs, *scores, last]
    widths = [12, *[TEXT_WIDTH] * len(inputs), *[SCORE_WIDTH] * len(scores), NOTES_WIDTH]
    for column, (name, width) in enumerate(zip(columns, widths, strict=True), 1):
        cell = page.cell(1, column)
        _fill_text(cell, name)
        cell.font = Font(bold=True)
        page.column_dimensions[get_column_letter(column)].width = width
    page.freeze_panes = "B2"
    cut = 0
    for line, row in enumerate(rows, 2):
        for column, text in enumerate([row.rating_id, *(row.texts[name] for name in rubric.inputs)], 1):
            cell = page.cell(line, column)
            cut += _fill_text(cell, text)
            cell.alignment = WRAPPED
        for column in range(2 + len(inputs), len(columns) + 1):
            cell = page.cell(line, column)
            cell.alignment, cell.protection = WRAPPED, OPEN
    for place, score in enumerate(scores):
        column = 2 + len(inputs) + place
        _add_levels(page, rubric.format.given[score], place, get_column_letter(column), len(rows) + 1, say)
    return cut


def _add_levels(page: Any, score: ScoreField, place: int, column: str, last: int, say: Language) -> None:
    """Add a drop-down list of what may be chosen. Raters may also type a number, which the import checks."""
    of = get_column_letter(place + 1)
    levels = DataValidation(
        type="list",
        formula1=f"'{say('sheet_scale')}'!${of}$2:${of}${len(_choices(score, say)) + 1}",
        allow_blank=True,
        showErrorMessage=False,
    )
    page.add_data_validation(levels)
    if last > 1:
        levels.add(f"{column}2:{column}{last}")


def _fill_scale(page: Any, rubric: Rubric, say: Language) -> None:
    """Write what may be chosen for each score in a column, highest first."""
    for column, (name, score) in enumerate(rubric.format.given.items(), 1):
        page.column_dimensions[get_column_letter(column)].width = TEXT_WIDTH
        _fill_text(page.cell(1, column), name)
        for line, choice in enumerate(_choices(score, say), 2):
            _fill_text(page.cell(line, column), choice)


def _choices(score: ScoreField, say: Language) -> list[int | float | str]:
    """Return the levels with their names, highest first, and what stands for a score that can't be decided."""
    levels = [(value, score.levels.get(value, "")) for value in reversed(score.values)]
    return [
        *(say.levels(f"{value} – {name}") if name else value for value, name in levels),
        *([] if has_cant_say(score) else [say("cant_say")]),
    ]


LABEL_WIDTH, READING_WIDTH = 24, 110
MOST_LEVELS = 20

_BULLET = re.compile(r"^(\s*)[-*+]\s+")
_HEADING = re.compile(r"^#{1,6}\s+")


def _write_instructions(page: Any, rubric: Rubric, evaluator: str, say: Language) -> None:
    page.column_dimensions["A"].width, page.column_dimensions["B"].width = LABEL_WIDTH, READING_WIDTH
    lines = [(rubric.name, rubric.description), *([(say("sheet_for"), evaluator)] if evaluator else [])]
    lines.append((say("rate_how"), say("sheet_how")))
    for line, (label, text, bold) in enumerate([*((*line, False) for line in lines), *_of_rubric(rubric, say)], 1):
        _put(page, line, label, text, bold=bold)


def told_to_people(rubric: Rubric, say: Language) -> Iterator[tuple[str, bool]]:
    """Yield each line of the rubric's text for people, without Markdown's signs, and whether it is a heading.

    A rubric without such a text has its scales: its prompt is for a machine, and says what it must write.
    """
    for line in rubric.people.splitlines():
        yield _BULLET.sub(r"\1• ", _HEADING.sub("", line)), bool(_HEADING.match(line))
    for name, score in rubric.format.given.items() if not rubric.people else ():
        yield name, True
        yield from ((line, False) for line in (score.description, *scale_lines(score, say)) if line)


def scale_lines(score: ScoreField, say: Language) -> Iterator[str]:
    """Yield the levels of a score with their names, highest first; of a long scale its ends and those with a name."""
    for place, value in enumerate(reversed(score.values)):
        name = score.levels.get(value, "")
        if name or len(score.values) <= MOST_LEVELS or place in (0, len(score.values) - 1):
            yield say.levels(f"{value} – {name}".removesuffix(" – "))


def _of_rubric(rubric: Rubric, say: Language) -> Iterator[tuple[str, str, bool]]:
    """Yield label, text and whether it is a heading: what raters see, the levels, and the text for people."""
    yield from ((name, each.description, False) for name, each in rubric.inputs.items())
    for name, score in rubric.format.given.items():
        for place, line in enumerate(scale_lines(score, say)):
            yield name if not place else "", line, False
    for place, (line, bold) in enumerate(told_to_people(rubric, say) if rubric.people else ()):
        yield say("sheet_look_for") if not place else "", line, bold


def _put(page: Any, line: int, label: str, text: str, *, bold: bool) -> None:
    first, second = page.cell(line, 1), page.cell(line, 2)
    _fill_text(first, label)
    first.font = Font(bold=True)
    _fill_text(second, text)
    second.font = Font(bold=bold)
    second.alignment = WRAPPED
