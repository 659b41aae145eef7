"""A run's summary as one table and notes."""

from collections.abc import Iterable, Iterator, Sequence

from pathway_local.results.summary import Group, ScoreSummary, Summary
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.statistics.figure import Interval
from pathway_local.verdict import Number


def summary_view(found: Summary) -> View:
    """A row for each score of each group, what special levels mean, and what failed; no table without groups."""
    if not found.groups:
        return View((), Remarks())
    values = sorted({value for group in found.groups for score in group.scores.values() for value in score.counts})
    raters = {group.rater for group in found.groups}
    named = ["rubric", *(["rater"] if len(raters) > 1 else []), *([found.by] if found.by else [])]
    scores = [(group, score) for group in found.groups for score in group.scores.values()]
    width = max((len(cell) for _, score in scores for cell in (*map(str, values), *_starred(score, values))), default=0)
    some_failed = any(group.failures for group in found.groups)
    heads = (*named, "n", "mean", "95% interval", _side_by_side(map(str, values), width), "conf.")
    heads += ("failed",) if some_failed else ()
    rows = tuple(
        (
            *_names(group, score, named),
            *_figures(score, _side_by_side(_starred(score, values), width)),
            *([str(group.failures.total() or "")] if some_failed else []),
        )
        for group, score in scores
    )
    title = f"rater: {next(iter(raters))}" if len(raters) == 1 else ""
    table = TableView(title, heads, rows, len(named))
    special = [line for group in found.groups for line in _special_levels(group)]
    failed = []
    for group in found.groups:
        name = f"{group.rubric} by {group.rater}" + (f", {found.by} {group.group}" if found.by else "")
        failed += [f"{name}: {line}" for line in _counts(group)]
    labels = [f"{rater}: {label}" for rater, label in found.labels.items()]
    return View((table,), Remarks(tuple(dict.fromkeys([*special, *failed, *labels]))))


def group_remarks(group: Group, found: Summary) -> Remarks:
    """The same sentences for one group alone."""
    labels = [found.labels[group.rater]] if group.rater in found.labels else []
    return Remarks((*_special_levels(group), *_counts(group), *labels))


def _names(group: Group, score: ScoreSummary, named: Sequence[str]) -> list[str]:
    rubric = group.rubric if list(group.scores) == ["score"] else f"{group.rubric} {score.name.removesuffix('_score')}"
    known = {"rubric": rubric, "rater": group.rater}
    return [known.get(name, group.group or "(empty)") for name in named]


def _starred(score: ScoreSummary, values: Sequence[Number]) -> list[str]:
    """Count the verdicts with each value; a star marks values off the scale."""
    counts = [str(score.counts[value]) if value in score.counts else "" for value in values]
    return [f"{count}*" if value in score.special else count for value, count in zip(values, counts, strict=True)]


def _side_by_side(cells: Iterable[str], width: int) -> str:
    """Cells in one column: columns of their own would not fit into 80 characters."""
    return " ".join(cell.rjust(width) for cell in cells)


def _figures(score: ScoreSummary, counts: str) -> list[str]:
    mean, interval = score.mean.value, score.mean.interval
    return [
        str(score.n),
        f"{mean:.2f}" if isinstance(mean, float) else "–",
        f"{interval.low:.2f}–{interval.high:.2f}" if isinstance(interval, Interval) else "–",
        counts,
        f"{score.confidence:.2f}" if score.confidence is not None else "–",
    ]


def _special_levels(group: Group) -> Iterator[str]:
    for score in group.scores.values():
        for value in score.special:
            label = score.levels.get(value, "special")
            yield f"* {group.rubric} {score.name} {value} ({label}) is off the scale: the mean leaves it out."


def _counts(group: Group) -> Iterator[str]:
    yield from (f"{count} failed ({kind})" for kind, count in sorted(group.failures.items()))
    yield from (f"{count} marked {mark}" for mark, count in sorted(group.marks.items()))
