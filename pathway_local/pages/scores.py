"""The section on scores: how often each level was given, with the mean, for all cases and by group."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.charts import MOST_BARS, Axis, Bar, Mark, Tick, short
from pathway_local.pages.page import MOST_ROWS, score_title
from pathway_local.results.agreement import ORDER
from pathway_local.results.report import Report
from pathway_local.results.summary import Group, ScoreSummary
from pathway_local.statistics.figure import Undefined
from pathway_local.system.visible import visible
from pathway_local.verdict import Number
from pathway_local.words.language import Language

MOST_MARKS = 40
"""Groups in a chart; the table behind it has more."""


@dataclass(frozen=True, slots=True)
class RaterScores:
    """One rater's scores: their figures in words, and the bars of a distribution with the rows behind them.

    A nominal score has no mean, and a panel that gives means has no bars: they are no levels.
    """

    rater: str
    scored: str
    mean: str
    interval: str
    interval_head: str
    confidence: str
    bars: tuple[Bar, ...]
    rows: tuple[tuple[str, ...], ...]
    groups: tuple[Mark, ...] = ()
    groups_title: str = ""
    group_rows: tuple[tuple[str, ...], ...] = ()
    group_count: int = 0
    ticks: tuple[Tick, ...] = ()


@dataclass(frozen=True, slots=True)
class ScoreSection:
    """One score of a rubric by all raters."""

    title: str
    description: str
    raters: tuple[RaterScores, ...]


def score_sections(found: Report, say: Language) -> Iterator[ScoreSection]:
    """A section for each score of each rubric that any rater has used."""
    for rubric in found.rubrics.values():
        groups = [group for group in judges_first(found) if group.rubric == rubric.name]
        for name in rubric.format.scores if groups else ():
            raters = tuple(_rater(found, group, name, say) for group in groups)
            yield ScoreSection(visible(score_title(rubric.name, name)), visible(rubric.description), raters)


def judges_first(found: Report) -> list[Group]:
    """Every rater's verdicts under each rubric: judges first, people last, rubrics in the run's own order."""
    kinds = {rater.name: ORDER.index(rater.kind) for rater in found.raters}
    rubrics = list(found.rubrics)
    return sorted(
        found.summary.groups, key=lambda group: (kinds[group.rater], rubrics.index(group.rubric), group.rater)
    )


def cases_under(found: Report, rubric: str) -> int:
    """The most cases under a rubric that a rater has an outcome for: coverage is the share of these."""
    return max(group.cases for group in found.summary.groups if group.rubric == rubric)


def _rater(found: Report, group: Group, name: str, say: Language) -> RaterScores:
    score = group.scores[name]
    parts = [each for each in found.groups.groups if _same(each, group)] if found.groups else []
    by, title = found.plan.by, visible(score_title(group.rubric, name))
    axis, cases = Axis(*ends_of(score)), cases_under(found, group.rubric)
    own = [each.scores[name].mean.interval for each in (group, *parts)]
    marks = [
        axis.mark(_group(each, say), say.value(each.scores[name].mean.value), each.scores[name].mean)
        for each in parts[:MOST_MARKS]
    ]
    return RaterScores(
        rater=visible(group.rater),
        scored=say("scored_of", scored=score.n, cases=cases, share=say.share(score.n / cases)),
        mean="" if isinstance(score.mean.value, Undefined) else say.value(score.mean.value),
        interval=say.ends(score.mean.interval),
        interval_head=say.interval_head(*own),
        confidence=say.number(score.confidence) if score.confidence is not None else "",
        bars=tuple(_bars(score, say)) if any(score.counts.values()) else (),
        rows=tuple(_rows(score, say)),
        groups=tuple(marks),
        groups_title=say(
            "means_by", rater=visible(group.rater), title=title, column=visible(by), level=say.level(*own)
        ),
        group_rows=tuple(_group_row(each, name, say) for each in parts[:MOST_ROWS]),
        group_count=len(parts),
        ticks=axis.ticks(_levels(score) if len(score.counts) <= MOST_BARS else ends_of(score)),
    )


def _same(one: Group, other: Group) -> bool:
    return (one.rater, one.rubric) == (other.rater, other.rubric)


def _group(group: Group, say: Language) -> str:
    return visible(group.group) or say("empty_group")


def _levels(score: ScoreSummary) -> list[Number]:
    return [value for value in score.counts if value not in score.special]


def ends_of(score: ScoreSummary) -> tuple[float, float]:
    levels = _levels(score)
    return float(min(levels)), float(max(levels))


def _group_row(group: Group, name: str, say: Language) -> tuple[str, ...]:
    score = group.scores[name]
    return _group(group, say), say.count(score.n), say.value(score.mean.value), say.ends(score.mean.interval)


def _rows(score: ScoreSummary, say: Language) -> Iterator[tuple[str, ...]]:
    for value, count in score.counts.items():
        label = visible(score.levels.get(value, ""))
        if value in score.special:
            label = say("off_scale", label=label or str(value))
        yield str(value), label, say.count(count), say.share(count / max(1, score.n))
    if between := score.between.total():
        yield "–", say("between_levels"), say.count(between), say.share(between / max(1, score.n))


def _bars(score: ScoreSummary, say: Language) -> Iterator[Bar]:
    def bar(name: str, label: str, count: int, *, off_scale: bool) -> Bar:
        share = count / max(1, score.n)
        return Bar(name, label, f"{say.count(count)} · {say.share(share)}", round(100 * share, 2), off_scale)

    for values in _steps(list(score.counts)):
        count = sum(score.counts[value] for value in values)
        name = str(values[0]) if len(values) == 1 else f"{values[0]}–{values[-1]}"
        label = visible(score.levels.get(values[0], "")) if len(values) == 1 else ""
        yield bar(name, short(label), count, off_scale=values[0] in score.special)
    if between := score.between.total():
        yield bar("–", say("between_levels"), between, off_scale=False)


def _steps(values: Sequence[Number]) -> list[Sequence[Number]]:
    """The levels, several together where there are too many for a bar each."""
    size = -(-len(values) // MOST_BARS)
    return [values[start : start + size] for start in range(0, len(values), size)]
