"""What a person can choose in the table of cases."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from msgspec import ValidationError, convert

from pathway_local.results.table import score_title
from pathway_local.viewer.verdicts import FAILURES, KIND, ORDERS, VERDICTS, Selection, Verdicts
from pathway_local.words.language import Language

GROUP = "group:"
"""Begins the name of a form's field for a kept column."""

MOST_COLUMNS = 12
"""Kept columns with a list of their own to choose from."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A list to choose from: the name of its field, its label, and the words of each value that the form may send."""

    name: str
    label: str
    options: Mapping[str, str]
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


def choices(verdicts: Verdicts, chosen: Selection, say: Language) -> list[Choice]:
    """Return each list to choose from that would leave out something, and what the table is sorted by."""
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": say.word(kind) for kind in verdicts.failures}
    own, groups = dict(chosen.groups), {name: verdicts.groups[name] for name in columns_of(verdicts)}
    found = [
        Choice("rubric", say("view_rubric"), _same(verdicts.rubrics), chosen.rubric),
        Choice("rater", say("view_rater"), _same(rater.name for rater in verdicts.raters), chosen.rater),
        Choice("level", say("view_score"), _levels(verdicts, say), _pair(*chosen.level or ())),
        Choice("outcome", say("view_outcome"), outcomes if verdicts.failures else {}, chosen.outcome),
        Choice("mark", say("mark"), {mark: say.word(mark) for mark in verdicts.marks}, chosen.mark),
        *(Choice(f"{GROUP}{name}", name, _same(values), own.get(name, "")) for name, values in groups.items()),
        Choice("order", say("view_order"), {name: say(f"view_order_{name}") for name in ORDERS}, chosen.order),
    ]
    return [each for each in found if len(each.options) > (each.name != "mark")]


def _same(values: Iterable[str]) -> dict[str, str]:
    return {value: value for value in values}


def columns_of(verdicts: Verdicts) -> list[str]:
    """Return the kept columns that the table shows."""
    return list(verdicts.groups)[:MOST_COLUMNS]


def _levels(verdicts: Verdicts, say: Language) -> dict[str, str]:
    """Return the values of each score in words, with the score's title where there are several."""
    every = [(rubric, *item) for rubric in verdicts.rubrics.values() for item in rubric.format.scores.items()]
    return {
        _pair(name, float(value)): (f"{score_title(rubric.name, name)}: " if len(every) > 1 else "")
        + say.levels(f"{value} {declared.levels.get(value, '')}".strip())
        for rubric, name, declared in every
        for value in declared.values
    }


def _pair(*parts: str | float) -> str:
    """Return a score's name and value as a form sends them; empty for none."""
    return json.dumps(parts) if parts else ""


def _parts(text: str) -> tuple[str, str | float] | None:
    """Return the parts of a choice that a form sent; None for none."""
    try:
        return convert(json.loads(text or "null"), tuple[str, str | float] | None)
    except (ValueError, RecursionError, ValidationError):
        return None
