"""What all raters gave all cases for one score, as arrays: the data of every figure of agreement."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pathway_local.database import decoding
from pathway_local.errors import UnknownName, UsageError
from pathway_local.fields import Score as ScoreField
from pathway_local.figure import FloatArray, IntArray
from pathway_local.panel import mean_of
from pathway_local.rater import Kind, Rater
from pathway_local.ratings import GROUP
from pathway_local.rubric import Rubric
from pathway_local.run_file import RunFile
from pathway_local.samples import Sample, inclusions, samples
from pathway_local.stored_outcome import from_columns
from pathway_local.verdict import Verdict

# In the order in which outcomes came; the fields, which hold texts, are decoded only where a score is among them.
_OUTCOMES = """
    SELECT case_id, row, metadata, rater_id, case_hash, scores, fields
    FROM outcomes CROSS JOIN cases ON key = case_key WHERE superseded = 0 AND rater_id IN ({}) ORDER BY outcomes.id
"""


@dataclass(frozen=True, slots=True)
class MatrixRater:
    """A rater's column. `on_scale` is false for a panel's mean: its scores are no levels.

    `verdicts` counts its scores in the matrix, `failures` the cases it failed on, `other_texts` the verdicts
    that are left out since their cases had other texts.
    """

    name: str
    kind: Kind
    on_scale: bool
    verdicts: int
    failures: int
    other_texts: int


@dataclass(frozen=True, slots=True)
class Design:
    """A probability sample over the matrix's cases, each array (cases,).

    `probability` is 0 for cases outside its population; `strata` holds codes, -1 for those.
    """

    sample: Sample
    probability: FloatArray
    drawn: NDArray[np.bool_]
    strata: IntArray


@dataclass(frozen=True, slots=True)
class RatingsMatrix:
    """One score under one rubric: `given` and `expected` are (cases, raters), NaN where a rater has none.

    Cases come in the order of the cases file. `given` holds special values as they are, `expected` the
    probability-weighted scores of raters that have probabilities. `levels` are the declared ones on the scale,
    ascending, `special` those without a place on it.
    """

    rubric: str
    score: str
    nominal: bool
    levels: tuple[int, ...]
    special: tuple[int, ...]
    raters: tuple[MatrixRater, ...]
    case_ids: tuple[str, ...]
    given: FloatArray
    expected: FloatArray
    metadata: tuple[Mapping[str, str], ...]
    design: Design | None = None

    @property
    def on_scale(self) -> FloatArray:
        """`given` with NaN for special values."""
        return np.where(np.isin(self.given, self.special), np.nan, self.given)

    def columns(self, name: str) -> list[int]:
        """The columns of a rater, or of all that were imported together under that name. UnknownName for none."""
        names = [rater.name for rater in self.raters]
        if name in names:
            return [names.index(name)]
        group = [place for place, other in enumerate(names) if other.startswith(f"{name}{GROUP}")]
        if not group:
            raise UnknownName("rater", name, names)
        return group

    def of_kind(self, *kinds: Kind) -> list[int]:
        """The columns of raters of these kinds."""
        return [place for place, rater in enumerate(self.raters) if rater.kind in kinds]

    def codes(self, column: str) -> tuple[IntArray, tuple[str, ...]]:
        """Each case's value of a metadata column as a code (cases,), and the values in the order of their codes.

        UsageError where the run does not keep the column for every case.
        """
        if any(column not in kept for kept in self.metadata):
            hint = f"Judge once more with --keep {column}: it fills the column in and judges nothing again."
            raise UsageError(f"the run does not keep the column {column!r} for every case", hint)
        values = [kept[column] for kept in self.metadata]
        names = tuple(dict.fromkeys(values))
        place = {name: code for code, name in enumerate(names)}
        return np.array([place[value] for value in values], dtype=np.int64), names


@dataclass(slots=True)
class _Case:
    """A case with the hash of the texts that its latest verdict is about."""

    row: int
    metadata: Mapping[str, str] = field(default_factory=dict)
    judged: bool = False
    case_hash: str = ""


class _Given(NamedTuple):
    """One rater's stored verdict; a tuple, since there is one for each case and rater."""

    case_id: str
    column: int
    case_hash: str
    scores: str
    fields: str


def ratings_matrices(run: RunFile, rubric: Rubric) -> list[RatingsMatrix]:
    """The matrix of each score of the rubric, in their order; the design is that of the rubric's latest sample."""
    return _Gathered(run, rubric).matrices()


