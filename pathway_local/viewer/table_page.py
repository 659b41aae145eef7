"""What a person can choose in the table of cases."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from msgspec import ValidationError, convert

from pathway_local.pages.page import outside
from pathway_local.results.table import score_title
from pathway_local.viewer.verdicts import FAILURES, KIND, ORDERS, VERDICTS, Selection, Verdicts
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
    )


def choices(verdicts: Verdicts, chosen: Selection, say: Language) -> Iterator[Choice]:
    """Yield each list to choose from that would leave out something, and what the table is sorted by."""
    raters, every = dict.fromkeys(rater.name for rater in verdicts.raters), say("view_all")
    yield from _choice("rubric", say("view_rubric"), every, {"": dict.fromkeys(verdicts.rubrics)}, chosen.rubric)
    yield from _choice("rater", say("view_rater"), every, {"": raters}, chosen.rater)
    yield from _choice("level", say("view_score"), every, _levels(verdicts), _pair(*chosen.level or ()))
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": kind for kind in verdicts.failures}
    yield from _choice(
        "outcome", say("view_outcome"), every, {"": outcomes if verdicts.failures else {}}, chosen.outcome
    )
    yield from _choice("mark", say("mark"), every, {"": dict.fromkeys(verdicts.marks)}, chosen.mark, least=1)
    own = dict(chosen.groups)
    for name in columns_of(verdicts):
        values = {"": dict.fromkeys(verdicts.groups[name])}
        yield from _choice(f"{GROUP}{name}", outside(name, 120), every, values, own.get(name, ""))
    orders = {name: say(f"view_order_{name}") for name in ORDERS}
    yield from _choice("order", say("view_order"), "", {"": orders}, chosen.order)


def columns_of(verdicts: Verdicts) -> list[str]:
    """Return the kept columns that the table shows."""
    return list(verdicts.groups)[:MOST_COLUMNS]


def _levels(verdicts: Verdicts) -> dict[str, dict[str, str]]:
    """Return the values of each score with their labels, by the score's title."""
    found: dict[str, dict[str, str]] = {}
    for rubric in verdicts.rubrics.values():
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
