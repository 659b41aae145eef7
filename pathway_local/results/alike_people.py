"""Warnings of two people who may be one: figures that count people would count that person twice."""

import shlex
from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from pathway_local.ratings.import_notes import LEAST_ALIKE, names_one_person
from pathway_local.results.ratings_matrix import RatingsMatrix


def alike_people(matrix: RatingsMatrix, among: Sequence[int] | None = None) -> Iterator[str]:
    """Yield a warning for each two people whose names, or all of whose scores, are the same, without its full stop.

    `among` are the columns of the raters whose scores count; None for all. Scores count as the same from
    `LEAST_ALIKE` cases of both.
    """
    people = [place for place in matrix.scoring("human") if among is None or place in among]
    for places in combinations(people, 2):
        first, second = (matrix.raters[place].name for place in places)
        both = matrix.given[:, list(places)]
        both = both[np.isfinite(both).all(axis=1)]
        if names_one_person(first, second):
            yield (
                f"{first} and {second} count as two people, but their names look like one person's: if they are one, "
                "`pathway-local runs remove-rater` removes one of them for good, and "
                f"`agreement --twice {shlex.quote(f'{first}={second}')}` leaves the second out"
            )
        if len(both) >= LEAST_ALIKE and len(np.unique(both)) > 1 and (both[:, 0] == both[:, 1]).all():
            yield (
                f"{first} and {second} gave the same scores to all {len(both):,} cases of both: "
                "if one sheet was imported under two names, the figures count it twice"
            )
