"""The table of verdicts: its rows, what a person can choose, and the links to other pages of it."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import urlencode

from msgspec import ValidationError, convert

from pathway_local.pages.page import caution, outside
from pathway_local.results.in_short import score_title
from pathway_local.results.labels import labels_of
from pathway_local.results.reading_list import Given
from pathway_local.system.visible import visible
from pathway_local.viewer.selection import FAILURES, KIND, ORDERS, VERDICTS, Order, Selection
from pathway_local.viewer.verdict_index import PAGE, Row, Shown, VerdictIndex
from pathway_local.words.language import Language

EXCERPT = 160
"""Characters of a rater's words in the table; the case's page has all."""


@dataclass(frozen=True, slots=True)
class Option:
    """A choice in a list: the value that the form sends, its words, and whether it is chosen."""

    value: str
    words: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Choice:
    """A list to choose from, by the name of its field; options come in groups, each with its title."""

    name: str
    label: str
    groups: tuple[tuple[str, tuple[Option, ...]], ...]


@dataclass(frozen=True, slots=True)
class Line:
    """One verdict as a row of the table."""

    key: int
    case: str
    rubric: str
    rater: str
    kind: str
    scores: tuple[tuple[str, str], ...]
    sure: str
    words: str
    failure: str
    marks: str


@dataclass(frozen=True, slots=True)
class Head:
    """A column that the table can be sorted by; `query` sorts by it, the other way round if it is sorted already."""

    label: str
    query: str
    arrow: str


def query_of(order: Order, page: int = 1) -> str:
    """Return the part of an address behind the question mark. What a person searches for is never in an address."""
    said = {"by": order.by, "down": "1" if order.down else "", "page": str(page) if page > 1 else ""}
    return urlencode({name: value for name, value in said.items() if value})


def order_in(query: Mapping[str, str]) -> Order:
    """Return the order that an address asks for; the usual one for an unknown name."""
    by = query.get("by", "")
    return Order(by if by in ORDERS else "case", query.get("down") == "1")


def selection_in(form: Mapping[str, str]) -> Selection:
    """Return what a person chose in the form of `choices`."""
    level, group = _parts(form.get("level", "")), _parts(form.get("group", ""))
    return Selection(
        rubric=form.get("rubric", ""),
        rater=form.get("rater", ""),
        level=(level[0], float(level[1])) if level and not isinstance(level[1], str) else None,
        outcome=form.get("outcome", ""),
        mark=form.get("mark", ""),
        group=(group[0], str(group[1])) if group else None,
        text=form.get("text", ""),
    )


def choices(index: VerdictIndex, chosen: Selection, say: Language) -> Iterator[Choice]:
    """Yield each list to choose from that would leave out something."""
    raters = dict.fromkeys(rater.name for rater in index.raters.values())
    yield from _choice("rubric", say("view_rubric"), {"": dict.fromkeys(index.rubrics)}, chosen.rubric)
    yield from _choice("rater", say("view_rater"), {"": raters}, chosen.rater)
    yield from _choice("level", say("view_score"), _levels(index), _pair(*chosen.level or ()))
    found = index.choices
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": kind for kind in found.failures}
    yield from _choice("outcome", say("view_outcome"), {"": outcomes if found.failures else {}}, chosen.outcome)
    yield from _choice("mark", say("mark"), {"": dict.fromkeys(found.marks)}, chosen.mark, least=1)
    groups = {name: {_pair(name, value): value for value in values} for name, values in found.groups.items()}
    yield from _choice("group", say("view_group"), groups, _pair(*chosen.group or ()))


def heads(order: Order, say: Language) -> dict[str, Head]:
    """Return the heads of sorted columns by name."""
    labels = {
        "case": say("view_case"),
        "rater": say("view_rater"),
        "score": say("view_score"),
        "confidence": say("confidence"),
    }
    found = {}
    for name, label in labels.items():
        down = order.by == name and not order.down
        arrow = ("↓" if order.down else "↑") if order.by == name else ""
        found[name] = Head(label, query_of(Order(name, down)), arrow)
    return found


def line(row: Row, say: Language) -> Line:
    """Return a row of the table in words."""
    said = row.said
    several = len(said.scores) > 1
    shares = [given.confidence for given in said.scores if given.confidence is not None]
    return Line(
        key=row.key,
        case=outside(row.case_id, 120),
        rubric=outside(row.rater.rubric, 120),
        rater=outside(said.rater, 120),
        kind=say(f"kind_{said.kind}"),
        scores=tuple((str(given.value), _meaning(given, several=several)) for given in said.scores),
        sure=say.share(min(shares)) if shares else "",
        words=_beginning(said.reason),
        failure=outside(said.failure, EXCERPT),
        marks=outside(", ".join(row.marks), EXCERPT),
    )


def cautions_of(index: VerdictIndex, rows: Iterable[Row], say: Language) -> Iterator[str]:
    """Yield what to know about each judge with verdicts among these rows."""
    labels = labels_of(index.run)
    for rater in dict.fromkeys(row.said.rater for row in rows):
        if label := labels.get(rater):
            yield caution(rater, label, say)


def pages(shown: Shown) -> int:
    """Return how many pages the table has."""
    return max(1, -(-shown.verdicts // PAGE))


def _beginning(text: str) -> str:
    words = " ".join(text[: 2 * EXCERPT].split())
    return visible(words if len(words) <= EXCERPT else f"{words[:EXCERPT]} …")


def _meaning(given: Given, *, several: bool) -> str:
    return outside(f"{given.name} {given.label}".strip() if several else given.label, 120)


def _levels(index: VerdictIndex) -> dict[str, dict[str, str]]:
    """Return the values of each score with their labels, by the score's title."""
    found: dict[str, dict[str, str]] = {}
    for rubric in index.rubrics.values():
        for name, declared in rubric.format.scores.items():
            found[score_title(rubric.name, name)] = {
                _pair(name, float(value)): f"{value} {declared.levels.get(value, '')}".strip()
                for value in declared.values
            }
    return found


def _choice(
    name: str, label: str, groups: Mapping[str, Mapping[str, str | None]], chosen: str, least: int = 2
) -> Iterator[Choice]:
    if sum(map(len, groups.values())) >= least:
        told = tuple(
            (outside(title, 120), tuple(_option(value, words, chosen) for value, words in options.items()))
            for title, options in groups.items()
        )
        yield Choice(name, label, told)


def _option(value: str, words: str | None, chosen: str) -> Option:
    return Option(value, outside(words or value, 120), value == chosen)


def _pair(*parts: str | float) -> str:
    """Return a choice of two parts, such as a column and its value, as a form sends it; empty for none."""
    return json.dumps(parts) if parts else ""


def _parts(text: str) -> tuple[str, str | float] | None:
    """Return the parts of a choice that a form sent; None for none."""
    try:
        return convert(json.loads(text or "null"), tuple[str, str | float] | None)
    except (ValueError, RecursionError, ValidationError):
        return None
