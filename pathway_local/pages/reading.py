"""Cases to read, with their texts and what every rater said, as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.page import Passage, outside, page, passages
from pathway_local.pages.voices import CaseRow, CaseTable, Voice, case_table
from pathway_local.results.reading_list import CaseToRead, ReadingList
from pathway_local.results.table import score_title
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
        title = visible(score_title(each.rubric.name, each.score) if each.score else each.rubric.name)
        declared = each.rubric.format.scores[each.score].levels if each.score else {}
        levels = tuple((str(value), outside(label)) for value, label in declared.items())
        ids = [f"case-{number}-{place}" for place in range(1, len(each.cases) + 1)]
        rows = [(case, each.rubric, f"#{id}") for id, case in zip(ids, each.cases, strict=True)]
        table = case_table(rows, columns, say, score=each.score)
        cards = (_card(id, case, row, say) for id, case, row in zip(ids, each.cases, table.rows, strict=True))
        yield Cards(title, levels, table, tuple(cards))


def _card(id: str, case: CaseToRead, row: CaseRow, say: Language) -> Card:
    note = say("not_in_file") if case.texts is None else say("changed_texts") if case.changed else ""
    metadata = tuple((outside(name, 120), outside(value, 120)) for name, value in case.metadata.items() if value)
    voices = tuple(each for each in row.voices if each)
    return Card(id, visible(case.case), say("row", row=case.row), metadata, note, passages(case.texts or {}), voices)
