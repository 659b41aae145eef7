"""Proposes the columns of inputs by what their cells look like, where no name settles it; a person confirms."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from statistics import median

from pathway_local.sheets.columns import folded, input_of, names_of
from pathway_local.sheets.kinds import Sheet

SAMPLE_ROWS = 200

LEAST_WORDS = 3
"""Words of the middle cell of a column of texts: names, labels and numbers have fewer."""

ASKING = 0.5
"""The least share of question marks in a column of questions."""

APART = 1.5
"""How much longer passages must be than other texts, or how much oftener a text must come again, to tell them apart."""

FEWEST_VALUES = 5
"""A column of fewer values holds groups to compare, such as chatbots or languages."""

LABEL = 40
"""Characters of the longest label or id."""

_NUMBER = re.compile(r"[-+]?\d+([.,]\d+)?")


@dataclass(frozen=True, slots=True)
class _Look:
    """A column of texts: the share of cells that ask, the middle number of words, cells for each different one."""

    name: str
    asks: float
    words: float
    repeats: float


def likely_columns(sheet: Sheet, inputs: Collection[str], free: Sequence[str]) -> Mapping[str, str]:
    """Return a column among those that are `free` for each input whose texts they seem to hold; leave out the others.

    A question asks, retrieved content is the longest, and an ideal answer comes again where several chatbots answer.
    """
    texts = _texts(sheet, free)
    wanted = {input_of(name): name for name in inputs}
    found: dict[str, str] = {}

    def take(kind: str, column: _Look | None) -> None:
        if column and kind in wanted:
            found[wanted[kind]] = column.name
            texts.remove(column)

    take("question", _outstanding(texts, lambda look: look.asks, ASKING))
    texts = [look for look in texts if look.asks < ASKING]
    if len(texts) > 1 or {"answer", "ideal_answer"}.isdisjoint(wanted):
        take("retrieved_content", _outstanding(texts, lambda look: look.words))
    if len(texts) > 1 or "answer" not in wanted:
        take("ideal_answer", _outstanding(texts, lambda look: look.repeats))
    take("answer", texts[0] if len(texts) == 1 else None)
    return found


def labels_and_ids(sheet: Sheet, columns: Sequence[str]) -> tuple[list[str], list[str], list[str]]:
    """Return the columns whose cells seem to repeat labels, those of them to compare by, and those that tell all apart.

    To compare by are columns called like chatbots, then those of few values: many may be the students who asked.
    """
    labels, ids, few, chatbots = [], [], [], names_of("chatbots")
    rows, filled = _filled(sheet, columns)
    for column, cells in filled.items():
        if not cells or max(map(len, cells)) > LABEL:
            continue
        different = set(cells)
        if len(different) == rows > 1:
            ids.append(column)
        elif 1 < len(different) <= len(cells) / 2 and not all(_NUMBER.fullmatch(text) for text in different):
            labels.append(column)
            few += [column] if len(different) < FEWEST_VALUES or folded(column) in chatbots else []
    return labels, sorted(few, key=lambda column: folded(column) not in chatbots), ids


def _outstanding(texts: Sequence[_Look], measure: Callable[[_Look], float], least: float = 0) -> _Look | None:
    """Return the column that has clearly more of the measure than every other, and at least so much."""
    ordered = sorted(texts, key=measure, reverse=True)
    if not ordered or measure(ordered[0]) < least:
        return None
    return ordered[0] if len(ordered) == 1 or measure(ordered[0]) >= APART * measure(ordered[1]) else None


def _filled(sheet: Sheet, columns: Sequence[str]) -> tuple[int, dict[str, list[str]]]:
    """Return how many of the first rows there are, and the cells of each column that hold something there."""
    rows = [row.cells for row in islice((row for row in sheet.rows() if row.cells), SAMPLE_ROWS)]
    return len(rows), {
        column: [text for cells in rows if (text := cells.get(column, "").strip())] for column in columns
    }


def _texts(sheet: Sheet, columns: Sequence[str]) -> list[_Look]:
    """Return how those of the columns look that hold texts in most of the first rows."""
    rows, filled = _filled(sheet, columns)
    looks = []
    for column, cells in filled.items():
        words = median(len(text.split()) for text in cells) if 2 * len(cells) > rows else 0
        if words >= LEAST_WORDS:
            asks = sum(text.endswith(("?", "？", "؟")) for text in cells) / len(cells)
            looks.append(_Look(column, asks, words, len(cells) / len(set(cells))))
    return looks
