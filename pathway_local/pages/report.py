"""A report of a run as one page."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pathway_local.output.wording import Wording
from pathway_local.pages.page import page
from pathway_local.pages.provenance import provenance
from pathway_local.pages.reading import cards
from pathway_local.pages.tables import sections
from pathway_local.results.reading_list import ReadingList
from pathway_local.results.report import Report
from pathway_local.sealing.levels import CLUSTER, FILTER, is_closed
from pathway_local.system.visible import visible
from pathway_local.verdict import Value
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Look:
    """What a report says and shows beside its results.

    `title` stands in place of the run's name. A `logo` is the address of an image that holds it. The appendix has
    commands, settings and hashes.
    """

    title: str = ""
    logo: str = ""
    has_appendix: bool = True


def report_page(
    found: Report, say: Language, command: Sequence[str], now: str, look: Look, to_read: Sequence[ReadingList] = ()
) -> str:
    """The page; `command` made it, at the time `now` in ISO 8601.

    It holds ids and texts only of the cases `to_read`; without them it holds no id and no text of a case.
    """
    return page(
        "report.html",
        say,
        look.title or say("report_title", name=visible(found.name)),
        logo=look.logo,
        made=say.time(now),
        heading=look.title or found.name,
        found=found,
        findings=[say.note(note) for note in found.findings],
        warnings=[*Wording(say).notes(found.tables, "warning"), *map(say.note, found.warnings)],
        facts=list(_facts(found, say)),
        sections=sections(found.tables, say),
        lists=list(cards(to_read, say)),
        provenance=list(provenance(found, say, command)) if look.has_appendix else [],
    )


def _facts(found: Report, say: Language) -> Iterator[tuple[str, list[str]]]:
    files = ", ".join(map(visible, _each_once("file", (job.fact("cases") for job in found.jobs))))
    yield say("judged"), [say("cases", count=found.cases), *([files] if files else [])]
    yield say("under"), [visible(name) for name in found.rubrics]
    yield say("by_whom"), [f"{visible(name)} ({say(f'kind_{kind}')})" for name, kind in _raters(found)]
    if found.jobs:
        days = sorted({found.jobs[0].started[:10], (found.jobs[-1].ended or found.jobs[-1].started)[:10]})
        yield say("when"), [" – ".join(days)]
    levels = _each_once("seal", (engine for job in found.jobs for engine in job.engines))
    if levels:
        yield say("sealed"), list(dict.fromkeys(_sealed(level, say) for level in levels))


def _sealed(level: str, say: Language) -> str:
    """Return what a seal of this level did, for somebody who knows no words such as namespace."""
    if level.startswith(CLUSTER):
        return say("sealed_on_cluster", there=_sealed(level.removeprefix(CLUSTER), say))
    return say("sealed_off" if is_closed(level) else "sealed_by_filter" if level == FILTER else "not_sealed")


def _each_once(key: str, facts: Iterable[Mapping[str, Value]]) -> list[str]:
    """Return the texts that facts have under this key, each once."""
    return list(dict.fromkeys(str(each[key]) for each in facts if key in each))


def _raters(found: Report) -> list[tuple[str, str]]:
    return list(dict.fromkeys((rater.name, rater.kind) for rater in found.raters))