class _Gathered:
    """All that a run holds under a rubric, gathered in one reading."""

    def __init__(self, run: RunFile, rubric: Rubric) -> None:
        self.rubric = rubric
        self.path = run.path
        self.raters = [(rater_id, rater) for rater_id, rater in run.raters() if rater.rubric == rubric.name]
        self.sample = next(reversed(samples(run, rubric.name)), None)
        self.inclusions = inclusions(run, self.sample.id) if self.sample else []
        self.cases: dict[str, _Case] = {each.case_id: _Case(each.row) for each in self.inclusions}
        self.given: list[_Given] = []
        self.failures = [0] * len(self.raters)
        self.other_texts = [0] * len(self.raters)
        self._read(run)

    def _read(self, run: RunFile) -> None:
        place = {rater_id: number for number, (rater_id, _) in enumerate(self.raters)}
        means = {number for number, (_, rater) in enumerate(self.raters) if _is_mean(rater)}
        query = _OUTCOMES.format(",".join("?" * len(place)))
        with decoding(run.path):
            for case_id, row, metadata, rater_id, case_hash, scores, fields in run.database.stream(query, *place):
                if case_id not in self.cases or not self.cases[case_id].judged:
                    self.cases[case_id] = _Case(row, json.loads(metadata), judged=True)
                column = place[rater_id]
                if scores is None:
                    self.failures[column] += 1
                else:
                    self.given.append(_Given(case_id, column, case_hash, scores, fields if column in means else ""))
                    self.cases[case_id].case_hash = case_hash
        present = [each for each in self.given if each.case_hash == self.cases[each.case_id].case_hash]
        for each in self.given:
            self.other_texts[each.column] += each.case_hash != self.cases[each.case_id].case_hash
        self.given = present

    def matrices(self) -> list[RatingsMatrix]:
        ids = sorted(self.cases, key=lambda case_id: (self.cases[case_id].row, case_id))
        rows = {case_id: number for number, case_id in enumerate(ids)}
        design = self._design(rows)
        return [self._matrix(name, declared, rows, design) for name, declared in self.rubric.format.scores.items()]

    def _matrix(self, name: str, declared: ScoreField, rows: Mapping[str, int], design: Design | None) -> RatingsMatrix:
        given = np.full((len(rows), len(self.raters)), np.nan)
        expected = given.copy()
        with decoding(self.path):
            for each in self.given:
                value, weighted = _values(_verdict(each.scores, each.fields), name, declared)
                given[rows[each.case_id], each.column], expected[rows[each.case_id], each.column] = value, weighted
        return RatingsMatrix(
            rubric=self.rubric.name,
            score=name,
            nominal=declared.scale == "nominal",
            levels=tuple(value for value in declared.values if value not in declared.special),
            special=declared.special,
            raters=tuple(self._columns(given)),
            case_ids=tuple(rows),
            given=given,
            expected=expected,
            metadata=tuple(self.cases[case_id].metadata for case_id in rows),
            design=design,
        )

    def _columns(self, given: FloatArray) -> Iterator[MatrixRater]:
        scored = np.isfinite(given).sum(axis=0)
        for place, (_, rater) in enumerate(self.raters):
            counts = (int(scored[place]), self.failures[place], self.other_texts[place])
            yield MatrixRater(rater.name, rater.kind, not _is_mean(rater), *counts)

    def _design(self, rows: Mapping[str, int]) -> Design | None:
        if self.sample is None:
            return None
        design = Design(
            self.sample,
            np.zeros(len(rows)),
            np.zeros(len(rows), dtype=np.bool_),
            np.full(len(rows), -1, dtype=np.int64),
        )
        codes = {name: code for code, name in enumerate(dict.fromkeys(each.stratum for each in self.inclusions))}
        for each in self.inclusions:
            row = rows[each.case_id]
            design.probability[row], design.drawn[row] = each.probability, each.drawn
            design.strata[row] = codes[each.stratum]
        return design


@lru_cache(maxsize=4096)
def _verdict(scores: str, fields: str) -> Verdict:
    """The verdict with these stored scores; people's are few and alike, so most are decoded once."""
    verdict = from_columns((scores, fields or "{}", "[]", None, None))
    assert isinstance(verdict, Verdict)
    return verdict


def _values(verdict: Verdict, name: str, declared: ScoreField) -> tuple[float, float]:
    """The score and its probability-weighted value, NaN for what there is not."""
    score = verdict.scores.get(name)
    if score is None:
        mean = mean_of(verdict, name)
        return (np.nan if mean is None else mean), np.nan
    expected = score.expected(declared.special)
    return float(score.value), (np.nan if expected is None else expected)


def _is_mean(rater: Rater) -> bool:
    return rater.kind == "panel" and rater.spec.get("rule") == "mean"
