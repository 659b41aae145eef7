"""A report of a run as one page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.pages.charts import Axis, Mark, Tick, axis_around_zero
from pathway_local.pages.findings import findings, warnings
from pathway_local.pages.page import page
from pathway_local.pages.people import people_sections
from pathway_local.pages.provenance import provenance
from pathway_local.pages.reading import cards
from pathway_local.pages.tables import sections
from pathway_local.results.comparison import Comparison
from pathway_local.results.in_short import score_title
from pathway_local.results.reading_list import ReadingList
from pathway_local.results.report import Report
from pathway_local.results.views.comparison import comparison_remarks, comparison_view
from pathway_local.results.views.view import View
from pathway_local.statistics.figure import Undefined
from pathway_local.system.visible import visible
from pathway_local.verdict import Value
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class CompareSection:
    """Differences of two chatbots on an axis around zero, and the view with their table and sentences."""

    lead: str
    title: str
    marks: tuple[Mark, ...]
    ticks: tuple[Tick, ...]
    sentences: tuple[str, ...]
    view: View


def report_page(
    found: Report, say: Language, command: Sequence[str], now: str, to_read: Sequence[ReadingList] = ()
) -> str:
    """The page; `command` made it, at the time `now` in ISO 8601.

    It holds ids and texts only of the cases `to_read`; without them it holds no id and no text of a case.
    """
    return page(
        "report.html",
        say,
        say("report_title", name=visible(found.name)),
        made=say.time(now),
        found=found,
        findings=findings(found, say),
        warnings=list(warnings(found, say)),
        facts=list(_facts(found, say)),
        sections=sections(found.tables, say),
        compared=_compared(found.compared, say) if found.compared else None,
        people=[section for each in found.with_people for section in people_sections(each, say)],
        lists=list(cards(to_read, say)),
        provenance=list(provenance(found, say, command)),
    )


def _facts(found: Report, say: Language) -> Iterator[tuple[str, list[str]]]:
    files = ", ".join(map(visible, _each_once("file", (job.fact("cases") for job in found.jobs))))
    yield say("judged"), [say("cases", count=found.cases), *([files] if files else [])]
    yield say("under"), [visible(name) for name in found.rubrics]
    yield say("by_whom"), [f"{visible(name)} ({say(f'kind_{kind}')})" for name, kind in _raters(found)]
    if found.jobs:
        days = sorted({found.jobs[0].started[:10], (found.jobs[-1].ended or found.jobs[-1].started)[:10]})
        yield say("when"), [" – ".join(days)]
    sealed = _each_once("seal", (engine for job in found.jobs for engine in job.engines))
    if sealed:
        yield say("sealed"), [visible(", ".join(sealed))]


def _each_once(key: str, facts: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the texts that facts have under this key, each once."""
    return list(dict.fromkeys(str(each[key]) for each in facts if key in each))


def _raters(found: Report) -> list[tuple[str, str]]:
    return list(dict.fromkeys((rater.name, rater.kind) for rater in found.raters))


def _compared(found: Sequence[Comparison], say: Language) -> CompareSection:
    shown = [each for each in found if not isinstance(each.found, Undefined)]
    estimates = [each.found.difference for each in shown if not isinstance(each.found, Undefined)]
    axis = axis_around_zero(estimates)
    marks = [axis.mark(_name(each), say.estimate(one), one) for each, one in zip(shown, estimates, strict=True)]
    plan = found[0].plan
    view = comparison_view(found)
    sentences = tuple(line for each in found for line in comparison_remarks(each).sentences)
    names = (visible(plan.first), visible(plan.second))
    lead = say("comparison_lead" if plan.pair_by else "comparison_lead_apart", first=names[0], second=names[1])
    level = say.level(*(each.interval for each in estimates))
    title = say("difference_of", first=names[0], second=names[1], level=level)
    return CompareSection(lead, title, tuple(marks), _ticks(axis, say), tuple(map(visible, sentences)), view)


def _ticks(axis: Axis, say: Language) -> tuple[Tick, ...]:
    return tuple(Tick(say.number(value, 1), axis.at(value)) for value in (axis.low, 0.0, axis.high))


def _name(each: Comparison) -> str:
    return visible(f"{each.rater}, {score_title(each.rubric, each.score)}")
