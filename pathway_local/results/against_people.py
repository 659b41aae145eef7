"""Judges compared with people: the human benchmark, which judge agrees better, and how far each errs by group."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import REPEATS
from pathway_local.results.agreement_options import TWO, AgreementOptions, Row, people_table
from pathway_local.results.table import Column, Table
from pathway_local.scores.matrix import RatingsMatrix, why_no_levels
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.effect import Effect, at_holm_levels, mean_effect, scale_mean
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, IntArray, Interval, Undefined
from pathway_local.statistics.human_benchmark import Contrast, compare_judges, human_benchmark, mean_of_people

SPEARMAN = "spearman"
"""The benchmark's figure: a mean of people is no level of the scale."""

GROUP_ERRORS = (
    Column("rater", "rater"), Column("group"), Column("cases", "count"), Column("mean_difference", "estimate"),
    Column("mean_absolute_error", "estimate"), Column("people_error", "estimate"),
)  # fmt: skip


class AgainstPeople:
    """Compares judges with the people of the `reference`, and these with each other; both are columns of the matrix.

    The judges are those among the raters `compared`, neither people nor made of one of the reference; `members` are
    those of combined scores. People of the reference who repeat others can't show how people agree. The `benchmark` has
    each judge and each person against the mean of the other people; it is empty if that can't be.
    """

    def __init__(
        self,
        matrix: RatingsMatrix,
        compared: Sequence[int],
        members: Mapping[str, set[str]],
        clusters: IntArray | None,
        options: AgreementOptions,
    ) -> None:
        self.matrix, self.scores, self.clusters, self.options = matrix, matrix.on_scale, clusters, options
        named = matrix.columns(options.against) if options.against else matrix.of_kind("human")
        self.reference = [place for place in compared if place in named]
        taken = set(self.names([*self.reference, *matrix.of_kind("human")]))
        names = {place: matrix.raters[place].name for place in compared}
        self.judges = [at for at, name in names.items() if not ({name} | members.get(name, set())) & taken]
        self.repeating = self.names([place for place in self.reference if matrix.raters[place].kind in REPEATS])
        self.independent = len(self.reference) > 1 and not self.repeating
        self.benchmark: tuple[Contrast, ...] = ()
        if self.independent and self.judges and not matrix.nominal:
            told = self.names([*self.judges, *self.reference])
            people, judges = self.scores[:, self.reference], self.scores[:, self.judges]
            self.benchmark = human_benchmark(people, judges, options.margin, told, clusters=clusters)

    @property
    def name(self) -> str:
        """The reference's name."""
        if self.options.against or len(self.reference) != 1:
            return self.options.against or "people"
        return self.names(self.reference)[0]

    def names(self, places: Sequence[int]) -> list[str]:
        """The names of raters by their columns."""
        return [self.matrix.raters[place].name for place in places]

    def tables(self) -> Iterator[Table]:
        """Yield the benchmark and two judges; those without rows have nothing to show."""
        judges = zip(self.names(self.judges), self.benchmark, strict=False)
        about = {"coefficient": COEFFICIENTS[SPEARMAN].label}
        yield self._contrasts(
            "benchmark", [Column("judge", "rater")], ("judge_figure", "person_figure"), about,
            [({"judge": judge}, contrast) for judge, contrast in judges],
        )  # fmt: skip
        pairs = combinations(self.judges, 2) if self.reference else ()
        found = [self._two_judges(first, second) for first, second in pairs]
        columns = [*TWO, Column("coefficient")]
        yield self._contrasts("judges", columns, ("first_figure", "second_figure"), {"reference": self.name}, found)

    def _two_judges(self, first: int, second: int) -> tuple[Row, Contrast]:
        """How two judges agree with the reference, by the figure that their scores allow."""
        figure = "kappa" if self.matrix.nominal else "kappa_quadratic"
        if why_no_levels([self.matrix.raters[place] for place in (first, second, *self.reference)]):
            figure = SPEARMAN
        one, other = self.names([first, second])
        judges, people = self.scores[:, [first, second]], self.scores[:, self.reference]
        margin, scale = self.options.margin, self.matrix.scale
        found = compare_judges(judges, people, figure, margin, (one, other), scale, clusters=self.clusters)
        return {"first": one, "second": other, "coefficient": figure}, found

    def _contrasts(
        self, key: str, columns: Sequence[Column], names: tuple[str, str], about: Mapping[str, object],
        found: Sequence[tuple[Row, Contrast]],
    ) -> Table:  # fmt: skip
        shown = [*columns, *(Column(name, "estimate") for name in names)]
        shown += [Column("difference", "estimate"), Column("standing", "key")]
        rows = []
        for row, each in found:
            missing = isinstance(each.first.value, Undefined) and not isinstance(each.second.value, Undefined)
            standing = None if missing else each.standing  # a sentence says what follows from that
            row |= {names[0]: each.first, names[1]: each.second, "difference": each.difference, "standing": standing}
            rows.append(row)
        told = {**about, "margin": self.options.margin}
        return people_table(self.matrix, self.options, key, shown, rows, detail=key == "judges", about=told)


