"""A report of a run as one page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from pathway_local.pages.findings import findings, warnings
from pathway_local.pages.page import page
from pathway_local.pages.provenance import provenance
from pathway_local.pages.reading import cards
from pathway_local.pages.tables import sections
from pathway_local.results.reading_list import ReadingList
from pathway_local.results.report import Report
from pathway_local.system.visible import visible
from pathway_local.verdict import Value
from pathway_local.words.language import Language


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
