"""How much each case counts in means: a column of the cases, where questions count differently."""

import re
from collections.abc import Sequence

import numpy as np

from pathway_local.errors import NotKept, UsageError
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.sheets.row import shown
from pathway_local.statistics.figure import FloatArray

_NUMBER = re.compile(r"-?\d{1,15}(\.\d{1,15}|,(?!\d{3}$)\d{1,15})?")
"""Three digits behind a comma may be thousands."""

_NUMBERS = "Name a column of numbers of 0 or more, such as 2, 0.5 or 0,5."


def case_weights(matrices: Sequence[RatingsMatrix], column: str) -> FloatArray:
    """The weights of a rubric's cases, (cases,): those of the column, 0 for a case without a score; 1 without a column.

    Raises UsageError unless each case with a score has a number of 0 or more, and some has more than 0.
    """
    metadata = matrices[0].metadata
    if not column:
        return np.ones(len(metadata))
    scored = np.any([np.isfinite(matrix.given).any(axis=1) for matrix in matrices], axis=0)
    texts = np.array([kept.get(column, "").strip() for kept in metadata], dtype=object)
    weights = np.array([float(text.replace(",", ".")) if _NUMBER.fullmatch(text) else np.nan for text in texts])
    for says, wrong, hint in (
        ("no weight", texts == "", NotKept(column).hint),
        ("a weight that is no number", ~np.isfinite(weights), _NUMBERS),
        ("a negative weight", weights < 0, _NUMBERS),
        ("the weight 0, and none has another,", (weights == 0) & ~(weights[scored] > 0).any(), _NUMBERS),
    ):
        if count := int(np.sum(wrong & scored)):
            said = f"{count:,} of {int(scored.sum()):,} cases with a score have {says} in the column {shown(column)}"
            raise UsageError(said, hint)
    return np.where(scored, weights, 0.0)
