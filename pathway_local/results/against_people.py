"""Judges compared with people: the human benchmark, which judge agrees better, and in which groups a judge errs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import JUDGES, PEOPLE, REPEATS
from pathway_local.results.agreement_plan import IMPORT, AgreementPlan
from pathway_local.results.label_design import design_weights, uneven_strata
from pathway_local.results.ratings_matrix import RatingsMatrix, why_no_levels
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.families import at_holm_levels, family_levels
from pathway_local.statistics.figure import Estimate, FloatArray, IntArray, undefined_estimate
from pathway_local.statistics.human_benchmark import (
    Contrast,
    HumanBenchmark,
    compare_judges,
    human_benchmark,
    mean_of_people,
)
from pathway_local.statistics.intervals import LEVEL, Effect, mean_effect
from pathway_local.statistics.subgroups import GroupError, drift, group_errors, held_to_family

MEAN_OF_OTHERS = "mean of the other people"
BENCHMARK_FIGURE = "spearman"
"""The benchmark's figure unless the plan names another one that allows means of people."""


@dataclass(frozen=True, slots=True)
class JudgesAndPeople:
    """The benchmark of these `people` for these `judges`, by name."""

    people: tuple[str, ...]
    judges: tuple[str, ...]
    benchmark: HumanBenchmark


@dataclass(frozen=True, slots=True)
class TwoJudges:
    """Two judges' agreement with the same people, by `figure`."""

    first: str
    second: str
    figure: str
    contrast: Contrast


@dataclass(frozen=True, slots=True)
class Groups:
    """A judge's or a person's errors against `reference` in each group of cases by its name; `hidden` have too few."""

    rater: str
    reference: str
    groups: tuple[tuple[str, GroupError], ...]
    hidden: int

    @property
    def of_person(self) -> bool:
        """Whether the rater is one of the people of the reference."""
        return self.reference == MEAN_OF_OTHERS


@dataclass(frozen=True, slots=True)
class Severity:
    """A person's scores less the mean of the other people, on the `cases` that both have; below 0 is stricter."""

    person: str
    cases: int
    difference: Estimate


@dataclass(frozen=True, slots=True)
class Drift:
    """How far a rater's errors against `reference` move from the first to the last value of a column."""

    rater: str
    reference: str
    cases: int
    effect: Effect
    level: float = LEVEL

    @property
    def change(self) -> Estimate:
        """The figure with its interval."""
        return self.effect.estimate(self.level)


@dataclass(frozen=True, slots=True)
class AgainstPeople:
    """The judges `compared` with `reference`, and its `members` with each other; `missing` says why a part is absent.

    `unweighted` says that labels were drawn with uneven chances, which groups, severity and drift do not allow for.
    """

    reference: str
    members: tuple[str, ...]
    compared: tuple[str, ...]
    margin: float
    unweighted: bool
    benchmark: JudgesAndPeople | None
    judges: tuple[TwoJudges, ...]
    groups: tuple[Groups, ...]
    severity: tuple[Severity, ...]
    drift: tuple[Drift, ...]
    missing: tuple[Note, ...]


def against_people(
    matrix: RatingsMatrix,
    compared: Sequence[int],
    members: Mapping[str, set[str]],
    clusters: IntArray | None,
    plan: AgreementPlan,
) -> AgainstPeople:
    """Compare the judges among the raters `compared` with the plan's reference; `members` are those of panels."""
    reference = _reference(matrix, compared, plan.against)
    judges = _judges(matrix, compared, reference, members)
    test = _Test(matrix, matrix.on_scale, judges, reference, clusters, plan)
    has_means = bool(reference) and not matrix.nominal
    return AgainstPeople(
        reference=test.name,
        members=test.names(reference),
        compared=test.names(judges) if reference else (),
        margin=plan.margin,
        unweighted=any(uneven_strata(matrix)),
        benchmark=test.benchmark() if has_means and judges and test.independent else None,
        judges=tuple(test.two_judges(*two) for two in combinations(judges, 2)) if reference else (),
        groups=tuple(test.groups()) if plan.by and has_means else (),
        severity=tuple(test.severity()) if has_means and test.independent else (),
        drift=tuple(test.drift()) if plan.drift and has_means else (),
        missing=tuple(test.missing()),
    )


