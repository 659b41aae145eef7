"""Counts the cases of a run that lack a metadata column."""

import json

from pathway_local.errors import NotKept
from pathway_local.runs.database import decoding
from pathway_local.runs.run_file import RunFile

# A row that is no case has no metadata to keep.
_CASES = """
    SELECT metadata FROM cases WHERE EXISTS (
        SELECT 1 FROM outcomes WHERE case_key = key AND superseded = 0 AND failure_kind IS NOT 'bad-row'
    )
"""


def cases_without(run: RunFile, column: str) -> int:
    """The number of the run's cases without the column; figures treat it as empty there. NotKept if all lack it."""
    with decoding(run.path):
        kept = [column in json.loads(metadata) for (metadata,) in run.database.stream(_CASES)]
    if kept and not any(kept):
        raise NotKept(column)
    return kept.count(False)
