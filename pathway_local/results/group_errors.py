"""In which groups of cases a judge errs: how far it is from people there, and how far people are from each other."""

from collections.abc import Iterator, Sequence

import numpy as np

from pathway_local.note import Note
from pathway_local.results.against_people import AgainstPeople
from pathway_local.results.agreement_options import Row, people_table
from pathway_local.results.table import Column, Table
from pathway_local.statistics.effect import Effect, mean_effect
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, Interval
from pathway_local.statistics.share import scale_mean

COLUMNS = (
    Column("rater", "rater"), Column("group"), Column("cases", "count"), Column("mean_difference", "estimate"),
    Column("mean_absolute_error", "estimate"), Column("people_error", "estimate"),
)  # fmt: skip


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
            notes.insert(1, Note("hidden_groups", told, "note"))
        about = {"by": options.by, "reference": people.name}
        tables.append(people_table(people.matrix, options, "group_errors", COLUMNS, rows, notes, about=about))
    return tables


def _errors(people: AgainstPeople) -> Iterator[tuple[Row, Effect | None]]:
    """Yield each judge's row of each group with scores of both, and its signed error if the group is large enough."""
    matrix, by = people.matrix, people.options.by
    if not (by and people.has_means and people.judges):
        return
    codes, names = matrix.codes(by)
    own = people.own_errors()
    for judge in people.judges:
        errors = people.scores[:, judge] - people.mean
        for code, name in enumerate(names):
            inside = np.asarray((codes == code) & np.isfinite(errors))
            row: Row = {"rater": matrix.raters[judge].name, "group": name, "cases": int(inside.sum())}
            if inside.sum() < people.options.min_group:
                yield from [(row, None)] if inside.any() else ()
                continue
            clusters = None if people.clusters is None else people.clusters[inside]
            row["mean_absolute_error"] = _size(people, errors[:, None], codes == code)
            row["people_error"] = _size(people, own, codes == code) if own.shape[1] else None
            yield row, mean_effect(errors[inside], clusters, each="error")


def _size(people: AgainstPeople, errors: FloatArray, inside: BoolArray) -> Estimate:
    """The mean absolute error of (cases, raters) in a group; a case's errors depend on each other."""
    case, rater = np.nonzero(np.isfinite(errors) & inside[:, None])
    levels = people.matrix.levels
    clusters = case if people.clusters is None else people.clusters[case]
    return scale_mean(np.abs(errors[case, rater]), (0.0, float(levels[-1] - levels[0])), clusters)


def _apart(rows: Sequence[Row], by: str) -> Iterator[Note]:
    """Warn of each judge that is surely further from people in a group than they are from each other."""
    for row in rows:
        size, own = row["mean_absolute_error"], row["people_error"]
        if isinstance(size, Estimate) and isinstance(own, Estimate):
            one, other = size.interval, own.interval
            if isinstance(one, Interval) and isinstance(other, Interval) and one.low > other.high:
                told = {"judge": row["rater"], "by": by, "group": row["group"], "points": size.value, "own": own.value}
                yield Note("group_apart", told, "warning")
