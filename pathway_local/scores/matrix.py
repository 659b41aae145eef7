"""All raters' scores of all cases for one score, as arrays: the data of every figure of agreement."""

import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import NotKept, UnknownName
from pathway_local.rater import JUDGES, RaterKind, raters_named
from pathway_local.ratings.samples import Inclusion, Sample, inclusions, samples
from pathway_local.rubrics.examples import is_set_aside, learns_from_cases
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.pair import BOTH, CHOICE, FLIPPED
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.database import damaged, placeholders
from pathway_local.runs.record import TEXTS, TEXTS_BY_NAME, from_columns, to_scores
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import example_ids, raters_of
from pathway_local.statistics.figure import BoolArray, FloatArray, IntArray, Reason
from pathway_local.verdict import Failure, Number, Score

# The latest first, so that the first hash of a case is that of its latest texts. Fields, which hold texts, are read for
# comparisons alone: what was chosen in each order.
_OUTCOMES = """
    SELECT case_id, row, rater_id, case_hash, scores, sheet_job, marks,
        failure_kind, failure_message, source, source_row, reason, {}
    FROM current WHERE rater_id IN ({}) ORDER BY case_key, number DESC
"""

_CASES = "SELECT case_id, row, metadata FROM cases NOT INDEXED"

ANY_SHEET = -1
"""Stands for a sheet where no person chose which cases got a score."""

PARTS = 4
"""The numbers of a score: the given one, the expected one, the confidence and the mass."""

CHOICES = ", ".join(f"json_extract(fields, '$.{CHOICE}{order}')" for order in BOTH)

HELD, TURNED, TO_FIRST = 1, 2, 3
"""Comparisons in both orders: the choice held, turned to the response read second, or to the one read first."""


@dataclass(frozen=True, slots=True)
class MatrixRater:
    """A rater's column. `on_scale` is false if some of its scores are no levels: 3.5 on 1 to 5.

    `verdicts` counts its scores in the matrix, `failures` the cases it failed on, `other_texts` the verdicts that are
    left out because their cases had other texts, `picked` the scores that are left out because chance did not choose
    their cases.
    """

    name: str
    kind: RaterKind
    on_scale: bool
    verdicts: int
    failures: int
    other_texts: int
    picked: int = 0

    @property
    def scored(self) -> str:
        """The number of its scores, with all that it gave if some are left out."""
        every = self.verdicts + self.picked
        return f"{self.verdicts:,}/{every:,}" if self.picked else f"{every:,}"


def why_no_levels(raters: Sequence[MatrixRater]) -> str:
    """The reason why figures that need scores on the scale are undefined for these raters; empty if they are not."""
    off = [rater for rater in raters if not rater.on_scale]
    return Reason("{rater} has scores between the levels of the scale", rater=off[0].name) if off else ""


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
class Trouble:
    """An outcome that is a failure or has marks: the places of its case and rater, and the case's row in its file."""

    case: int
    rater: int
    row: int
    marks: Sequence[str] = ()
    failure: Failure | None = None


