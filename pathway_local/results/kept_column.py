"""The metadata columns that a run keeps, by which figures are grouped, compared and clustered."""

import json

from pathway_local.errors import NotKept, UsageError
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.run_cases import remembered_columns
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.columns import means_the_same, same_column
from pathway_local.sheets.row import shown

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
    with decoding(run.path):
        kept = [json.loads(metadata) for (metadata,) in run.database.stream(_METADATA)]
    column = same_column(asked, tuple(dict.fromkeys(name for each in kept for name in each))) or asked
    lacking = sum(column not in each for each in kept)
    if kept and lacking == len(kept):
        _refuse_inputs(run, column)
        raise NotKept(column)
    return column, lacking


def _refuse_inputs(run: RunFile, column: str) -> None:
    mapping, id_column = remembered_columns(run)
    inputs = {name for rubric in rubrics_of(run).values() for name in rubric.inputs}
    is_input = same_column(column, list(mapping.values())) or any(means_the_same(name, column) for name in inputs)
    if is_input or (id_column and same_column(column, [id_column])):
        what = "an input: a run keeps no texts" if is_input else "the column of the ids, each of which is another"
        raise UsageError(f"{shown(column)} is {what}", "Name a column such as chatbot or language.")
