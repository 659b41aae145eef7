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
    """A case as a page shows it: `note` says what is wrong with its texts, `places` where its values are in filters."""

    id: str
    case: str
    row: str
    metadata: tuple[tuple[str, str], ...]
    places: tuple[str, ...]
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


@dataclass(frozen=True, slots=True)
class Filter:
    """A column of which a reader may choose a value."""

    name: str
    values: tuple[str, ...]


def reading_page(run: str, lists: Sequence[ReadingList], columns: Sequence[str], say: Language, now: str) -> str:
    """The page with all lists, made at the time `now` in ISO 8601; `columns` are those of groups."""
    by = lists[0].by if lists else "score"
    filters = _filters(lists, columns)
    return page(
        "read.html",
        say,
        say("read_title", name=visible(run)),
        css=_hiding(filters, say),
        made=say.time(now),
        name=visible(run),
        lead=say(f"read_by_{by}"),
        filters=[Filter(outside(each.name, 120), tuple(outside(v, 120) for v in each.values)) for each in filters],
        lists=list(_cards(lists, say, columns, filters)),
    )


def _cards(
    lists: Sequence[ReadingList], say: Language, columns: Sequence[str], filters: Sequence[Filter]
) -> Iterator[Cards]:
    for number, each in enumerate(lists, 1):
        scores = each.rubric.format.scores
        title = visible(score_title(each.rubric.name, each.score) if each.score else each.rubric.name)
        declared = scores[each.score].levels if each.score else {}
        levels = tuple((str(value), outside(label)) for value, label in declared.items())
        shown = tuple(
            _card(f"case-{number}-{place}", case, each.rubric, filters, say) for place, case in enumerate(each.cases, 1)
        )
        rows = [(case, each.rubric, f"#{card.id}", card.places) for case, card in zip(each.cases, shown, strict=True)]
        yield Cards(title, levels, case_table(rows, columns, say), shown)


def _card(id: str, case: CaseToRead, rubric: Rubric, filters: Sequence[Filter], say: Language) -> Card:
    note = say("not_in_file") if case.texts is None else say("changed_texts") if case.changed else ""
    voices = tuple(voice(said, rubric, say) for said in case.said)
    metadata = tuple((outside(name, 120), outside(value, 120)) for name, value in case.metadata.items() if value)
    places = tuple(str(each.values.index(value)) if (value := case.metadata.get(each.name)) else "" for each in filters)
    row, texts = say("row", row=case.row), passages(case.texts or {})
    return Card(id, visible(case.case), row, metadata, places, note, texts, voices)


def _filters(lists: Sequence[ReadingList], columns: Sequence[str]) -> list[Filter]:
    """The columns of which the cases have two values or more."""
    shown = [case.metadata for each in lists for case in each.cases]
    found = [Filter(name, tuple(sorted({case[name] for case in shown if case.get(name)}))) for name in columns]
    return [each for each in found if len(each.values) > 1]


def _hiding(filters: Sequence[Filter], say: Language) -> str:
    """Return a style that hides cases without the chosen values, and says if a list has no others: with no script."""
    # A row that is hidden counts nothing, and a count of 0 is spelled as a sentence.
    none_left = (
        f'@counter-style none-left {{ system: fixed 0; symbols: "{say("view_none")}"; fallback: some-left }}\n'
        '@counter-style some-left { system: cyclic; symbols: "" }\n'
        "#results > section { counter-reset: left }\n#results .cases tbody tr { counter-increment: left }\n"
        "#results > section::after { content: counter(left, none-left) }\n"
    )
    return none_left + "".join(
        f'body:has(#filter-{at} option[value="{place}"]:checked) [data-filter-{at}]:not([data-filter-{at}="{place}"]) '
        "{ display: none }\n"
        for at, each in enumerate(filters)
        for place in range(len(each.values))
    )