def held_to_families(found: Sequence[AgainstPeople]) -> list[AgainstPeople]:
    """The same, of several scores, with intervals of groups and drift that allow for all raters and scores at once.

    Judges' groups are one family of tests, people's another, and drift a third.
    """
    levels = iter(family_levels([moved.effect for each in found for moved in each.drift]))
    errors = {
        persons: iter(held_to_family([error for one in _raters(found, persons) for _, error in one.groups]))
        for persons in (False, True)
    }
    return [
        replace(
            each,
            drift=tuple(replace(moved, level=next(levels)) for moved in each.drift),
            groups=tuple(
                replace(
                    one, groups=tuple((name, next(errors[one.reference == MEAN_OF_OTHERS])) for name, _ in one.groups)
                )
                for one in each.groups
            ),
        )
        for each in found
    ]


def _raters(found: Sequence[AgainstPeople], persons: bool) -> list[Groups]:
    return [one for each in found for one in each.groups if one.of_person is persons]


def _reference(matrix: RatingsMatrix, compared: Sequence[int], against: str) -> list[int]:
    named = matrix.columns(against) if against else matrix.of_kind("human")
    return [place for place in compared if place in named]


def _judges(
    matrix: RatingsMatrix, compared: Sequence[int], reference: Sequence[int], members: Mapping[str, set[str]]
) -> list[int]:
    """The raters to compare with the reference: neither people nor panels that include one of the reference."""
    taken = {matrix.raters[place].name for place in (*reference, *matrix.of_kind(*PEOPLE))}
    others = (place for place in compared if matrix.raters[place].name not in taken)
    return [place for place in others if not members.get(matrix.raters[place].name, set()) & taken]