def group_error_tables(every: Sequence[AgainstPeople]) -> list[Table]:
    """Return a table for each score. The intervals of signed errors allow for all groups and scores at once (Holm).

    Errors are used because a kappa falls by itself where a group's scores span little of the scale. Groups with fewer
    scores of both than the options want are left out.
    """
    found = [[*_errors(people)] for people in every]
    signed = iter(at_holm_levels([effect for own in found for _, effect in own if effect]))
    tables = []
    for people, own in zip(every, found, strict=True):
        options = people.options
        rows = [row | {"mean_difference": next(signed)} for row, effect in own if effect]
        notes = [Note("holm"), *_apart(rows, options.by)]
        if hidden := len({row["group"] for row, _ in own} - {row["group"] for row in rows}):
            told = {"count": hidden, "by": options.by, "smallest": options.min_group}
            notes.insert(1, Note("hidden_groups", told))
        about = {"by": options.by, "reference": people.name}
        tables.append(people_table(people.matrix, options, "group_errors", GROUP_ERRORS, rows, notes, about=about))
    return tables


def _errors(people: AgainstPeople) -> Iterator[tuple[Row, Effect | None]]:
    """Yield each judge's row of each group with scores of both, and its signed error if the group is large enough."""
    matrix, by = people.matrix, people.options.by
    if not (by and people.reference and people.judges) or matrix.nominal:
        return
    codes, names = matrix.codes(by)
    scores = people.scores[:, people.reference]
    mean, others = mean_of_people(scores), range(scores.shape[1] if people.independent else 0)
    own = [scores[:, each] - mean_of_people(np.delete(scores, each, axis=1)) for each in others]
    for judge in people.judges:
        errors = people.scores[:, judge] - mean
        for code, name in enumerate(names):
            inside = np.asarray((codes == code) & np.isfinite(errors))
            row: Row = {"rater": matrix.raters[judge].name, "group": name, "cases": int(inside.sum())}
            if inside.sum() < people.options.min_group:
                yield from [(row, None)] if inside.any() else ()
                continue
            clusters = None if people.clusters is None else people.clusters[inside]
            row["mean_absolute_error"] = _size(people, [errors], codes == code)
            row["people_error"] = _size(people, own, codes == code) if own else None
            yield row, mean_effect(errors[inside], clusters, each="error")


def _size(people: AgainstPeople, errors: Sequence[FloatArray], inside: BoolArray) -> Estimate:
    """The mean absolute error of raters, (cases,) each, in a group; a case's errors depend on each other."""
    each = np.stack(errors, axis=1)
    case, rater = np.nonzero(np.isfinite(each) & inside[:, None])
    levels = people.matrix.levels
    clusters = case if people.clusters is None else people.clusters[case]
    return scale_mean(np.abs(each[case, rater]), (0.0, float(levels[-1] - levels[0])), clusters)


def _apart(rows: Sequence[Row], by: str) -> Iterator[Note]:
    """Warn of each judge that is surely further from people in a group than they are from each other."""
    for row in rows:
        size, own = row["mean_absolute_error"], row["people_error"]
        if isinstance(size, Estimate) and isinstance(own, Estimate):
            one, other = size.interval, own.interval
            if isinstance(one, Interval) and isinstance(other, Interval) and one.low > other.high:
                told = {"judge": row["rater"], "by": by, "group": row["group"], "points": size.value, "own": own.value}
                yield Note("group_apart", told, "warning")
