"""The table of cases: its rows, what a person can choose, and the levels that groups got."""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from msgspec import ValidationError, convert

from pathway_local.pages.page import Block, blocks, outside
from pathway_local.pages.voices import CaseRow, CaseTable, asked_in, beginning, groups_of, raters_of, voice
from pathway_local.results.table import Cell, Column, Level, Table, score_title
from pathway_local.viewer.verdict_index import (
    FAILURES,
    KIND,
    ORDERS,
    VERDICTS,
    CaseTexts,
    Row,
    Selection,
    VerdictIndex,
)
from pathway_local.words.language import Language

GROUP = "group:"
"""Begins the name of a form's field for a kept column."""

MOST_COLUMNS = 12
"""Kept columns with a list of their own to choose from."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A list to choose from, by the name of its field; options come in groups, each with its title.

    An option is the value that the form sends, with its words. `none` are the words for no choice; without them, one
    option is always chosen.
    """

    name: str
    label: str
    none: str
    groups: Mapping[str, Mapping[str, str | None]]
    chosen: str


def selection_in(form: Mapping[str, str]) -> Selection:
    """Return what a person chose in the form of `choices`."""
    level, order = _parts(form.get("level", "")), form.get("order", "")
    return Selection(
        rubric=form.get("rubric", ""),
        rater=form.get("rater", ""),
        level=(level[0], float(level[1])) if level and not isinstance(level[1], str) else None,
        outcome=form.get("outcome", ""),
        mark=form.get("mark", ""),
        groups=tuple((name.removeprefix(GROUP), form[name]) for name in form if name.startswith(GROUP) and form[name]),
        text=form.get("text", ""),
        order=order if order in ORDERS else "case",
        by=form.get("by", ""),
    )


def choices(index: VerdictIndex, chosen: Selection, say: Language) -> Iterator[Choice]:
    """Yield each list to choose from that would leave out something, and what the table is sorted and charted by."""
    raters, every = dict.fromkeys(rater.name for rater in index.raters.values()), say("view_all")
    yield from _choice("rubric", say("view_rubric"), every, {"": dict.fromkeys(index.rubrics)}, chosen.rubric)
    yield from _choice("rater", say("view_rater"), every, {"": raters}, chosen.rater)
    yield from _choice("level", say("view_score"), every, _levels(index), _pair(*chosen.level or ()))
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": kind for kind in index.failures}
    yield from _choice("outcome", say("view_outcome"), every, {"": outcomes if index.failures else {}}, chosen.outcome)
    yield from _choice("mark", say("mark"), every, {"": dict.fromkeys(index.marks)}, chosen.mark, least=1)
    own = dict(chosen.groups)
    for name in columns_of(index):
        values = {"": dict.fromkeys(index.groups[name])}
        yield from _choice(f"{GROUP}{name}", outside(name, 120), every, values, own.get(name, ""))
    orders = {name: say(f"view_order_{name}") for name in ORDERS}
    yield from _choice("order", say("view_order"), "", {"": orders}, chosen.order)
    by = {"": dict.fromkeys(columns_of(index))}
    yield from _choice("by", say("view_levels_by"), say("view_levels_by_none"), by, chosen.by, least=1)


def columns_of(index: VerdictIndex) -> list[str]:
    """Return the kept columns that the table shows."""
    return list(index.groups)[:MOST_COLUMNS]


def case_table(
    index: VerdictIndex, texts: CaseTexts | None, rows: Sequence[Row], folder: str, say: Language
) -> CaseTable:
    """Return rows of the table, each with a link below `folder`."""
    raters = list(dict.fromkeys((each.rater, each.kind) for row in rows for each in row.said))
    order = [rater.name for rater in index.raters.values()]
    raters.sort(key=lambda rater: order.index(rater[0]))
    columns = columns_of(index)
    asked = [asked_in(index.rubrics[row.rubric]) for row in rows] if texts else []
    made = []
    for place, row in enumerate(rows):
        inputs = (texts.of(row.case.id) if texts else None) or {}
        said = {each.rater: voice(each, index.rubrics[row.rubric], say) for each in row.said}
        made.append(
            CaseRow(
                link=f"{folder}/{row.case.key}",
                case=outside(row.case.id, 120),
                rubric=outside(row.rubric, 120),
                places=(),
                groups=groups_of(row.case.metadata, columns),
                asked=beginning(inputs.get(asked[place], "")) if texts else "",
                voices=tuple(said.get(name) for name, _ in raters),
            )
        )
    heads = tuple(outside(name, 120) for name in columns)
    has_rubrics = len(index.rubrics) > 1
    return CaseTable(heads, outside(asked[0], 120) if asked else "", has_rubrics, raters_of(raters, say), tuple(made))


def level_charts(index: VerdictIndex, by: str, say: Language) -> tuple[Block, ...]:
    """Return how often each rater gave each level in the shown cases, for each value of a column."""
    counted: dict[tuple[str, str], dict[tuple[str, str], dict[float, int]]] = defaultdict(lambda: defaultdict(dict))
    for rubric, score, group, rater, value, count in index.levels(by):
        counted[rubric, score][group, rater][value] = count
    return blocks([_level_table(index, by, *of, found) for of, found in counted.items()], say)


def _level_table(
    index: VerdictIndex, by: str, rubric: str, score: str, found: Mapping[tuple[str, str], Mapping[float, int]]
) -> Table:
    declared = index.rubrics[rubric].format.scores[score]
    columns = [Column("rater", "rater"), *([Column("group")] if by else []), Column("distribution", "counts")]
    rows: list[dict[str, Cell]] = []
    for (group, rater), counts in found.items():
        levels = tuple(
            Level(str(value), counts.get(value, 0), declared.levels.get(value, ""), value in declared.special)
            for value in declared.values
        )
        rows.append({"group": group, "rater": rater, "distribution": levels})
    about = {"by": by, "rubric": rubric, "score": score}
    return Table("groups" if by else "levels", about, columns, rows, chart="levels")


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
    name: str,
    label: str,
    none: str,
    groups: Mapping[str, Mapping[str, str | None]],
    chosen: str,
    least: int = 2,
) -> Iterator[Choice]:
    if sum(map(len, groups.values())) >= least:
        yield Choice(name, label, none, groups, chosen)


def _pair(*parts: str | float) -> str:
    """Return a score's name and value as a form sends them; empty for none."""
    return json.dumps(parts) if parts else ""


def _parts(text: str) -> tuple[str, str | float] | None:
    """Return the parts of a choice that a form sent; None for none."""
    try:
        return convert(json.loads(text or "null"), tuple[str, str | float] | None)
    except (ValueError, RecursionError, ValidationError):
        return None
