"""Agreement of a run's raters: in pairs, in sets, and of judges with people."""

from collections.abc import Iterator, Sequence
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import JUDGES, REPEATS, RaterKind
from pathway_local.results.against_people import AgainstPeople
from pathway_local.results.agreement_options import AgreementOptions, Row
from pathway_local.results.corrected_mean import corrected_means
from pathway_local.results.label_design import without_picked
from pathway_local.results.mistakes import mistakes, stopped_judges
from pathway_local.results.table import Names, Table
from pathway_local.scores.matrix import MatrixRater, RatingsMatrix, why_no_levels
from pathway_local.scores.scores import Scores
from pathway_local.statistics.coefficients import agreement_figures
from pathway_local.statistics.figure import IntArray

ORDER: tuple[RaterKind, ...] = ("judge", "hosted", "combined", "human")
"""The first of a pair is the one whose kind comes first: judges minus people, not the other way round."""


class ScoreAgreement:
    """The agreement on one score, on the cases that raters have in common. Raises UsageError.

    Of people who worked on a sample, only labels of that sample count: raters disagree more on cases that were picked
    for their disagreement than on others.
    """

    def __init__(self, data: Scores, whole: RatingsMatrix, options: AgreementOptions) -> None:
        combined = [each for each in data.raters if (each.kind, each.rubric) == ("combined", whole.rubric)]
        members = {rater.name: set(rater.members) for rater in combined}
        # The people that judges are compared with are raters, too, even if only judges are named.
        beside = [options.against, *(rater.name for rater in whole.raters if rater.name == options.panel)]
        named = [*options.rater, *filter(None, beside)] if options.rater else []
        self.options, self.whole = options, whole
        matrix, left_out = without_picked(whole)
        self.matrix = matrix
        clusters = matrix.clusters(options.cluster) if options.cluster else None
        places = matrix.places(named) or range(len(matrix.raters))
        chosen = sorted(places, key=lambda place: (ORDER.index(matrix.raters[place].kind), place))
        compared = [place for place in chosen if matrix.raters[place].verdicts]
        self.raters = [matrix.raters[place] for place in chosen]
        # Nobody is compared with scores that are made of their own.
        held = {at: members.get(matrix.raters[at].name, {matrix.raters[at].name}) for at in compared}
        every = [*combinations(compared, 2)]
        apart = [pair for pair in every if held[pair[0]].isdisjoint(held[pair[1]])]
        self.pairs = [_pair(matrix, first, second, clusters) for first, second in apart]
        self.sets = [*_sets(matrix, compared, clusters)]
        self.people = AgainstPeople(matrix, compared, members, clusters, options)
        own = [Note("own_members", kind="note")] if len(apart) < len(every) else []
        self.notices = [*left_out, *own, *_notices([matrix.raters[place] for place in compared])]
        stopped = stopped_judges(data, [matrix.raters[place].name for place in compared])
        self.warnings = [*stopped, *mistakes(matrix, compared, clusters)]
        self.corrected, self.answers = _corrected(whole, self.people)


def _corrected(whole: RatingsMatrix, people: AgainstPeople) -> tuple[list[Table], dict[str, Note]]:
    """Judges' means, corrected by all labels of a sample; of combined scores, only where they are named."""
    named = people.options.rater
    judges = [place for place in people.judges if named or whole.raters[place].kind in JUDGES]
    if any(whole.raters[place].kind != "human" for place in people.reference):
        return [], {}
    return corrected_means(whole, judges, people.reference, people.name, people.options)


def _notices(compared: Sequence[MatrixRater]) -> Iterator[Note]:
    if between := [rater.name for rater in compared if not rater.on_scale]:
        yield Note("between_levels", {"raters": between}, "note")
    for rater in compared:
        if rater.other_texts:
            yield Note("other_texts", {"rater": rater.name, "count": rater.other_texts}, "note")


def _pair(matrix: RatingsMatrix, first: int, second: int, clusters: IntArray | None) -> Row:
    names, cases = [matrix.raters[place].name for place in (first, second)], len(matrix.case_ids)
    row: Row = dict(zip(("first", "second"), names, strict=True))
    row["cases"] = int(np.isfinite(matrix.on_scale[:, [first, second]]).all(axis=1).sum())
    for side, place in (("first", first), ("second", second)):
        row[f"{side}_coverage"] = matrix.raters[place].verdicts / max(cases, 1)
    return row | _figures(matrix, [first, second], clusters, of_pairs=True)


def _sets(matrix: RatingsMatrix, compared: Sequence[int], clusters: IntArray | None) -> Iterator[Row]:
    """All raters except combined scores, which repeat others; and the people alone.

    `shared` cases have two scores or more.
    """
    everyone = [place for place in compared if matrix.raters[place].kind not in REPEATS]
    people = [place for place in everyone if matrix.raters[place].kind == "human"]
    for name, places in ((f"all {len(everyone)} raters", everyone), (f"the {len(people)} people", people)):
        if len(places) > 1 and (places is everyone or len(places) < len(everyone)):
            given = np.isfinite(matrix.on_scale[:, places])
            row: Row = {"raters": name, "members": Names(tuple(matrix.raters[place].name for place in places))}
            row |= {"count": len(places), "shared": int(np.sum(given.sum(axis=1) >= 2))}
            yield row | _figures(matrix, places, clusters, of_pairs=False)


def _figures(matrix: RatingsMatrix, places: Sequence[int], clusters: IntArray | None, *, of_pairs: bool) -> Row:
    scores, off = matrix.on_scale[:, list(places)], why_no_levels([matrix.raters[place] for place in places])
    how = {"of_pairs": of_pairs, "nominal": matrix.nominal}
    return {**agreement_figures(scores, matrix.scale, **how, no_levels=off, clusters=clusters)}
