"""Disagreement of raters: each case's scores side by side, their pattern, and the cases to look at first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal

import numpy as np

from pathway_local.note import Note
from pathway_local.results.alike_people import alike
from pathway_local.results.ratings_matrix import RatingsMatrix, ratings_matrices
from pathway_local.results.table import Cell, Column, Table
from pathway_local.rubrics.fields import TextField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Number, Verdict, plain

DivergenceKind = Literal["agree", "neighbours", "apart", "special"]
"""All gave one score; scores at most a level apart; scores further apart, or any two that differ on a nominal scale;
some gave a special level, some did not."""

WORDS = "words"
"""The table with what raters wrote: a terminal shows it as text."""

NOTES = ("notes", "shared_notes")
"""The fields in which people's own words are kept."""


@dataclass(frozen=True, slots=True)
class Divergence:
    """One case: each rater's score by name, their mean and spread (highest less lowest) on the scale, the pattern.

    `mean` and `spread` are None if nobody gave a level on the scale, or if the scale is nominal. `reasons` has each
    rater's words about the score, for the cases to look at first alone.
    """

    case: str
    scores: Mapping[str, Number]
    mean: float | None
    spread: Number | None
    kind: DivergenceKind
    pattern: str
    reasons: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ScoreDivergence:
    """One score: how many cases have each kind, the most frequent patterns, and the cases to look at first.

    `cases` counts those that two raters or more scored. Panels are left out.
    """

    rubric: str
    score: str
    raters: tuple[str, ...]
    cases: int
    kinds: Mapping[DivergenceKind, int]
    patterns: Mapping[DivergenceKind, Mapping[str, int]]
    first: tuple[Divergence, ...]
    warnings: tuple[Note, ...]


def divergence(run: RunFile, rubrics: Iterable[Rubric], top: int) -> list[ScoreDivergence]:
    """For each score of these rubrics the `top` patterns, and the `top` cases where raters are furthest apart.

    Cases where only some raters gave a special level come first, because no distance says how far apart these are.
    Then larger spreads come before smaller ones, and among equal spreads the cases with more evenly split raters.
    The list leaves out cases on which all agree.
    """
    return [
        _with_reasons(run, rubric, _score(matrix, top))
        for rubric in rubrics
        for matrix in ratings_matrices(run, rubric)
    ]


def pattern_of(
    values: Sequence[Number], special: Sequence[Number], levels: Sequence[Number]
) -> tuple[DivergenceKind, str]:
    """The kind of a case's scores, and the pattern in words: "all 2s", "mix of 2s and 4s".

    `levels` are those with a place on the scale, and none for a nominal one.
    """
    found = sorted(set(values))
    named = list(dict.fromkeys(f"{round(float(value), 2):g}s" for value in found))
    text = f"all {named[0]}" if len(named) == 1 else f"mix of {', '.join(named[:-1])} and {named[-1]}"
    if len(found) == 1:
        return "agree", text
    if any(value in special for value in found):
        return "special", text
    if not levels:
        return "apart", text
    if len(levels) == 2 and any(value not in levels for value in found):
        # A share of verdicts: its levels are the ends of the scale, so half of it is far.
        return ("neighbours" if found[-1] - found[0] <= (levels[1] - levels[0]) / 2 else "apart"), text
    # A half point lies half a level from its neighbours.
    first, last = np.interp([found[0], found[-1]], levels, range(len(levels)))
    return ("neighbours" if last - first <= 1 else "apart"), text


def _score(matrix: RatingsMatrix, top: int) -> ScoreDivergence:
    columns = matrix.scoring("judge", "human", "hosted")
    names = [matrix.raters[place].name for place in columns]
    given = matrix.given[:, columns]
    several = np.flatnonzero(np.isfinite(given).sum(axis=1) >= 2)
    cases = [_case(matrix, names, matrix.case_ids[row], given[row]) for row in several]
    kinds = Counter(case.kind for case in cases).most_common()
    often = Counter((case.kind, case.pattern) for case in cases).most_common(top)
    first = sorted((case for case in cases if case.kind != "agree"), key=_urgency, reverse=True)[:top]
    return ScoreDivergence(
        rubric=matrix.rubric,
        score=matrix.score,
        raters=tuple(names),
        cases=len(cases),
        kinds=dict(kinds),
        patterns={kind: {name: count for (own, name), count in often if own == kind} for kind, _ in kinds},
        first=tuple(first),
        warnings=tuple(alike(matrix)),
    )


