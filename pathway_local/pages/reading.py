"""Cases to read, with their texts and what every rater said, as a page or as a part of one."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.page import LONGEST_TEXT, Passage, caution, outside, page, passage, passages
from pathway_local.results.in_short import score_title
from pathway_local.results.reading_list import CaseToRead, Given, ReadingList, Said
from pathway_local.system.visible import visible
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Voice:
    """One rater: what to know about a judge, scores with their meaning, words, or why there is no verdict."""

    rater: str
    kind: str
    caution: str
    scores: tuple[tuple[str, str, str], ...]
    reason: str
    failure: str


@dataclass(frozen=True, slots=True)
class Card:
    """A case as a page shows it; `note` says what is wrong with its texts."""

    case: str
    row: str
    note: str
    passages: tuple[Passage, ...]
    voices: tuple[Voice, ...]


@dataclass(frozen=True, slots=True)
class Cards:
    """The cases of one list, with the levels of its score in words."""

    title: str
    levels: tuple[tuple[str, str], ...]
    cards: tuple[Card, ...]


def reading_page(run: str, lists: Sequence[ReadingList], say: Language, now: str) -> str:
    """The page with all lists, made at the time `now` in ISO 8601."""
    by = lists[0].by if lists else "score"
    return page(
        "read.html",
        say,
        say("read_title", name=visible(run)),
        made=say.time(now),
        name=visible(run),
        lead=say(f"read_by_{by}"),
        lists=list(cards(lists, say)),
    )


def cards(lists: Sequence[ReadingList], say: Language) -> Iterator[Cards]:
    """Each list as cards; of several with the same score, the first has its levels."""
    explained: set[str] = set()
    for each in lists:
        scores = each.rubric.format.scores
        title = visible(score_title(each.rubric.name, each.score) if each.score else each.rubric.name)
        declared = scores[each.score].levels if each.score and title not in explained else {}
        explained.add(title)
        levels = tuple((str(value), outside(label)) for value, label in declared.items())
        if each.pattern:
            title = say("pattern", title=title, values=", ".join(map(str, each.pattern)))
        yield Cards(title, levels, tuple(_card(case, say) for case in each.cases))


def _card(case: CaseToRead, say: Language) -> Card:
    note = say("not_in_file") if case.texts is None else say("changed_texts") if case.changed else ""
    voices = tuple(_voice(said, say) for said in case.said)
    return Card(visible(case.case), say("row", row=case.row), note, passages(case.texts or {}), voices)


def _voice(said: Said, say: Language) -> Voice:
    scores = tuple(_score(given, say, several=len(said.scores) > 1) for given in said.scores)
    kind = say(f"kind_{said.kind}")
    known, reason = caution(said.rater, said.caution, say), passage(said.reason, LONGEST_TEXT)
    return Voice(visible(said.rater), kind, known, scores, reason, visible(said.failure))


def _score(given: Given, say: Language, *, several: bool) -> tuple[str, str, str]:
    label = f"{given.name}: {given.label}" if several and given.label else given.name if several else given.label
    sure = say("confidence_of", share=say.share(given.confidence)) if given.confidence is not None else ""
    return str(given.value), visible(label), sure
