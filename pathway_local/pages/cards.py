"""Cases with what raters said: beside each other in a row of a table, and in full on cards; and the page to read."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pathway_local.pages.charts import MOST_BARS, Bar, short
from pathway_local.pages.page import Passage, caution, outside, page, passages
from pathway_local.results.reading_list import NOTES, CaseToRead, ReadingList, Said, reason_field
from pathway_local.results.table import score_title
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.rubric import Rubric
from pathway_local.sheets.columns import means_the_same
from pathway_local.system.visible import visible
from pathway_local.verdict import Failure, Score, Value
from pathway_local.words.language import ENGLISH, Language

EXCERPT = 160
"""Characters of a text in a table; the case itself has all."""


@dataclass(frozen=True, slots=True)
class GivenScore:
    """A score with its meaning, how sure the rater is, and the probability of each value."""

    value: str
    meaning: str
    sure: str
    bars: tuple[Bar, ...]


@dataclass(frozen=True, slots=True)
class Voice:
    """Everything that one rater said, and what to know about a judge; `brief` has the beginning of its words."""

    rater: str
    kind: str
    caution: str
    scores: tuple[GivenScore, ...] = ()
    fields: tuple[Passage, ...] = ()
    brief: str = ""
    marks: str = ""
    failure: str = ""


@dataclass(frozen=True, slots=True)
class CaseRow:
    """A case in one row: where its link leads, its groups, its question and answer, and each rater's voice, or None."""

    link: str
    case: CaseToRead
    rubric: str
    groups: tuple[str, ...]
    texts: tuple[str, ...]
    voices: tuple[Voice | None, ...]


@dataclass(frozen=True, slots=True)
class CaseTable:
    """Cases with their raters side by side; `columns` are those of groups, `inputs` those with question and answer.

    `cautions` must stand above it: they say what to know about judges among the raters.
    """

    columns: tuple[str, ...]
    inputs: tuple[str, ...]
    has_rubrics: bool
    raters: tuple[tuple[str, str], ...]
    rows: tuple[CaseRow, ...]

    @property
    def cautions(self) -> list[str]:
        """Each caution about a judge once."""
        return list(dict.fromkeys(each.caution for row in self.rows for each in row.voices if each and each.caution))


def voice(said: Said, rubric: Rubric, say: Language, score: str = "") -> Voice:
    """Return what a rater said as a page shows it, of the scores this one alone if one is given."""
    who = outside(said.rater, 120), say.word(said.kind), caution(said.rater, said.caution, say)
    outcome, declared = said.outcome, rubric.format.scores
    if isinstance(outcome, Failure):
        # A message is in English, so another language names its kind.
        told = f"{outcome.kind}: {outcome.message}" if say.name == ENGLISH else say.word(outcome.kind)
        return Voice(*who, failure=outside(told, 600))
    given = [name for name in declared if name in outcome.scores and score in ("", name)]
    several = len(declared) > 1 and not score
    named = {say("sheet_notes") if name in NOTES else name: _worded(value) for name, value in outcome.fields.items()}
    reasons = [*NOTES, *dict.fromkeys(reason_field(rubric.format, name) for name in declared)]
    words = (outcome.fields.get(name) for name in reasons)
    return Voice(
        *who,
        tuple(_score(name, outcome.scores[name], declared[name], say, several=several) for name in given),
        passages({name: text for name, text in named.items() if text}),
        beginning("\n".join(text for text in words if isinstance(text, str) and text)),
        outside(", ".join(map(say.word, outcome.marks)), 600),
    )


def case_table(
    shown: Sequence[tuple[CaseToRead, Rubric, str]],
    columns: Sequence[str],
    say: Language,
    *,
    score: str = "",
    has_rubrics: bool = False,
    has_texts: bool = True,
) -> CaseTable:
    """Return cases in rows, each under a rubric with the address to which it leads; with the `score` alone if given."""
    raters = list(dict.fromkeys((said.rater, said.kind) for case, *_ in shown for said in case.said))
    rows = []
    for case, rubric, link in shown:
        voices = {said.rater: voice(said, rubric, say, score) for said in case.said}
        groups = tuple(outside(case.metadata.get(name, ""), 120) for name in columns)
        names = _inputs_in(rubric) if has_texts else []
        texts = tuple(beginning((case.texts or {}).get(name, "")) for name in names)
        own = tuple(voices.get(name) for name, _ in raters)
        rows.append(CaseRow(link, case, outside(rubric.name, 120), groups, texts, own))
    inputs = tuple(outside(name, 120) for name in _inputs_in(shown[0][1])) if shown and has_texts else ()
    heads = tuple((outside(name, 120), say.word(kind)) for name, kind in raters)
    return CaseTable(tuple(outside(name, 120) for name in columns), inputs, has_rubrics, heads, tuple(rows))


def _inputs_in(rubric: Rubric) -> list[str]:
    """Return the inputs with the question and the answer; the first ones if none is called so."""
    names = list(rubric.inputs)
    asked = next((name for name in names if means_the_same("question", name)), names[0])
    others = [name for name in names if name != asked]
    return [asked, *sorted(others, key=lambda name: not means_the_same("answer", name))[:1]]


def beginning(text: str) -> str:
    """Return the first words of a text in one line."""
    words = " ".join(text[: 2 * EXCERPT].split())
    return visible(words if len(words) <= EXCERPT else f"{words[:EXCERPT]} …")


def _score(name: str, given: Score, declared: ScoreField, say: Language, *, several: bool) -> GivenScore:
    label = declared.levels.get(given.value, "")
    meaning = ": ".join(filter(None, (name, label))) if several else label
    sure = say("confidence_of", share=say.share(given.confidence)) if given.confidence is not None else ""
    return GivenScore(say.levels(str(given.value)), outside(meaning, 200), sure, tuple(_bars(given, declared, say)))


def _bars(given: Score, declared: ScoreField, say: Language) -> Iterator[Bar]:
    """Yield a bar for each value; of a long scale only the most probable ones."""
    likely = sorted(given.probabilities, key=lambda value: -given.probabilities[value])[:MOST_BARS]
    for value in sorted(likely):
        share = given.probabilities[value]
        meaning = short(outside(declared.levels.get(value, ""), 120))
        yield Bar(say.levels(str(value)), meaning, say.share(share), round(100 * share, 2), value in declared.special)


def _worded(value: Value) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


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


def _cards(lists: Sequence[ReadingList], say: Language, columns: Sequence[str]) -> Iterator[dict[str, object]]:
    """Yield the cases of each list, and the levels of its score in words."""
    for number, each in enumerate(lists, 1):
        title = visible(score_title(each.rubric.name, each.score) if each.score else each.rubric.name)
        declared = each.rubric.format.scores[each.score].levels if each.score else {}
        levels = tuple((str(value), outside(label)) for value, label in declared.items())
        rows = [(case, each.rubric, f"#case-{number}-{place}") for place, case in enumerate(each.cases, 1)]
        yield {"title": title, "levels": levels, "table": case_table(rows, columns, say, score=each.score)}
