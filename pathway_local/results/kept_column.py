"""The metadata columns that a run keeps, by which figures are grouped, compared and clustered."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from operator import eq

from pathway_local.errors import NotKept, UsageError
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.columns import FEWEST_VALUES, means_the_same, same_column
from pathway_local.sheets.row import shown

MOST_GROUPS = 50
"""Values of a column that divides cases into groups; one with more tells single cases apart."""

OFTEN = 1.2
"""Cases for each value of a column from which its values repeat; below, a few equal values are chance."""

LONGEST_SCALE = 11
"""A column of no more different numbers, such as 0 to 10, holds scores rather than students."""

_NUMBER, _FRACTION = re.compile(r"[+-]?\d+([.,]\d+)?"), re.compile(r"[+-]?\d+[.,]\d+")

# A row that is no case has no metadata to keep.
_METADATA = """
    SELECT metadata FROM cases WHERE EXISTS (
        SELECT 1 FROM outcomes
        WHERE case_key = key AND superseded = 0 AND COALESCE(failure_kind, '') NOT IN ('bad-row', 'duplicate-id')
    )
"""


def kept_column(run: RunFile, asked: str) -> tuple[str, int]:
    """The run's own spelling of a metadata column, and how many cases lack it; figures treat it as empty there.

    NotKept if no case has it; UsageError if it holds inputs or ids, which a run never keeps as metadata.
    """
    kept = _kept(run)
    column = same_column(asked, _names(kept)) or asked
    lacking = sum(column not in each for each in kept)
    if kept and lacking == len(kept):
        _refuse_inputs(run, column)
        raise NotKept(column)
    return column, lacking


def counted_values(run: RunFile, column: str) -> Counter[str]:
    """Return how many cases have each value of a kept column, in their order; the empty one counts those without."""
    return Counter(each.get(column, "") for each in _kept(run))


def repeated_columns(run: RunFile) -> dict[str, int]:
    """Return the columns whose values may group cases that depend on each other, each with the number of its values.

    These are columns of at least FEWEST_VALUES values that several cases share. Numbers group nothing if they have
    fractions, as costs do, or if they are no more than a scale has; others may be those of students.
    """
    kept = _kept(run)
    found = {}
    for name in _names(kept):
        given = [each[name] for each in kept if each.get(name)]
        values = len(set(given))
        numbers = all(map(_NUMBER.fullmatch, given))
        measured = numbers and (values <= LONGEST_SCALE or any(map(_FRACTION.fullmatch, given)))
        if not measured and values >= FEWEST_VALUES and len(given) >= OFTEN * values:
            found[name] = values
    return found


def group_columns(run: RunFile) -> list[str]:
    """Return the columns that divide the run's cases into groups: those of two values or a few more."""
    kept = _kept(run)
    values = {name: {each[name] for each in kept if each.get(name)} for name in _names(kept)}
    return [name for name, found in values.items() if 1 < len(found) <= MOST_GROUPS]


def input_named(run: RunFile, asked: str) -> str:
    """The rubrics' input that a name means, or the name of its column; empty if it means none, or a kept column."""
    if same_column(asked, _names(_kept(run))):
        return ""
    mapping, _ = remembered_columns(run)
    inputs = [name for rubric in rubrics_of(run).values() for name in rubric.inputs]
    found = [name for name in inputs if same_column(asked, [mapping.get(name, "")])]
    found += [name for fits in (eq, means_the_same) for name in inputs if fits(name, asked)]
    return found[0] if found else ""


def _kept(run: RunFile) -> list[dict[str, str]]:
    with decoding(run.path):
        return [json.loads(metadata) for (metadata,) in run.database.stream(_METADATA)]


def _names(kept: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for each in kept for name in each))


def _refuse_inputs(run: RunFile, column: str) -> None:
    _, id_column = remembered_columns(run)
    is_input = input_named(run, column)
    if is_input or (id_column and same_column(column, [id_column])):
        what = "an input: a run keeps no texts" if is_input else "the column of the ids, each of which is another"
        raise UsageError(f"{shown(column)} is {what}", "Name a column such as chatbot or language.")
