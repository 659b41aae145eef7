"""Judges compared with people: the human benchmark, which judge agrees better, and in which groups a judge errs."""

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from pathway_local.rater import REPEATS
from pathway_local.results.agreement_options import TWO, AgreementOptions, Row, people_table
from pathway_local.results.table import Column, Table
from pathway_local.scores.matrix import RatingsMatrix, why_no_levels
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import FloatArray, IntArray, Undefined
from pathway_local.statistics.human_benchmark import (
    Contrast,
    compare_judges,
    human_benchmark,
    mean_of_people,
)

SPEARMAN = "spearman"
"""The benchmark's figure: a mean of people is no level of the scale."""


class AgainstPeople:
    """Compares judges with the people of the `reference`, and these with each other; both are columns of the matrix.

    The judges are those among the raters `compared`; `members` are those of combined scores.
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
        self.judges = self._judges(compared, members)

    def _judges(self, compared: Sequence[int], members: Mapping[str, set[str]]) -> list[int]:
        """The raters to compare with the reference: neither people nor scores made of one of the reference."""
        taken = set(self.names([*self.reference, *self.matrix.of_kind("human")]))
        named = {place: self.matrix.raters[place].name for place in compared}
        return [place for place, name in named.items() if not ({name} | members.get(name, set())) & taken]

    @property
    def name(self) -> str:
        """The reference's name."""
        if self.options.against or len(self.reference) != 1:
            return self.options.against or "people"
        return self.names(self.reference)[0]

    @property
    def repeating(self) -> list[str]:
        """The raters of the reference who did not rate on their own, so that they can't show how people agree."""
        return self.names([place for place in self.reference if self.matrix.raters[place].kind in REPEATS])

    @property
    def independent(self) -> bool:
        """Whether there are several people who rated on their own."""
        return len(self.reference) > 1 and not self.repeating

    @property
    def has_means(self) -> bool:
        """Whether people's scores have means to compare with."""
        return bool(self.reference) and not self.matrix.nominal

    def names(self, places: Sequence[int]) -> list[str]:
        """The names of raters by their columns."""
        return [self.matrix.raters[place].name for place in places]

    @cached_property
    def benchmark(self) -> tuple[Contrast, ...]:
        """Each judge and each person against the mean of the other people, averaged; empty if that can't be."""
        if not (self.has_means and self.judges and self.independent):
            return ()
        return human_benchmark(
            self.scores[:, self.reference],
            self.scores[:, self.judges],
            self.options.margin,
            self.names([*self.judges, *self.reference]),
            clusters=self.clusters,
        )

    @cached_property
    def mean(self) -> FloatArray:
        """The mean score of the reference, (cases,)."""
        return mean_of_people(self.scores[:, self.reference])

    def own_errors(self) -> FloatArray:
        """How far each person of the reference is from the mean of the others, (cases, people); nobody alone."""
        people = self.scores[:, self.reference if self.independent else []]
        others = [mean_of_people(np.delete(people, person, axis=1)) for person in range(people.shape[1])]
        return people - np.stack(others, axis=1) if others else people

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
        found = compare_judges(
            self.scores[:, [first, second]],
            self.scores[:, self.reference],
            figure,
            self.options.margin,
            (one, other),
            self.matrix.scale,
            clusters=self.clusters,
        )
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
