"""Cases to read, with their texts and what every rater said, as a page."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.page import outside, page
from pathway_local.pages.voices import CaseTable, case_table
from pathway_local.results.reading_list import ReadingList
from pathway_local.results.table import score_title
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Cards:
    """The cases of one list, and the levels of its score in words."""

    title: str
    levels: tuple[tuple[str, str], ...]
    table: CaseTable


def reading_page(run: str, lists: Sequence[ReadingList], columns: Sequence[str], say: Language, now: str) -> str:
    """The page with all lists, made at the time `now` in ISO 8601; `columns` are those of groups."""
    by = lists[0].by if lists else "score"
    return page(
        "read.html",
        say,
        say("titled", kind=say("read_kind"), name=visible(run)),
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
        rows = [(case, each.rubric, f"#case-{number}-{place}") for place, case in enumerate(each.cases, 1)]
        yield Cards(title, levels, case_table(rows, columns, say, score=each.score))