def _case(matrix: RatingsMatrix, names: Sequence[str], case_id: str, row: np.ndarray) -> Divergence:
    scores = {name: plain(float(value)) for name, value in zip(names, row, strict=True) if np.isfinite(value)}
    kind, pattern = pattern_of(list(scores.values()), matrix.special, () if matrix.nominal else matrix.levels)
    on_scale = [value for value in scores.values() if value not in matrix.special]
    if not on_scale or matrix.nominal:
        return Divergence(case_id, scores, None, None, kind, pattern, {})
    return Divergence(case_id, scores, sum(on_scale) / len(on_scale), max(on_scale) - min(on_scale), kind, pattern, {})


def _urgency(case: Divergence) -> tuple[bool, Number, float]:
    values = list(case.scores.values())
    return case.kind == "special", case.spread or 0, float(np.var(values))


def _with_reasons(run: RunFile, rubric: Rubric, found: ScoreDivergence) -> ScoreDivergence:
    """The same with each rater's words about the first cases."""
    if not found.first:
        return found
    fields, words = (*NOTES, reason_field(rubric.format, found.score)), dict[tuple[str, str], str]()
    for record in run.records(rubric=rubric.name, cases=[case.case for case in found.first]):
        if isinstance(record.outcome, Verdict) and (said := words_of(record.outcome, fields)):
            words[record.case_id, record.rater] = said
    first = (
        replace(case, reasons={name: words[case.case, name] for name in case.scores if (case.case, name) in words})
        for case in found.first
    )
    return replace(found, first=tuple(first))


def disagreement_tables(found: ScoreDivergence, labels: Mapping[str, str]) -> Iterator[Table]:
    """The patterns of one score, the cases to look at first, and raters' words about them.

    `labels` are judges' cautions, which must stand beside their scores.
    """
    shared: dict[str, object] = {"rubric": found.rubric, "score": found.score}
    cautions = [
        Note("caution", {"rater": name, "label": labels[name]}, "warning") for name in found.raters if name in labels
    ]
    nobody = [] if found.cases else [Note("scored_by_one", kind="answer")]
    kinds: list[dict[str, Cell]] = [
        {"kind": kind, "cases": count, "share": count / found.cases} for kind, count in found.kinds.items()
    ]
    patterns: list[dict[str, Cell]] = [
        {"kind": kind, "pattern": name, "cases": count, "share": count / found.cases}
        for kind, own in found.patterns.items()
        for name, count in own.items()
    ]
    numbers = [Column("cases", "count"), Column("share", "share")]
    table, about = partial(Table, heading=("rubric", "score")), shared | {"cases": found.cases}
    yield table("kinds", about, [Column("kind", "key"), *numbers], kinds, [*nobody, *found.warnings, *cautions])
    yield table("patterns", shared, [Column("kind", "key"), Column("pattern"), *numbers], patterns)
    if not found.first:
        return
    columns = [Column("case", "case"), Column("kind", "key", detail=True), Column("pattern")]
    columns += [Column(f"scores.{name}", "number", name) for name in found.raters]
    columns += [Column("mean", "number"), Column("spread", "number")]
    yield table("first", shared, columns, [_row(case) for case in found.first])
    words: list[dict[str, Cell]] = [
        {"case": case.case, "rater": rater, "score": case.scores[rater], "words": said}
        for case in found.first
        for rater, said in case.reasons.items()
    ]
    columns = [Column("case", "case"), Column("rater", "rater"), Column("score", "number"), Column("words")]
    yield table(WORDS, shared, columns, words)


def _row(case: Divergence) -> dict[str, Cell]:
    row: dict[str, Cell] = {"case": case.case, "kind": case.kind, "pattern": case.pattern}
    row |= {f"scores.{name}": value for name, value in case.scores.items()}
    return row | {"mean": case.mean, "spread": case.spread}


def words_of(verdict: Verdict, fields: Iterable[str]) -> str:
    """The texts of these fields that a rater wrote, each on lines of its own; no field is called ""."""
    texts = [verdict.fields.get(name) for name in fields if name]
    return "\n".join(text for text in texts if isinstance(text, str) and text)


def reason_field(output_format: OutputFormat, score: str) -> str:
    """The text field that goes with a score: the first one behind it, else the last one before it."""
    slots = [part for part in output_format.parts if isinstance(part, Slot)]
    at = next(place for place, slot in enumerate(slots) if slot.score == score)
    behind = [slot.name for slot in slots[at:] if isinstance(slot.field, TextField)]
    before = [slot.name for slot in slots[:at] if isinstance(slot.field, TextField)]
    return behind[0] if behind else before[-1] if before else ""
