"""Cases to read, with their texts and what every rater said, as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.page import Passage, outside, page, passages
from pathway_local.pages.voices import CaseTable, Voice, case_table, voice
from pathway_local.results.reading_list import CaseToRead, ReadingList
from pathway_local.results.table import score_title
from pathway_local.rubrics.rubric import Rubric
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Card:
    """A case as a page shows it: `note` says what is wrong with its texts."""

    id: str
    case: str
    row: str
    metadata: tuple[tuple[str, str], ...]
    note: str
    passages: tuple[Passage, ...]
    voices: tuple[Voice, ...]


@dataclass(frozen=True, slots=True)
class Cards:
    """The cases of one list, and the levels of its score in words."""

    title: str
    levels: tuple[tuple[str, str], ...]
    table: CaseTable
    cards: tuple[Card, ...]


def reading_page(run: str, lists: Sequence[ReadingList], columns: Sequence[str], say: Language, now: str) -> str:
    """The page with all lists, made at the time `now` in ISO 8601; `columns` are those of groups."""
    by = lists[0].by if lists else "score"
    return page(
        "read.html",
        say,
        say("read_title", name=visible(run)),
        made=say.time(now),
        name=visible(run),
        lead=say(f"read_by_{by}"),
        lists=list(_cards(lists, say, columns)),
    )


def _cards(lists: Sequence[ReadingList], say: Language, columns: Sequence[str]) -> Iterator[Cards]:
    for number, each in enumerate(lists, 1):
        scores = each.rubric.format.scores
        title = visible(score_title(each.rubric.name, each.score) if each.score else each.rubric.name)
        declared = scores[each.score].levels if each.score else {}
        levels = tuple((str(value), outside(label)) for value, label in declared.items())
        shown = tuple(
            _card(f"case-{number}-{place}", case, each.rubric, say) for place, case in enumerate(each.cases, 1)
        )
        rows = [(case, each.rubric, f"#{card.id}") for case, card in zip(each.cases, shown, strict=True)]
        yield Cards(title, levels, case_table(rows, columns, say), shown)


def _card(id: str, case: CaseToRead, rubric: Rubric, say: Language) -> Card:
    note = say("not_in_file") if case.texts is None else say("changed_texts") if case.changed else ""
    voices = tuple(voice(said, rubric, say) for said in case.said)
    metadata = tuple((outside(name, 120), outside(value, 120)) for name, value in case.metadata.items() if value)
    row, texts = say("row", row=case.row), passages(case.texts or {})
    return Card(id, visible(case.case), row, metadata, note, texts, voices)
