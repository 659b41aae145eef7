"""A run's summary as one table and notes."""

from collections.abc import Iterable, Iterator, Sequence
from shlex import quote

from pathway_local.results.summary import LOW_MASS, SHOWN_FAILURES, Group, ScoreSummary, Summary, column_name
from pathway_local.results.views.cells import interval_head
from pathway_local.results.views.preferences import preferences_meaning, preferences_sentences, preferences_table
from pathway_local.results.views.view import MARK, MIN_GROUP, Remarks, TableView, View, small_groups
from pathway_local.rubrics.pair import FLIPPED, SWAPPED
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.statistics.figure import Interval, percent
from pathway_local.statistics.intervals import wilson
from pathway_local.system.visible import visible
from pathway_local.verdict import HELD, TURNED, Number

OFTEN_CUT = 0.05
"""The share of verdicts cut in a field from which we say what to raise."""


SHOWN_COLUMNS = 3

OFTEN_RELUCTANT = 0.05
"""The share of verdicts with a low mass from which we warn."""


def summary_view(found: Summary) -> View:
    """A row for each score of each group, what special levels mean, and what failed; no table without groups.

    Comparisons of two responses have a table of their own.
    """
    if not found.groups:
        return View((), Remarks())
    pairs = [group for group in found.groups if group.preferences]
    scored = [group for group in found.groups if not group.preferences]
    tables = [make(found, groups) for make, groups in ((_scores_table, scored), (_pairs_table, pairs)) if groups]
    special = [line for group in found.groups for line in _special_levels(group)]
    told = [line for group in pairs for line in _told_of_pair(group, f"{_place(group, found)}: ")]
    failed = [f"{_place(group, found)}: {line}" for group in found.groups for line in _counts(group)]
    labels = [f"{rater}: {label}" for rater, label in found.labels.items()]
    limited = [f"{group.rubric} by {group.rater}: {line}" for group in found.groups for line in _limits(group, found)]
    marked = found.by and any(group.verdicts < MIN_GROUP for group in found.groups)
    said = [*intervals_allow(found), *special, *told, *failed, *_failed_cases(found), *limited, *found.unfit, *labels]
    sentences = tuple(dict.fromkeys(said))
    return View(tuple(tables), Remarks(sentences), (small_groups(),) if marked else ())


def intervals_allow(found: Summary) -> Iterator[str]:
    """Say which cases the intervals take as depending on each other, or which columns may group such cases."""
    if found.cluster:
        yield f"Intervals allow for cases with the same {visible(found.cluster)}, which depend on each other."
    names = [name for name in found.repeated if name != found.by][:SHOWN_COLUMNS]
    if names:
        counts = ", ".join(f"{visible(name)} ({found.repeated[name]:,})" for name in names)
        yield (
            f"Intervals take each case as independent, but several cases share a value of {counts}: if such cases "
            f"depend on each other, give --cluster {quote(names[0])}"
        )


def _place(group: Group, found: Summary) -> str:
    """The group in words."""
    return f"{group.rubric} by {group.rater}" + (f", {found.by} {group.group or '(empty)'}" if found.by else "")


def _told_of_pair(group: Group, of: str = "") -> Iterator[str]:
    if group.preferences:
        yield preferences_meaning(group.preferences)
        yield from (f"{of}{line}" for line in preferences_sentences(group.preferences))


def _pairs_table(found: Summary, groups: Sequence[Group]) -> TableView:
    rubrics, raters = {group.rubric for group in groups}, {group.rater for group in groups}
    shown = {"rubric": len(rubrics) > 1, "rater": len(raters) > 1, column_name(found.by): bool(found.by)}
    heads = [name for name, needed in shown.items() if needed]
    rows = []
    for group in groups:
        [score] = group.scores.values()
        assert group.preferences
        rows.append((_names(group, score, heads), group.preferences, group.failures.total()))
    one = [f"rater: {raters.pop()}"] if len(raters) == 1 else []
    one += [f"rubric: {rubrics.pop()}"] if len(rubrics) == 1 else []
    return preferences_table(", ".join(one), heads, rows)


def _scores_table(found: Summary, groups: Sequence[Group]) -> TableView:
    values = sorted({value for group in groups for score in group.scores.values() for value in score.counts})
    raters = {group.rater for group in groups}
    scores = [(group, score) for group in groups for score in group.scores.values()]
    # Beside a column of groups, the rubric's name would not fit into 80 characters.
    one = found.by and len({(group.rubric, score.name) for group, score in scores}) == 1
    named = [
        *([] if one else ["rubric"]),
        *(["rater"] if len(raters) > 1 else []),
        *([column_name(found.by)] if found.by else []),
    ]
    width = max((len(cell) for _, score in scores for cell in (*map(str, values), *_starred(score, values))), default=0)
    some_failed = any(group.failures for group in groups)
    ends = interval_head(score.mean.interval for _, score in scores)
    heads = (*named, "n", "mean", ends, _side_by_side(map(str, values), width), "conf.")
    heads += ("failed",) if some_failed else ()
    rows = tuple(
        (
            *_names(group, score, named),
            *_figures(score, _side_by_side(_starred(score, values), width)),
            *([str(group.failures.total() or "")] if some_failed else []),
        )
        for group, score in scores
    )
    told = [f"rater: {next(iter(raters))}"] if len(raters) == 1 else []
    title = ", ".join([*told, *([f"rubric: {groups[0].rubric}"] if one else [])])
    return TableView(title, heads, rows, len(named))


