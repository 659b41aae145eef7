"""Instructions for people who rate, and the sheet of a rating workbook with them, the levels and the progress."""

import re
from collections.abc import Iterator
from typing import Any

from openpyxl.styles import Font
from openpyxl.utils import get_column_letter

from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.workbook import WRAPPED, fill_cell

TITLE = "instructions"
HOW = "Choose a score in each row of the sheet {}; notes are welcome. Texts are locked, without a password."
LABEL_WIDTH, TEXT_WIDTH = 24, 110
MOST_LEVELS = 20

_BULLET = re.compile(r"^(\s*)[-*+]\s+")
_HEADING = re.compile(r"^#{1,6}\s+")


def write_instructions(page: Any, rubric: Rubric, evaluator: str, ratings: str, first: int, count: int) -> None:
    """Fill the sheet for one evaluator; `first` is the column of the first score in the sheet `ratings`.

    A formula counts the rows with a score, of `count`, for each score.
    """
    page.column_dimensions["A"].width, page.column_dimensions["B"].width = LABEL_WIDTH, TEXT_WIDTH
    lines = [(rubric.name, rubric.description), *([("evaluator", evaluator)] if evaluator else [])]
    lines.append(("how to rate", HOW.format(ratings)))
    formulas = len(lines) + 1
    lines += [(f"rated: {score}", "") for score in rubric.format.scores]
    for line, (label, text, bold) in enumerate([*((*line, False) for line in lines), *_of_rubric(rubric)], 1):
        _put(page, line, label, text, bold=bold)
    for place in range(len(rubric.format.scores)):
        column = get_column_letter(first + place)
        page.cell(formulas + place, 2).value = f'=COUNTA({ratings}!{column}2:{column}{count + 1})&" of {count}"'


def told_to_people(rubric: Rubric) -> Iterator[tuple[str, bool]]:
    """Yield each line of the rubric's text for people, without Markdown's signs, and whether it is a heading.

    A rubric without such a text has its scales: its prompt is for a machine, and says what it must write.
    """
    for line in rubric.people.splitlines():
        yield _BULLET.sub(r"\1• ", _HEADING.sub("", line)), bool(_HEADING.match(line))
    for name, score in rubric.format.scores.items() if not rubric.people else ():
        yield name, True
        yield from ((line, False) for line in (score.description, *scale_lines(score)) if line)


def scale_lines(score: ScoreField) -> Iterator[str]:
    """Yield the levels of a score with their names, highest first; of a long scale its ends and those with a name."""
    for place, value in enumerate(reversed(score.values)):
        name = score.levels.get(value, "")
        if name or len(score.values) <= MOST_LEVELS or place in (0, len(score.values) - 1):
            yield f"{value} – {name}".removesuffix(" – ")


def _of_rubric(rubric: Rubric) -> Iterator[tuple[str, str, bool]]:
    """Yield label, text and whether it is a heading: what raters see, the levels, and the text for people."""
    yield from ((name, each.description, False) for name, each in rubric.inputs.items())
    for name, score in rubric.format.scores.items():
        for place, line in enumerate(scale_lines(score)):
            yield name if not place else "", line, False
    for place, (line, bold) in enumerate(told_to_people(rubric) if rubric.people else ()):
        yield "what to look for" if not place else "", line, bold


def _put(page: Any, line: int, label: str, text: str, *, bold: bool) -> None:
    first, second = page.cell(line, 1), page.cell(line, 2)
    fill_cell(first, label)
    first.font = Font(bold=True)
    fill_cell(second, text)
    second.font = Font(bold=bold)
    second.alignment = WRAPPED
