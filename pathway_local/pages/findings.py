"""The top of a report: what came out in a few sentences, and what a reader must not miss."""

from collections.abc import Iterator

from pathway_local.pages.people import labels_counted
from pathway_local.pages.tables import lines
from pathway_local.results.in_short import score_title
from pathway_local.results.report import Report
from pathway_local.statistics.figure import Undefined
from pathway_local.statistics.prediction_powered import Correction
from pathway_local.system.visible import visible
from pathway_local.words.language import Language
from pathway_local.words.note import Note

MOST_FINDINGS = 3

FEW_LABELS = 50
"""With fewer labelled cases, intervals of agreement are wide."""


def findings(found: Report, say: Language) -> list[str]:
    """A sentence for each of the first means, with its interval and coverage, and one for each corrected mean."""
    said = [say.note(note) for note in found.findings if note.kind == "answer"]
    return said + list(_corrected(found, say))[:MOST_FINDINGS]


def _corrected(found: Report, say: Language) -> Iterator[str]:
    for each in (one for part in found.with_people for one in part.calibrations):
        whole = each.parts[0].mean
        if isinstance(whole, Correction) and each.sample and not isinstance(whole.corrected.value, Undefined):
            yield say(
                "corrected_finding",
                rubric=visible(score_title(each.rubric, each.score)),
                judge=visible(each.judge),
                people=visible(each.plan.against),
                cases=each.parts[0].cases,
                labels=labels_counted(each, whole, say),
                mean=say.number(whole.corrected.value),
                interval=say.in_words(whole.corrected.interval),
            )


def warnings(found: Report, say: Language) -> Iterator[tuple[str, str]]:
    """Yield warnings, each with its language; sentences from `results/views` are in English."""
    yield from lines(found.tables, say, "warning")
    yield from ((say.note(note), say.name) for note in found.findings if note.kind == "warning")
    rated = {part.rubric for part in found.with_people}
    unrated = {group.rubric for group in found.groups} - rated
    if unrated and not rated:
        yield say.note(Note("no_people")), say.name
    elif unrated:
        yield say.note(Note("no_people_under", {"rubrics": sorted(unrated)})), say.name
    for part in found.with_people:
        if part.labelled < FEW_LABELS:
            yield say.note(Note("few_labels", {"count": part.labelled, "rubric": part.rubric})), say.name