def group_remarks(group: Group, found: Summary) -> Remarks:
    """The same sentences for one group alone."""
    labels = [found.labels[group.rater]] if group.rater in found.labels else []
    notes = (small_groups(),) if found.by and group.verdicts < MIN_GROUP else ()
    return Remarks(
        (
            *intervals_allow(found),
            *_special_levels(group),
            *_told_of_pair(group),
            *_counts(group),
            *_limits(group, found),
            *found.unfit,
            *labels,
        ),
        notes,
    )


def _limits(group: Group, found: Summary) -> list[str]:
    return [f"judged: {part}" for part in found.parts(group)]


def _failed_cases(found: Summary) -> Iterator[str]:
    """The first failed cases, each reason once, and where all of them are."""
    failed = sorted((each for group in found.groups for each in group.failed), key=lambda each: each.row)
    lines = dict.fromkeys(f"  {each}" for each in failed)
    yield from list(lines)[:SHOWN_FAILURES]
    if (
        max((group.failures.total() for group in found.groups), default=0) > SHOWN_FAILURES
        or len(lines) > SHOWN_FAILURES
    ):
        yield f"  all of them: `pathway-local export {quote(found.path)} --out verdicts.xlsx`, in its sheet failures"


def _names(group: Group, score: ScoreSummary, named: Sequence[str]) -> list[str]:
    rubric = (
        group.rubric
        if group.preferences or list(group.scores) == ["score"]
        else f"{group.rubric} {score.name.removesuffix('_score')}"
    )
    known = {"rubric": rubric, "rater": group.rater}  # a column of that name is called case.rubric, case.rater
    small = f" {MARK}" if group.verdicts < MIN_GROUP else ""
    return [known.get(name, f"{visible(group.group) or '(empty)'}{small}") for name in named]


def _starred(score: ScoreSummary, values: Sequence[Number]) -> list[str]:
    """Count the verdicts with each value; a star marks values off the scale."""
    counts = [str(score.counts[value]) if value in score.counts else "" for value in values]
    return [f"{count}*" if value in score.special else count for value, count in zip(values, counts, strict=True)]


def _side_by_side(cells: Iterable[str], width: int) -> str:
    """Cells in one column: columns of their own would not fit into 80 characters."""
    return " ".join(cell.rjust(width) for cell in cells)


def _figures(score: ScoreSummary, counts: str) -> list[str]:
    found = score.mean
    mean, interval = found.value, found.interval
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
        if score.between:
            of = f"{group.rubric} {score.name} by {group.rater}"
            yield f"{of}: {score.between.total()} scores between levels count in the mean alone."


def _counts(group: Group) -> Iterator[str]:
    yield from (f"{count} failed ({kind})" for kind, count in sorted(group.failures.items()))
    for mark, count in sorted(each for each in group.marks.items() if each[0] not in (FLIPPED, HELD, TURNED)):
        kind, _, name = mark.partition(":")
        often = kind == "cut" and count > OFTEN_CUT * group.verdicts
        yield f"{count} marked {mark}" + (f": {_remedy(group, name)}" if often else "")
    yield from _double_checked(group)
    yield from _reluctant(group)


def _reluctant(group: Group) -> Iterator[str]:
    """Say where the judge gave the legal values little of its probability in too many verdicts."""
    for score in group.scores.values():
        count, known = score.reluctant, len(score.masses)
        if count > OFTEN_RELUCTANT * known:
            yield (
                f"{score.name}: in {count} of {known} verdicts the judge would rather have written something else: "
                f"it gave all legal values together less than {LOW_MASS:.0%} (median of all: {score.median_mass:.2f})"
            )


def _double_checked(group: Group) -> Iterator[str]:
    """The share of verdicts judged a second time that got another score."""
    flips, count = group.marks[TURNED], group.marks[TURNED] + group.marks[HELD]
    if count:
        ends = wilson(flips, count)
        share = f"{flips / count:.1%}, {percent(ends.level)} interval {ends.low:.1%} to {ends.high:.1%}"
        yield f"{flips} of {count} double-checked verdicts flipped ({share})" + (
            ": `read` with --by flips lists them" if flips else ""
        )


def _remedy(group: Group, name: str) -> str:
    """Say what to raise if a budget often cuts a field; what the format does not declare is the judge's thinking."""
    often = f"that is {group.marks[f'cut:{name}'] / group.verdicts:.0%} of the verdicts"
    fields = group.definition.format.fields if group.definition else {}
    own = fields.get(name.removeprefix(SWAPPED))
    if not group.definition or own is None:
        return f"{often}; raise --think"
    tokens = getattr(own, "tokens", 0)
    if group.definition.format_from == "criteria":
        return f"{often}; a file with criteria alone has no setting for its {tokens} tokens"
    limits = f"its `tokens`, now {tokens}"
    if isinstance(own, VerdictListField):
        limits = f"its `items`, now {own.items}, or its texts' `tokens`"
    return f"{often}; raise {limits}, in the rubric's file"
