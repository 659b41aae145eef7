"""A metadata column that a run keeps: which cases lack it."""

import json

from pathway_local.errors import UsageError
from pathway_local.runs.database import decoding
from pathway_local.runs.run_file import RunFile

# A row that is no case has no metadata to keep.
_CASES = """
    SELECT metadata FROM cases WHERE EXISTS (
        SELECT 1 FROM outcomes WHERE case_key = key AND superseded = 0 AND failure_kind IS NOT 'bad-row'
    )
"""


def cases_without(run: RunFile, column: str) -> int:
    """How many of the run's cases lack the column; figures take them as empty. UsageError where all lack it."""
    with decoding(run.path):
        kept = [column in json.loads(metadata) for (metadata,) in run.database.stream(_CASES)]
    if kept and not any(kept):
        raise not_kept(column)
    return kept.count(False)


def not_kept(column: str) -> UsageError:
    """That no case has the column, and how to get it."""
    hint = f"Judge once more with --keep {column}: it fills the column in and judges nothing again."
    return UsageError(f"the run does not keep the column {column!r}", hint)