@dataclass(frozen=True, slots=True)
class RatingsMatrix:
    """One score under one rubric: `given`, `expected` and `confidence` are (cases, raters), NaN where a rater has none.

    Cases come in the order of the cases file; `designs` are the samples drawn of them, oldest first. `given` holds
    special values as they are; of raters that have probabilities, `expected` holds the probability-weighted scores and
    `confidence` the largest probabilities and `mass` what the judge gave to all legal values together. `orders` says
    what a second order did to a comparison, 0 where there was none. `hashes` are those of the cases' present texts, and
    `repeated` counts the cases with the texts of an earlier one. `troubles` are the rubric's, of all scores.
    `levels` are the declared ones on the scale, ascending, `special` those without a place on it. `sheets` has the job
    that handed out the sheet or page with a score: 0 where it is not known, and `ANY_SHEET` for judges.
    """

    rubric: str
    score: str
    nominal: bool
    levels: tuple[Number, ...]
    special: tuple[Number, ...]
    raters: tuple[MatrixRater, ...]
    case_ids: tuple[str, ...]
    given: FloatArray
    expected: FloatArray
    confidence: FloatArray
    mass: FloatArray
    orders: IntArray
    hashes: tuple[str, ...]
    troubles: tuple[Trouble, ...]
    metadata: tuple[Mapping[str, str], ...]
    sheets: IntArray
    designs: tuple[Design, ...] = ()
    names: Mapping[Number, str] = field(default_factory=dict)
    repeated: int = 0

    @property
    def flipped(self) -> BoolArray:
        """Whether the two orders of a comparison disagree, (cases, raters)."""
        return np.asarray(self.orders >= TURNED)

    @property
    def on_scale(self) -> FloatArray:
        """`given` with NaN for special values."""
        return np.where(np.isin(self.given, self.special), np.nan, self.given)

    @property
    def scale(self) -> tuple[float, ...]:
        """The levels as numbers."""
        return tuple(map(float, self.levels))

    @property
    def expected_or_given(self) -> FloatArray:
        """The probability-weighted scores; `on_scale` of raters without probabilities."""
        return np.where(np.isfinite(self.expected), self.expected, self.on_scale)

    def places(self, names: Sequence[str]) -> list[int]:
        """The columns of all these raters, each once. UnknownName for a name of none."""
        return list(dict.fromkeys(place for name in names for place in self.columns(name)))

    def columns(self, name: str) -> list[int]:
        """The columns of a rater, or of all that were imported together under that name. UnknownName for none."""
        names = [rater.name for rater in self.raters]
        found = raters_named(name, names)
        if not found:
            raise UnknownName("rater", name, names)
        return [names.index(each) for each in found]

    def of_kind(self, *kinds: RaterKind) -> list[int]:
        """The columns of raters of these kinds."""
        return [place for place, rater in enumerate(self.raters) if rater.kind in kinds]

    def scoring(self, *kinds: RaterKind) -> list[int]:
        """The columns of raters that have scored: of these kinds, or of all."""
        return [place for place in self.of_kind(*(kinds or get_args(RaterKind))) if self.raters[place].verdicts]

    def codes(self, column: str, *, empty: bool = True) -> tuple[IntArray, tuple[str, ...]]:
        """Each case's value of a metadata column as a code (cases,), and the values in the order of their codes.

        A case without the column counts as empty, or has -1 if nobody scored it either, such as an invalid row. Without
        `empty`, all empty ones have -1. NotKept if no case has the column.
        """
        scored: NDArray[np.bool_] = np.asarray(np.isfinite(self.given).any(axis=1))
        if scored.any() and not any(column in kept for kept in self.metadata):
            raise NotKept(column)
        values = [
            kept.get(column, "" if has_score else None) for kept, has_score in zip(self.metadata, scored, strict=True)
        ]
        names = tuple(value for value in dict.fromkeys(values) if value or (empty and value == ""))
        place = {name: code for code, name in enumerate(names)}
        codes = (-1 if value is None else place.get(value, -1) for value in values)
        return np.fromiter(codes, dtype=np.int64, count=len(values)), names

    def clusters(self, column: str) -> IntArray:
        """Cluster codes (cases,): cases with the same value of the column share one; a case without one is alone."""
        codes, names = self.codes(column, empty=False)
        alone = codes < 0
        codes[alone] = len(names) + np.arange(int(alone.sum()))
        return codes


def ratings_matrices(run: RunFile, rubric: Rubric) -> list[RatingsMatrix]:
    """The matrix of each score of the rubric, in their order, with the rubric's samples."""
    return _Gathered(run, rubric).matrices()


