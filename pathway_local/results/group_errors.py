"""In which groups of cases a judge errs: how far it is from people there, and how far people are from each other."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True)
class GroupError:
    """A judge's error in one group: signed, and in size beside people's own, where several rated on their own."""

    judge: str
    group: str
    cases: int
    signed: Effect
    size: Estimate
    of_people: Estimate | None


def group_error_tables(every: Sequence[AgainstPeople]) -> list[Table]:
    """Return a table for each score. The intervals of signed errors allow for all groups and scores at once (Holm).

    Errors are used because a kappa falls by itself where a group's scores span little of the scale. Groups with fewer
    scores of both than the options want are left out.
    """
    found = [[*_errors(people)] for people in every]
    shown = [
        [each for each in own if each.cases >= people.options.min_group]
        for people, own in zip(every, found, strict=True)
    ]
    signed = iter(at_holm_levels([each.signed for own in shown for each in own]))
    tables = []
    for people, own, whole in zip(every, shown, found, strict=True):
        rows: list[Row] = [
            {
                "rater": each.judge, "group": each.group, "cases": each.cases, "mean_difference": next(signed),
                "mean_absolute_error": each.size, "people_error": each.of_people,
            }
            for each in own
        ]  # fmt: skip
        hidden = len({each.group for each in whole} - {each.group for each in own})
        about = {"by": people.options.by, "reference": people.name}
        notes = [*_notes(people, hidden), *_apart(own, people.options.by)]
        tables.append(people_table(people.matrix, people.options, "group_errors", COLUMNS, rows, notes, about=about))
    return tables


def _errors(people: AgainstPeople) -> Iterator[GroupError]:
    """Yield the errors of each judge in each group with scores of both."""
    matrix, by = people.matrix, people.options.by
    if not (by and people.has_means and people.judges):
        return
    codes, names = matrix.codes(by)
    own = people.own_errors()
    for judge in people.judges:
        errors = people.scores[:, judge] - people.mean
        for code, name in enumerate(names):
            inside = np.asarray((codes == code) & np.isfinite(errors))
            if inside.any():
                clusters = None if people.clusters is None else people.clusters[inside]
                signed = mean_effect(errors[inside], clusters, each="error")
                size, of_people = (_size(people, each, codes == code) for each in (errors[:, None], own))
                theirs = of_people if own.shape[1] else None
                yield GroupError(matrix.raters[judge].name, name, int(inside.sum()), signed, size, theirs)


def _size(people: AgainstPeople, errors: FloatArray, inside: BoolArray) -> Estimate:
    """The mean absolute error of (cases, raters) in a group; a case's errors depend on each other."""
    case, rater = np.nonzero(np.isfinite(errors) & inside[:, None])
    levels = people.matrix.levels
    clusters = case if people.clusters is None else people.clusters[case]
    return scale_mean(np.abs(errors[case, rater]), (0.0, float(levels[-1] - levels[0])), clusters)


def _notes(people: AgainstPeople, hidden: int) -> Iterator[Note]:
    options = people.options
    yield Note("holm")
    if hidden:
        yield Note("hidden_groups", {"count": hidden, "by": options.by, "smallest": options.min_group}, "note")


def _apart(found: Sequence[GroupError], by: str) -> Iterator[Note]:
    """Warn of each judge that is surely further from people in a group than they are from each other."""
    for each in found:
        size, own = each.size, each.of_people
        ends = size.interval, own.interval if own else None
        if own and isinstance(ends[0], Interval) and isinstance(ends[1], Interval) and ends[0].low > ends[1].high:
            told: dict[str, object] = {"judge": each.judge, "by": by, "group": each.group}
            yield Note("group_apart", {**told, "points": size.value, "own": own.value}, "warning")
