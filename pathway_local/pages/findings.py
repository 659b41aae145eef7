"""The top of a report: what came out in a few sentences, and what a reader must not miss."""

from collections.abc import Iterator

from pathway_local.note import Note
from pathway_local.output.wording import Wording
from pathway_local.results.report import Report
from pathway_local.words.language import Language

FEW_LABELS = 50
"""With fewer labelled cases, intervals of agreement are wide."""


def findings(found: Report, say: Language) -> list[str]:
    """A sentence for each of the first means, with its interval and coverage, and for each of the corrected ones."""
    return [say.note(note) for note in found.findings if note.kind == "answer"]


def warnings(found: Report, say: Language) -> Iterator[str]:
    """Yield what a reader must not miss."""
    yield from Wording(say).notes(found.tables, "warning")
    yield from (say.note(note) for note in found.findings if note.kind == "warning")
    unrated = {group.rubric for group in found.groups} - set(found.labelled)
    if unrated and not found.labelled:
        yield say.note(Note("no_people"))
    elif unrated:
        yield say.note(Note("no_people_under", {"rubrics": sorted(unrated)}))
    for rubric, count in found.labelled.items():
        if count < FEW_LABELS:
            yield say.note(Note("few_labels", {"count": count, "rubric": rubric}))
