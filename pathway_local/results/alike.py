"""Two people in a run who may be one: the same name, or the same scores."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import GROUP
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.columns import folded

LEAST_ALIKE = 8
"""Cases on which two people's scores must all be the same before we suspect that a sheet was imported twice."""


def names_one_person(first: str, second: str) -> bool:
    """Whether two raters' names differ only in their group, or in case, accents, blanks and punctuation."""
    mine, others = ({_bare(name), _bare(name.partition(GROUP)[2] or name)} for name in (first, second))
    return bool(mine & others)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, folded(name))) or name


def alike(matrix: RatingsMatrix, among: Sequence[int] | None = None) -> Iterator[Note]:
    """Yield a warning for each two people whose names, or all of whose scores, are the same.

    `among` are the columns of the raters whose scores count; None for all. Scores count as the same from
    `LEAST_ALIKE` cases of both.
    """
    people = [place for place in matrix.scoring("human") if among is None or place in among]
    for places in combinations(people, 2):
        first, second = (matrix.raters[place].name for place in places)
        both = matrix.given[:, list(places)]
        both = both[np.isfinite(both).all(axis=1)]
        told: dict[str, object] = {"first": first, "second": second}
        if names_one_person(first, second):
            yield Note("alike_names", told, "warning")
        if len(both) >= LEAST_ALIKE and len(np.unique(both)) > 1 and (both[:, 0] == both[:, 1]).all():
            yield Note("alike_scores", {**told, "cases": len(both)}, "warning")


def alike_in(data: Scores) -> list[Note]:
    """Return each such warning of a run once."""
    people = Counter(rater.rubric for rater in data.raters if rater.kind == "human")
    several = [rubric for name, rubric in data.rubrics.items() if people[name] > 1]
    found = list[Note]()
    for matrix in data.matrices(several):
        found += [note for note in alike(matrix) if note not in found]
    return found
