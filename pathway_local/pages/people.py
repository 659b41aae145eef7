"""The section on means that people's labels correct."""

from collections.abc import Iterator
from dataclasses import dataclass

from pathway_local.pages.charts import Axis, Dot, Mark, Tick, dots
from pathway_local.results.calibration import Calibration
from pathway_local.results.in_short import score_title
from pathway_local.results.report import WithPeople
from pathway_local.results.views.calibration import calibration_view
from pathway_local.results.views.view import View
from pathway_local.statistics.figure import Estimate, Undefined
from pathway_local.statistics.prediction_powered import Correction
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """A judge's mean as it is, by labels alone, and corrected; and the points of its reliability diagram."""

    judge: str
    people: str
    labels: str
    marks: tuple[Mark, ...]
    rows: tuple[tuple[str, str, str], ...]
    head: str
    ticks: tuple[Tick, ...]
    dots: tuple[Dot, ...]
    dot_rows: tuple[tuple[str, ...], ...]
    dot_head: str
    assumed: bool
    view: View


@dataclass(frozen=True, slots=True)
class PeopleSection:
    """The corrected means of one score that people have given, too."""

    title: str
    means: tuple[CorrectedMean, ...]
    unnamed: bool


def people_sections(found: WithPeople, say: Language) -> Iterator[PeopleSection]:
    """A section for each score of the rubric that has something to show or to say."""
    for each in found.agreement:
        means = [one for one in found.calibrations if one.score == each.score and (one.bins or _correction(one))]
        if means or not found.people:
            title = visible(score_title(each.rubric, each.score))
            yield PeopleSection(title, tuple(_corrected(one, say) for one in means), unnamed=not found.people)


def _correction(found: Calibration) -> Correction | None:
    whole = found.parts[0].mean
    return whole if isinstance(whole, Correction) else None


def _corrected(found: Calibration, say: Language) -> CorrectedMean:
    axis, correction = Axis(*found.scale), _correction(found)
    named: list[tuple[str, Estimate]] = []
    if correction:
        own = Estimate(correction.judge_mean, Undefined("nobody has checked it"))
        named = [(say("judge_mean"), own), (say("labels_only"), correction.labels_only)]
        named.append((say("corrected"), correction.corrected))
    marks = [axis.mark(name, say.estimate(each), each) for name, each in named]
    return CorrectedMean(
        judge=visible(found.judge),
        people=visible(found.plan.against),
        labels=labels_counted(found, correction, say) if correction else "",
        marks=tuple(marks),
        rows=tuple((name, *_cells(each, say)) for name, each in named),
        head=say.interval_head(*(each.interval for _, each in named)),
        ticks=axis.ticks(found.levels or found.scale),
        dots=tuple(dots(found.bins, axis)),
        dot_rows=tuple(
            (say.number(bin.expected), *_cells(bin.people, say), say.count(bin.cases)) for bin in found.bins
        ),
        dot_head=say.interval_head(*(bin.people.interval for bin in found.bins)),
        assumed=found.sample is None,
        view=calibration_view(found),
    )


def labels_counted(found: Calibration, correction: Correction, say: Language) -> str:
    """Name the labels that correct a mean, and how many cases the same people rated if others do not count."""
    name = "some_labels" if correction.labelled < found.rated else "all_labels"
    return say(name, people=visible(found.plan.against), labelled=correction.labelled, rated=found.rated)


def _cells(estimate: Estimate, say: Language) -> tuple[str, str]:
    return say.value(estimate.value), say.ends(estimate.interval) or "–"
