"""Disagreement of raters: each case's scores side by side, their pattern, and the cases to look at first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from pathway_local.note import Note
from pathway_local.results.mistakes import mistakes
from pathway_local.results.table import Cell, Column, Table, cautions
from pathway_local.rubrics.fields import TextField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import RatingsMatrix, ratings_matrices
from pathway_local.scores.scores import labels_of
from pathway_local.verdict import Number, Verdict, plain

DivergenceKind = Literal["agree", "neighbours", "apart", "special"]
"""All gave one score; scores at most a level apart; scores further apart, or any two that differ on a nominal scale;
some gave a special level, some did not."""

WORDS = "words"
"""The table with what raters wrote: a terminal shows it as text."""

NOTES = ("notes",)
"""The fields in which people's own words are kept."""


@dataclass(frozen=True, slots=True)
class ScoreDivergence:
    """The disagreement of raters on one score, as tables; `first` has the cases to look at first with their scores."""

    rubric: str
    score: str
    tables: tuple[Table, ...]
    first: Mapping[str, Sequence[Number]]


def divergence(run: RunFile, rubrics: Iterable[Rubric], top: int) -> list[ScoreDivergence]:
    """For each score of these rubrics the `top` patterns, and the `top` cases where raters are furthest apart.

    Cases where only some raters gave a special level come first, because no distance says how far apart these are.
    Then larger spreads come before smaller ones, and among equal spreads the cases with more evenly split raters.
    The list leaves out cases on which all agree. Panels take no part.
    """
    return [_score(run, rubric, matrix, top) for rubric in rubrics for matrix in ratings_matrices(run, rubric)]


def pattern_of(
    values: Sequence[Number], special: Sequence[Number], levels: Sequence[Number]
) -> tuple[DivergenceKind, str]:
    """The kind of a case's scores, and their pattern: the values that were given, such as "2, 4".

    `levels` are those with a place on the scale, and none for a nominal one.
    """
    found = sorted(set(values))
    text = ", ".join(dict.fromkeys(f"{round(float(value), 2):g}" for value in found))
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


def _score(run: RunFile, rubric: Rubric, matrix: RatingsMatrix, top: int) -> ScoreDivergence:
    columns = matrix.scoring("judge", "human", "hosted")
    names, given = [matrix.raters[place].name for place in columns], matrix.given[:, columns]
    scores = {
        matrix.case_ids[at]: {name: plain(value) for name, value in zip(names, given[at].tolist(), strict=True)
                              if np.isfinite(value)}
        for at in np.flatnonzero(np.isfinite(given).sum(axis=1) >= 2)
    }  # fmt: skip
    rows = {case: _row(matrix, case, own) for case, own in scores.items()}
    apart = [case for case, row in rows.items() if row["kind"] != "agree"]
    first = sorted(apart, key=lambda case: _urgency(rows[case], list(scores[case].values())), reverse=True)[:top]
    table = partial(Table, heading=("rubric", "score"))
    about: dict[str, object] = {"rubric": matrix.rubric, "score": matrix.score}
    warnings = [*mistakes(matrix), *cautions(labels_of(run), names)]
    tables = [*_patterns(about, [*rows.values()], top, warnings)]
    if first:
        shown = [Column("case", "case"), Column("kind", "key", detail=True), Column("pattern", "levels")]
        shown += [Column(f"scores.{name}", "number", name) for name in names]
        shown += [Column("mean", "number"), Column("spread", "number")]
        tables.append(table("first", about, shown, [rows[case] for case in first]))
        shown = [Column("case", "case"), Column("rater", "rater"), Column("score", "number"), Column("words")]
        words = _words(run, rubric, matrix.score, {case: scores[case] for case in first})
        tables.append(table(WORDS, about, shown, words))
    by_case = {case: [*scores[case].values()] for case in first}
    return ScoreDivergence(matrix.rubric, matrix.score, tuple(tables), by_case)


def _row(matrix: RatingsMatrix, case: str, scores: Mapping[str, Number]) -> dict[str, Cell]:
    """One case: each rater's score, the pattern, and on a scale with an order the mean and the spread."""
    kind, pattern = pattern_of(list(scores.values()), matrix.special, () if matrix.nominal else matrix.levels)
    row: dict[str, Cell] = {"case": case, "kind": kind, "pattern": pattern}
    row |= {f"scores.{name}": value for name, value in scores.items()}
    on_scale = [] if matrix.nominal else [value for value in scores.values() if value not in matrix.special]
    if not on_scale:
        return row | {"mean": None, "spread": None}
    return row | {"mean": sum(on_scale) / len(on_scale), "spread": max(on_scale) - min(on_scale)}


def _urgency(row: Mapping[str, Cell], values: Sequence[Number]) -> tuple[bool, float, float]:
    spread = row["spread"]
    return row["kind"] == "special", float(spread) if isinstance(spread, int | float) else 0.0, float(np.var(values))


def _patterns(
    about: Mapping[str, object], rows: Sequence[Mapping[str, Cell]], top: int, warnings: Sequence[Note]
) -> Iterator[Table]:
    """Yield how often scores have each kind, and the most frequent patterns, those of a kind together."""
    kinds = Counter(row["kind"] for row in rows).most_common()
    often = Counter((row["kind"], row["pattern"]) for row in rows).most_common(top)
    numbers = [Column("cases", "count"), Column("share", "share")]
    counted: list[dict[str, Cell]] = [{"kind": kind, "cases": n, "share": n / len(rows)} for kind, n in kinds]
    nobody = [] if rows else [Note("scored_by_one", kind="answer")]
    table, columns = partial(Table, heading=("rubric", "score")), [Column("kind", "key"), *numbers]
    yield table("kinds", {**about, "cases": len(rows)}, columns, counted, [*nobody, *warnings])
    counted = [
        {"kind": kind, "pattern": pattern, "cases": n, "share": n / len(rows)}
        for kind, _ in kinds
        for (own, pattern), n in often
        if own == kind
    ]
    yield table("patterns", about, [Column("kind", "key"), Column("pattern", "levels"), *numbers], counted)


def _words(
    run: RunFile, rubric: Rubric, score: str, first: Mapping[str, Mapping[str, Number]]
) -> list[dict[str, Cell]]:
    """Each rater's words about the score of the first cases."""
    fields, words = (*NOTES, reason_field(rubric.format, score)), dict[tuple[str, str], str]()
    for record in run.records(rubric=rubric.name, cases=[*first]):
        if isinstance(record.outcome, Verdict):
            words[record.case_id, record.rater] = words_of(record.outcome, fields)
    return [
        {"case": case, "rater": rater, "score": score, "words": said}
        for case, own in first.items()
        for rater, score in own.items()
        if (said := words.get((case, rater)))
    ]


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