class _Gathered:
    """Gathers all that a run holds under a rubric, in one pass over its outcomes.

    Scores go into one array of numbers instead of objects: one score of a million cases by five raters then takes
    160 MB.
    """

    def __init__(self, run: RunFile, rubric: Rubric) -> None:
        self.path, self.rubric, self.scores = run.path, rubric, dict(rubric.format.scores)
        self.raters = raters_of(run, rubric)
        self.learning, examples = learns_from_cases(rubric), example_ids(run, rubric)
        drawn = [sample for name in filter(None, (rubric.name, rubric.rated_as)) for sample in samples(run, name)]
        self.samples = [self._without_examples(sample, inclusions(run, sample.id), examples) for sample in drawn]
        rows = {each.case_id: each.row for _, included in self.samples for each in included}
        known = [each for each in run.database.stream(_CASES) if each[0] not in examples]
        rows |= {case_id: row for case_id, row, _ in known}
        self.ids = sorted(rows, key=lambda case_id: (rows[case_id], case_id))
        self.places = {case_id: place for place, case_id in enumerate(self.ids)}
        self.kept = {self.places[case_id]: metadata for case_id, _, metadata in known}
        # People's verdicts are few and alike, so most are decoded once.
        self._decoded = lru_cache(maxsize=4096)(self._decode)
        size = (len(self.ids), len(self.raters))
        self.numbers = np.full((size[0], len(self.scores), PARTS, size[1]), np.nan)
        self.sheets, self.orders = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        self.hashes, self.read = [""] * size[0], np.zeros(size[0], dtype=np.bool_)
        self.failures, self.other_texts, self.troubles = [0] * size[1], [0] * size[1], list[Trouble]()
        # Judges first: they judge a case's present texts, while a rating may be about earlier texts.
        for judges in (True, False):
            columns = {id: at for at, (id, rater) in enumerate(self.raters) if (rater.kind == "judge") is judges}
            self._read(run, columns)

    def _without_examples(
        self, sample: Sample, included: Sequence[Inclusion], examples: Collection[str]
    ) -> tuple[Sample, list[Inclusion]]:
        """The sample without what is set aside: its other cases are as random."""
        kept = [each for each in included if each.case_id not in examples]
        if self.learning:
            kept = [replace(each, drawn=each.drawn and not is_set_aside(each.case_id)) for each in kept]
        return replace(sample, cases=len(kept), drawn=sum(each.drawn for each in kept)), kept

    def _read(self, run: RunFile, columns: Mapping[int, int]) -> None:
        query = _OUTCOMES.format(CHOICES if self.rubric.pair else "NULL, NULL", placeholders(columns))
        people = {rater_id for rater_id, rater in self.raters if rater.kind == "human"}
        for case_id, row, rater_id, case_hash, scores, sheet, marks, *more in run.database.stream(query, *columns):
            place, column = self.places.get(case_id), columns[rater_id]
            if place is None or (self.learning and rater_id in people and is_set_aside(case_id)):
                continue
            *failed, ab, ba = more
            self.read[place] = True
            # The latest outcome comes first, so its hash is that of the case's present texts; a failure may have none.
            self.hashes[place] = self.hashes[place] or case_hash
            if scores is None:
                self.failures[column] += 1
                failure = from_columns(run.path, (None, None, None, *failed))
                assert isinstance(failure, Failure), "an outcome without scores is one"
                self.troubles.append(Trouble(place, column, row, failure=failure))
            elif case_hash != self.hashes[place]:
                self.other_texts[column] += 1
            else:
                self.numbers[place, :, :, column] = self._decoded(scores)
                self.sheets[place, column] = sheet or 0
                if noted := TEXTS.read(run.path, marks) if marks != "[]" else []:
                    self.troubles.append(Trouble(place, column, row, noted))
                if isinstance(ab, int | float) and isinstance(ba, int | float):
                    turned = TO_FIRST if ab > ba else TURNED
                    self.orders[place, column] = turned if FLIPPED in noted else HELD

    def _decode(self, scores: str) -> list[tuple[float, ...]]:
        """The numbers of each of the rubric's scores, from a stored verdict. Raises RunDamaged."""
        found = to_scores(self.path, scores)
        if not found.keys() <= self.scores.keys():
            raise damaged(self.path, "a verdict in it has a score that its rubric lacks")
        return [_values(found.get(name), declared) for name, declared in self.scores.items()]

    def matrices(self) -> list[RatingsMatrix]:
        """Leave out cases that are neither rated nor in a sample."""
        shown = self.read.copy()
        shown[[self.places[each.case_id] for _, included in self.samples for each in included]] = True
        at = np.flatnonzero(shown)
        numbers, sheets, orders = self.numbers[at], self.sheets[at], self.orders[at]
        sheets[:, [column for column, (_, rater) in enumerate(self.raters) if rater.kind in JUDGES]] = ANY_SHEET
        ids, hashes = (tuple(each[place] for place in at.tolist()) for each in (self.ids, self.hashes))
        kept = (self.kept[place] if self.read[place] else "{}" for place in at.tolist())
        metadata = tuple(TEXTS_BY_NAME.read(self.path, each) for each in kept)
        rows = {case_id: number for number, case_id in enumerate(ids)}
        troubles = tuple(replace(each, case=rows[self.ids[each.case]]) for each in self.troubles)
        found = []
        for number, (name, declared) in enumerate(self.scores.items()):
            given, expected, sure, mass = (np.ascontiguousarray(numbers[:, number, each]) for each in range(PARTS))
            found.append(
                RatingsMatrix(
                    rubric=self.rubric.name,
                    score=name,
                    nominal=declared.scale == "nominal",
                    levels=tuple(value for value in declared.values if value not in declared.special),
                    special=declared.special,
                    raters=self._columns(given, declared),
                    case_ids=ids,
                    given=given,
                    expected=expected,
                    confidence=sure,
                    mass=mass,
                    orders=orders,
                    hashes=hashes,
                    troubles=troubles,
                    metadata=metadata,
                    sheets=sheets,
                    designs=tuple(_design(sample, included, rows) for sample, included in self.samples),
                    names={**declared.written, **declared.levels},
                    repeated=sum(count - 1 for text, count in Counter(hashes).items() if text),
                )
            )
        return found

    def _columns(self, given: FloatArray, declared: ScoreField) -> tuple[MatrixRater, ...]:
        scored = np.isfinite(given).sum(axis=0)
        strange = np.isfinite(given) & ~np.isin(given, declared.values)
        on_scale = np.logical_not(strange.any(axis=0))
        return tuple(
            MatrixRater(
                rater.name, rater.kind, bool(on_scale[place]), int(scored[place]), self.failures[place],
                self.other_texts[place],
            )
            for place, (_, rater) in enumerate(self.raters)
        )  # fmt: skip


def _design(sample: Sample, included: Sequence[Inclusion], rows: Mapping[str, int]) -> Design:
    drawn, strata = np.zeros(len(rows), dtype=np.bool_), np.full(len(rows), -1, dtype=np.int64)
    design = Design(sample, np.zeros(len(rows)), drawn, strata)
    codes = {name: code for code, name in enumerate(dict.fromkeys(each.stratum for each in included))}
    for each in included:
        row = rows[each.case_id]
        design.probability[row], design.drawn[row] = each.probability, each.drawn
        design.strata[row] = codes[each.stratum]
    return design


def _values(score: Score | None, declared: ScoreField) -> tuple[float, ...]:
    """The score, its probability-weighted value, its confidence and its mass; NaN for a missing one."""
    if score is None:
        return (math.nan,) * PARTS
    found = float(score.value), score.expected(declared.special), score.confidence, score.mass
    return tuple(math.nan if each is None else each for each in found)