@dataclass(frozen=True, slots=True)
class _Test:
    """Compares judges with the people of the reference, and these with each other; both are columns of the matrix."""

    matrix: RatingsMatrix
    scores: FloatArray
    judges: Sequence[int]
    reference: Sequence[int]
    clusters: IntArray | None
    plan: AgreementPlan

    @property
    def name(self) -> str:
        """The reference's name."""
        if self.plan.against or len(self.reference) != 1:
            return self.plan.against or "people"
        return self.names(self.reference)[0]

    @property
    def repeating(self) -> tuple[str, ...]:
        """The raters of the reference who did not rate on their own, so that they can't show how people agree."""
        return self.names([place for place in self.reference if self.matrix.raters[place].kind in REPEATS])

    @property
    def independent(self) -> bool:
        """Whether there are several people who rated on their own."""
        return len(self.reference) > 1 and not self.repeating

    def missing(self) -> Iterator[Note]:
        """Say why a part is absent."""
        if not self.reference:
            yield Note("no_people_scores", kind="note")
        elif not self.judges and not self.plan.raters:
            another = any(self.matrix.raters[place].kind in JUDGES for place in self.reference)
            yield Note("no_other_judge" if another else "no_judge_scores", {"reference": self.name}, "note")
        elif self.matrix.nominal:
            yield Note("nominal_no_means", kind="note")
        elif self.repeating:
            yield Note("no_benchmark_repeating", {"raters": list(self.repeating)}, "note")
        elif len(self.reference) < 2:
            yield Note("no_benchmark_few", kind="note")
        if self.plan.drift == IMPORT and not self.independent:
            yield Note("no_import_drift", kind="note")

    def names(self, places: Sequence[int]) -> tuple[str, ...]:
        """The names of raters by their columns."""
        return tuple(self.matrix.raters[place].name for place in places)

    def _weights(self, judges: Sequence[int], least: int) -> FloatArray | None:
        """How many cases each stands for, among those with all these judges and at least so many people; (cases,)."""
        weights = design_weights(self.matrix, [*judges, *self.reference])
        given = np.isfinite(self.matrix.given)
        people = given[:, list(self.reference)].sum(axis=1)
        return weights and weights(given[:, list(judges)].all(axis=1) & (people >= least))

    def benchmark(self) -> JudgesAndPeople:
        """Each judge and each person against the mean of the other people."""
        people, judges = self.names(self.reference), self.names(self.judges)
        asked = self.plan.figure
        figure = asked if asked and not COEFFICIENTS[asked].needs_levels else BENCHMARK_FIGURE
        found = human_benchmark(
            self.scores[:, list(self.reference)],
            self.scores[:, list(self.judges)],
            figure,
            self.plan.margin,
            (*judges, *people),
            clusters=self.clusters,
            weights=self._weights(self.judges, 2),
        )
        return JudgesAndPeople(people, judges, found)

    def two_judges(self, first: int, second: int) -> TwoJudges:
        """Two judges by their columns against the reference."""
        figure = self.plan.figure or ("kappa" if self.matrix.nominal else "kappa_quadratic")
        if self.matrix.nominal and COEFFICIENTS[figure].scale != "nominal":
            figure = "kappa"
        names = (self.matrix.raters[first].name, self.matrix.raters[second].name)
        off = why_no_levels([self.matrix.raters[place] for place in (first, second, *self.reference)])
        if off and not self.plan.figure:
            figure = BENCHMARK_FIGURE
        if off and COEFFICIENTS[figure].needs_levels:
            refused = undefined_estimate(off)
            return TwoJudges(*names, figure, Contrast(refused, refused, refused, "can't tell"))
        contrast = compare_judges(
            self.scores[:, [first, second]],
            self.scores[:, list(self.reference)],
            figure,
            self.plan.margin,
            names,
            self.matrix.grid([first, second, *self.reference]),
            levels=tuple(map(float, self.matrix.levels)),
            clusters=self.clusters,
            weights=self._weights([first, second], 1),
        )
        return TwoJudges(*names, figure, contrast)

    def severity(self) -> Iterator[Severity]:
        """Each person of the reference against the others, with intervals at Holm's levels."""
        apart = [self.scores[:, place] - self._mean_of_others(place) for place in self.reference]
        both = [np.isfinite(each) for each in apart]
        effects = [
            mean_effect(each[kept], None if self.clusters is None else self.clusters[kept], each="difference")
            for each, kept in zip(apart, both, strict=True)
        ]
        found = zip(self.names(self.reference), both, at_holm_levels(effects), strict=True)
        return (Severity(name, int(kept.sum()), estimate) for name, kept, estimate in found)

    def _others(self, rater: int) -> FloatArray:
        """The scores of the reference's other people, (cases, people); their mean alone if some rest on others'."""
        if self.repeating:
            return self._mean_of_others(rater)[:, None]
        return self.scores[:, [place for place in self.reference if place != rater]]

    def _mean_of_others(self, rater: int) -> FloatArray:
        return mean_of_people(self.scores[:, [place for place in self.reference if place != rater]])

    def _compared(self) -> list[tuple[int, str, str]]:
        """Each judge, and each person of the reference, by column and name, and what the mean of the others is called.

        Without several people who rated on their own, judges alone.
        """
        people = self.reference if self.independent else ()
        called = [*([self.name] * len(self.judges)), *([MEAN_OF_OTHERS] * len(people))]
        places = [*self.judges, *people]
        return list(zip(places, self.names(places), called, strict=True))

    def drift(self) -> Iterator[Drift]:
        """Judges against the reference and its people against each other.

        Over imports, people alone: a judge's scores come with none.
        """
        by_import = self.plan.drift == IMPORT
        every = [each for each in self._compared() if not by_import or each[0] in self.reference]
        order = None if by_import else self.matrix.order(self.plan.drift)
        for rater, name, against in every:
            position = self.matrix.import_order(rater) if order is None else order
            moved = drift(self.scores[:, rater], self._others(rater), position, clusters=self.clusters)
            yield Drift(name, against, *moved)

    def groups(self) -> Iterator[Groups]:
        """Judges against the reference, and each person of it against the others."""
        smallest = self.plan.smallest
        codes, names = self.matrix.codes(self.plan.by)
        known = codes >= 0
        own = None if self.clusters is None else self.clusters[known]
        for rater, name, against in self._compared():
            scores, people, mean = (
                each[known] for each in (self.scores[:, rater], self._others(rater), self._mean_of_others(rater))
            )
            found = group_errors(scores, people, mean, codes[known], clusters=own, smallest=smallest)
            shown = [each for each in found if each.cases >= (smallest if self.plan.hides else 1)]
            named = tuple((names[each.group], each) for each in shown)
            yield Groups(name, against, named, len(found) - len(shown))
