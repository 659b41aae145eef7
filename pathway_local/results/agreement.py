"""Agreement of a run's raters: in pairs, in sets, and of judges with people."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.rater import ADJUDICATED, REPEATS, Kind, only_group
from pathway_local.results.against_people import AgainstPeople, against_people, held_to_families
from pathway_local.results.agreement_plan import AgreementPlan
from pathway_local.results.alike_people import alike_people
from pathway_local.results.figure_row import FigureRow, figure_rows
from pathway_local.results.label_design import design_weights, label_designs, picked_labels, uneven_strata
from pathway_local.results.ratings_matrix import MatrixRater, RatingsMatrix, why_no_levels
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.agreement import PairAgreement, Reliability, SpecialAgreement, pair_agreement, reliability
from pathway_local.statistics.agreement import special_agreement as special_pair
from pathway_local.statistics.figure import IntArray, Undefined
from pathway_local.statistics.levels import GroupedCorrelation, GroupLevel, correlation_at
from pathway_local.verdict import Number, Value

ORDER: tuple[Kind, ...] = ("judge", "hosted", "panel", "human", "adjudicated")
"""The first of a pair is the one whose kind comes first: judges minus people, not the other way round."""


@dataclass(frozen=True, slots=True)
class Pair:
    """Two raters and their columns: on the scale, and on special levels where the score has some.

    `at_level` has their correlations over systems or within documents, if those were asked for.
    """

    first: MatrixRater
    second: MatrixRater
    places: tuple[int, int]
    agreement: PairAgreement
    special: SpecialAgreement | None
    at_level: GroupedCorrelation | None = None

    @property
    def names(self) -> tuple[str, str]:
        """The names of both raters."""
        return self.first.name, self.second.name


@dataclass(frozen=True, slots=True)
class Set:
    """Several raters taken together, called `name`."""

    name: str
    members: tuple[str, ...]
    found: Reliability


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """The agreement on one score; `cases` counts those of the run at `path` under its rubric.

    `sampled` names people, or a group of them, whose labels are those of a random sample; empty if nobody's are.
    """

    path: Path
    rubric: str
    score: str
    nominal: bool
    levels: tuple[Number, ...]
    special: tuple[Number, ...]
    cases: int
    plan: AgreementPlan
    raters: tuple[MatrixRater, ...]
    pairs: tuple[Pair, ...]
    twice: tuple[Pair, ...]
    sets: tuple[Set, ...]
    people: AgainstPeople
    notices: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    sampled: str = ""

    def coverage(self, rater: MatrixRater) -> float:
        """The share of the cases that the rater scored."""
        return rater.verdicts / self.cases if self.cases else 0.0

    def rows(self) -> Iterator[FigureRow]:
        """Every figure as a row."""
        for pair in self.pairs:
            facts: dict[str, Value] = {"cases": pair.agreement.cases}
            facts |= {"first_coverage": self.coverage(pair.first), "second_coverage": self.coverage(pair.second)}
            yield from figure_rows("pairs", pair.agreement.figures, *pair.names, facts=facts)
            if pair.special:
                yield from figure_rows("special", pair.special.figures, *pair.names, facts=facts)
        for pair in self.twice:
            facts = {"cases": pair.agreement.cases}
            yield from figure_rows("twice", pair.agreement.figures, *pair.names, facts=facts)
        for pair in self.pairs:
            if found := pair.at_level:
                facts = {"groups": found.groups, "used": found.used}
                yield from figure_rows(f"{self.plan.level} level", found.figures, *pair.names, facts=facts)
        for each in self.sets:
            facts = {"cases": each.found.shared, "raters": each.found.raters, "complete": each.found.complete}
            yield from figure_rows("together", each.found.figures, each.name, facts=facts, raters=each.members)
        yield from self.people.rows()

    def as_json(self) -> dict[str, Value]:
        """The same as plain values, with the confusion matrices."""
        return {
            "rubric": self.rubric,
            "score": self.score,
            "scale": "nominal" if self.nominal else "ordinal",
            "levels": list(self.levels),
            "special": list(self.special),
            "cases": self.cases,
            "cluster_by": self.plan.cluster or None,
            "raters": [
                {
                    "name": rater.name,
                    "kind": rater.kind,
                    "scored": rater.verdicts,
                    "rated": rater.verdicts + rater.picked,
                    "coverage": self.coverage(rater),
                    "failures": rater.failures,
                    "other_texts": rater.other_texts,
                }
                for rater in self.raters
            ],
            "figures": [row.as_json() for row in self.rows()],
            "confusion": [_table_json(pair) for pair in self.pairs],
            "notices": list(self.notices),
        }


def agreement(
    run: RunFile, rubric: Rubric, plan: AgreementPlan, matrices: Iterable[RatingsMatrix]
) -> list[ScoreAgreement]:
    """The agreement on each score of a rubric, on the cases that raters have in common. Raises UsageError.

    Of people who worked on a sample, only labels of that sample count: raters disagree more on cases that were picked
    for their disagreement than on others.
    """
    members = {
        rater.name: set(rater.members)
        for _, rater in run.raters()
        if rater.kind == "panel" and rater.rubric == rubric.name
    }
    found = [_score(run.path, matrix, members, plan) for matrix in matrices]
    held = held_to_families([each.people for each in found])
    return [replace(each, people=people) for each, people in zip(found, held, strict=True)]


def _score(path: Path, whole: RatingsMatrix, members: Mapping[str, set[str]], plan: AgreementPlan) -> ScoreAgreement:
    # The people that judges are compared with are raters, too, even if only judges are named.
    chosen = _chosen(whole, [*plan.raters, plan.against] if plan.raters and plan.against else plan.raters)
    matrix, left_out = _without_picked(whole)
    clusters = matrix.clusters(plan.cluster) if plan.cluster else None
    again = [tuple(_single(matrix, name) for name in named) for named in plan.twice]
    chosen = [place for place in chosen if place not in {second for _, second in again}]
    compared = [place for place in chosen if matrix.raters[place].verdicts]
    pairs = [
        _pair(matrix, first, second, clusters)
        for first, second in combinations(compared, 2)
        if not _holds(matrix, members, first, second)
    ]
    if plan.level != "case" and not matrix.nominal:
        codes, _ = matrix.codes(plan.level_column, empty=False)
        pairs = [_at_level(matrix, pair, plan.level, codes, clusters) for pair in pairs]
    return ScoreAgreement(
        path=path,
        rubric=matrix.rubric,
        score=matrix.score,
        nominal=matrix.nominal,
        levels=matrix.levels,
        special=matrix.special,
        cases=len(matrix.case_ids),
        plan=plan,
        raters=tuple(matrix.raters[place] for place in chosen),
        pairs=tuple(pairs),
        twice=tuple(_pair(matrix, first, second, clusters) for first, second in again),
        sets=tuple(_sets(matrix, compared, pairs, clusters)),
        people=against_people(matrix, compared, members, clusters, plan),
        notices=(*left_out, *_notices(matrix, compared, members)),
        warnings=tuple(alike_people(matrix, compared)),
        sampled=_sampled(whole, plan.against),
    )


def _sampled(matrix: RatingsMatrix, against: str) -> str:
    """The group or the first of these people who labelled a random sample, by the name that `calibrate` takes."""
    people = [matrix.raters[place].name for place in matrix.scoring("human")]
    names = [against or only_group(people), *people]
    asked = [name for name in names if name and (not against or name == against)]
    designs = ((name, label_designs(matrix, matrix.columns(name))) for name in asked)
    return next((name for name, found in designs if any(each.worked_on for each in found)), "")


def _without_picked(matrix: RatingsMatrix) -> tuple[RatingsMatrix, list[str]]:
    """The matrix without labels from outside the samples that people worked on, and notes about them."""
    given, raters, said = matrix.given.copy(), list(matrix.raters), list[str]()
    for place in [*matrix.of_kind("human"), *matrix.of_kind(ADJUDICATED)] if matrix.designs else ():
        rater, picked = raters[place], picked_labels(matrix, place)
        if picked is None:
            said.append(f"{rater.name} worked on no sample: the figures hold for the labelled cases, not for all")
        elif picked.any():
            given[picked, place] = np.nan
            count = int(picked.sum())
            raters[place] = replace(rater, verdicts=rater.verdicts - count, picked=count)
            said.append(
                f"{rater.verdicts - count:,} of {rater.name}'s {rater.verdicts:,} ratings count: the others did not "
                "come back on a sheet or page of the sample, so chance may not have chosen their cases"
            )
    for column in dict.fromkeys(uneven_strata(matrix)):
        said.append(
            f"the sample has more cases of some values of {column} than by their share: figures of pairs and sets "
            "weigh by the share if their labels come from one sample, and so do the human benchmark and comparisons of "
            "judges; matrices, correlations by system or document, severity, drift and groups count each case once"
        )
    return replace(matrix, given=given, raters=tuple(raters)), said


def _chosen(matrix: RatingsMatrix, names: Sequence[str]) -> list[int]:
    places = matrix.places(names) or range(len(matrix.raters))
    return sorted(places, key=lambda place: (ORDER.index(matrix.raters[place].kind), place))


def _single(matrix: RatingsMatrix, name: str) -> int:
    """The column of one rater. Raises UsageError for a name of several, and UnknownName."""
    places = matrix.columns(name)
    if len(places) > 1:
        raise UsageError(
            f"{name} is several raters, and --twice is about one person", f"Name one, such as {name}/NAME."
        )
    return places[0]


def _holds(matrix: RatingsMatrix, members: Mapping[str, set[str]], first: int, second: int) -> bool:
    """Whether one of the two is a panel with the other, or another panel with the same member, in it."""
    held = [members.get(name, {name}) for name in (matrix.raters[first].name, matrix.raters[second].name)]
    return bool(held[0] & held[1])


def _notices(matrix: RatingsMatrix, compared: Sequence[int], members: Mapping[str, set[str]]) -> Iterator[str]:
    if len(compared) < 2:
        yield "fewer than two raters have scored, so there is nothing to compare"
    if any(_holds(matrix, members, first, second) for first, second in combinations(compared, 2)):
        yield "a panel is not compared with its own members, because it is made of their scores"
    if any(matrix.raters[place].kind == "adjudicated" for place in compared):
        yield f"{ADJUDICATED} scores are agreed, not independent: --against {ADJUDICATED} compares judges with them"
    for place in compared:
        rater = matrix.raters[place]
        if rater.other_texts:
            yield f"{rater.name}: {rater.other_texts} verdicts are left out, because their cases had other texts"


def _pair(matrix: RatingsMatrix, first: int, second: int, clusters: IntArray | None) -> Pair:
    raters = (matrix.raters[first], matrix.raters[second])
    scores, given = matrix.on_scale, matrix.given
    weights = design_weights(matrix, [first, second])
    heavy = weights and weights(np.asarray(np.isfinite(given[:, [first, second]]).all(axis=1)))
    found = pair_agreement(
        scores[:, first],
        scores[:, second],
        tuple(map(float, matrix.levels)),
        nominal=matrix.nominal,
        no_levels=why_no_levels(raters),
        clusters=clusters,
        weights=heavy,
    )
    special = tuple(map(float, matrix.special))
    marked = (
        special_pair(given[:, first], given[:, second], special, clusters=clusters, weights=heavy) if special else None
    )
    return Pair(*raters, (first, second), found, marked)


def _at_level(matrix: RatingsMatrix, pair: Pair, level: GroupLevel, codes: IntArray, clusters: IntArray | None) -> Pair:
    first, second = (matrix.on_scale[:, place] for place in pair.places)
    return replace(pair, at_level=correlation_at(level, first, second, codes, clusters=clusters))


def _sets(
    matrix: RatingsMatrix, compared: Sequence[int], pairs: Sequence[Pair], clusters: IntArray | None
) -> Iterator[Set]:
    """All raters except panels and adjudicated scores, which repeat others; the people alone; and each pair."""
    everyone = [place for place in compared if matrix.raters[place].kind not in REPEATS]
    people = [place for place in everyone if matrix.raters[place].kind == "human"]
    if len(everyone) > 2:
        yield _set(matrix, f"all {len(everyone)} raters", everyone, clusters)
    if 2 < len(people) < len(everyone):
        yield _set(matrix, f"the {len(people)} people", people, clusters)
    for pair in pairs:
        yield _set(matrix, " – ".join(pair.names), pair.places, clusters)


def _set(matrix: RatingsMatrix, name: str, places: Sequence[int], clusters: IntArray | None) -> Set:
    raters, columns = [matrix.raters[place] for place in places], list(places)
    weights, given = design_weights(matrix, places), np.isfinite(matrix.given[:, columns]).sum(axis=1)
    found = reliability(
        matrix.on_scale[:, columns],
        tuple(map(float, matrix.levels)),
        nominal=matrix.nominal,
        no_levels=why_no_levels(raters),
        clusters=clusters,
        weights=None if weights is None else lambda least: weights(given >= least),
    )
    return Set(name, tuple(rater.name for rater in raters), found)


def _table_json(pair: Pair) -> dict[str, Value]:
    table = pair.agreement.table
    names: dict[str, Value] = {"first": pair.first.name, "second": pair.second.name}
    if isinstance(table, Undefined):
        return names | {"counts": None, "reason": str(table)}
    counts: dict[str, Value] = {"counts": np.asarray(table).tolist()}
    if pair.special:
        counts["special"] = dict(pair.special.counts)
    return names | counts
