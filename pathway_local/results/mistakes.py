"""Finds likely mistakes in ratings: one person under two names, a rater who saw the judge, half of a scale."""

from collections.abc import Collection, Iterator, Sequence
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import GROUP, JUDGES
from pathway_local.results.label_design import uneven_strata
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.sheets.columns import folded
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import FloatArray, IntArray, Interval, Undefined
from pathway_local.statistics.jackknife import estimates

LEAST_ALIKE = 8
"""Cases on which two people's scores must all be the same before we suspect that a sheet was imported twice."""

LEAST = 20
"""Scores of a rater from which these say something of its habits."""

NEARLY_ALL, COMMON = 0.95, 0.7
"""The share of equal scores from which a person may have seen the judge's, if no score is more frequent than that."""

LONG = 7
"""Levels of a scale of which somebody may have used another, shorter one."""

EXACTLY = -1 + 1e-9
"""Below this, Spearman's correlation is -1."""

OFTEN = 0.1
"""The share of cases with the texts of another one from which each seems to be there several times."""


def names_one_person(first: str, second: str) -> bool:
    """Whether two raters' names differ only in their group, or in case, accents, blanks and punctuation."""
    mine, others = ({_bare(name), _bare(name.partition(GROUP)[2] or name)} for name in (first, second))
    return bool(mine & others)


def _bare(name: str) -> str:
    return "".join(filter(str.isalnum, folded(name))) or name


def mistakes(
    matrix: RatingsMatrix, among: Sequence[int] | None = None, clusters: IntArray | None = None
) -> Iterator[Note]:
    """Yield a warning for whatever looks like a mistake in how these raters' scores came about.

    `among` are the columns of the raters whose scores count; None for all. Whoever reads a figure of them must know.
    """
    raters = [place for place in matrix.scoring("human", *JUDGES) if among is None or place in among]
    people = [place for place in raters if matrix.raters[place].kind == "human"]
    judges = [place for place in raters if place not in people]
    for first, second in (*combinations(people, 2), *((person, judge) for judge in judges for person in people)):
        yield from _alike(matrix, first, second)
    yield from _part_of_scale(matrix, raters)
    yield from _reversed(matrix, raters, clusters)
    yield from _strangers(matrix, people)
    if matrix.repeated > OFTEN * len(matrix.case_ids):
        told = {"rubric": matrix.rubric, "count": matrix.repeated, "cases": len(matrix.case_ids)}
        yield Note("cases_twice", told, "warning")


def _alike(matrix: RatingsMatrix, first: int, second: int) -> Iterator[Note]:
    """Two people whose names, or all of whose scores, are the same; or a person who may have seen a judge's scores.

    Such a person nearly always gives the judge's score, though scores vary.
    """
    both = matrix.given[:, [first, second]]
    both = both[np.isfinite(both).all(axis=1)]
    same, names = both[:, 0] == both[:, 1], [matrix.raters[place].name for place in (first, second)]
    told: dict[str, object] = {"first": names[0], "second": names[1]}
    if matrix.raters[second].kind != "human":
        commonest = np.unique(both[:, 1], return_counts=True)[1].max(initial=0)
        if len(both) >= LEAST and same.mean() >= NEARLY_ALL and commonest <= COMMON * len(both):
            yield Note("saw_judge", told | {"count": int(same.sum()), "cases": len(both)}, "warning")
        return
    if names_one_person(*names):
        yield Note("alike_names", told, "warning")
    if len(both) >= LEAST_ALIKE and len(np.unique(both)) > 1 and same.all():
        yield Note("alike_scores", told | {"cases": len(both)}, "warning")


def _part_of_scale(matrix: RatingsMatrix, raters: Sequence[int]) -> Iterator[Note]:
    """A rater who keeps to the lower half of a long scale where others go beyond: 1 to 5 on 0 to 10."""
    scores = matrix.on_scale
    if matrix.nominal or len(matrix.levels) < LONG:
        return
    middle = (matrix.levels[0] + matrix.levels[-1]) / 2
    highest = {
        place: float(np.nanmax(scores[:, place])) for place in raters if np.isfinite(scores[:, place]).sum() >= LEAST
    }
    for place, high in highest.items():
        if high <= middle < max(highest.values()):
            told: dict[str, object] = {"rater": matrix.raters[place].name, "high": high}
            yield Note("part_of_scale", {**told, "low": matrix.levels[0], "top": matrix.levels[-1]}, "warning")


def _reversed(matrix: RatingsMatrix, raters: Sequence[int], clusters: IntArray | None) -> Iterator[Note]:
    """Raters who surely order the cases oppositely, each named once, the one who opposes most others first."""
    scores, every = matrix.on_scale, combinations(raters, 2)
    pairs = [pair for pair in every if not matrix.nominal and _opposed(scores[:, pair], clusters)]
    while pairs:
        rater = max(raters, key=lambda place: sum(place in pair for pair in pairs))
        others = [sum(pair) - rater for pair in pairs if rater in pair]
        pairs = [pair for pair in pairs if rater not in pair]
        names = [matrix.raters[place].name for place in others]
        told: dict[str, object] = {"rater": matrix.raters[rater].name, "others": names, "count": len(names)}
        yield Note("reversed", {**told, "low": matrix.levels[0]}, "warning")


def _opposed(scores: FloatArray, clusters: IntArray | None) -> bool:
    """Whether Spearman's interval lies below 0; exactly opposite orders have none."""
    both = np.isfinite(scores).all(axis=1)
    own = scores[both]
    if len(own) < LEAST_ALIKE or np.prod(own - own.mean(axis=0), axis=1).sum() >= 0:  # nearly all pairs end here
        return False
    figure, own_clusters = {"spearman": COEFFICIENTS["spearman"]}, None if clusters is None else clusters[both]
    found = estimates(figure, own, (), own_clusters)["spearman"]
    if isinstance(found.value, Undefined):
        return False
    return found.interval.high < 0 if isinstance(found.interval, Interval) else found.value < EXACTLY


def _strangers(matrix: RatingsMatrix, people: Sequence[int]) -> Iterator[Note]:
    """People who rated different cases: a strict and a lenient one move the means of their own."""
    given = np.isfinite(matrix.given[:, list(people)])
    many = [at for at in range(len(people)) if given[:, at].sum() >= LEAST]
    common = [np.sum(given[:, one] & given[:, other]) for one, other in combinations(many, 2)]
    if common and max(common) < LEAST_ALIKE:
        yield Note("different_cases", {"people": [matrix.raters[people[at]].name for at in many]}, "warning")


def stopped_judges(data: Scores, names: Collection[str] = ()) -> list[Note]:
    """Return a warning for each judge that stopped before its end, of these names or of all."""
    return [Note("judge_stopped", {"judge": name}, "warning") for name in data.stopped if not names or name in names]


def mistakes_in(data: Scores, cluster: str = "") -> list[Note]:
    """Return each such warning of a run once, and one for each judge that stopped before its end."""
    found = stopped_judges(data)
    for matrix in data.matrices([*data.rubrics.values()]):
        found += [Note("uneven_people", {"column": column}, "warning") for column in set(uneven_strata(matrix))]
        codes = matrix.clusters(cluster) if cluster else None
        found += [note for note in mistakes(matrix, clusters=codes) if note not in found]
    return found
