"""What a person can choose in the table of cases."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from pathway_local.results.table import score_title
from pathway_local.viewer.verdicts import FAILURES, GROUP, KIND, ORDERS, VERDICTS, Selection, Verdicts
from pathway_local.words.language import Language


@dataclass(frozen=True, slots=True)
class Choice:
    """A list to choose from: the name of its field, its label, and the words of each value that the form may send."""

    name: str
    label: str
    options: Mapping[str, str]
    chosen: str


def choices(verdicts: Verdicts, chosen: Selection, say: Language) -> list[Choice]:
    """Return each list to choose from that would leave out something, and what the table is sorted by."""
    outcomes = {VERDICTS: say("view_scored"), FAILURES: say("view_failed")}
    outcomes |= {f"{KIND}{kind}": say.word(kind) for kind in verdicts.failures}
    own = defaultdict(str, chosen)
    found = [
        Choice("rubric", say.text("columns", "rubric", {}), _same(verdicts.rubrics), own["rubric"]),
        Choice("rater", say("view_rater"), _same(rater.name for rater in verdicts.raters), own["rater"]),
        Choice("level", say("view_score"), _levels(verdicts, say), own["level"]),
        Choice("outcome", say("view_outcome"), outcomes if verdicts.failures else {}, own["outcome"]),
        Choice("mark", say("mark"), {mark: say.word(mark) for mark in verdicts.marks}, own["mark"]),
        *(
            Choice(f"{GROUP}{name}", name, _same(values), own[f"{GROUP}{name}"])
            for name, values in verdicts.groups.items()
        ),
        Choice("order", say("view_order"), {name: say(f"view_order_{name}") for name in ORDERS}, own["order"]),
    ]
    return [each for each in found if len(each.options) > (each.name != "mark")]


def _same(values: Iterable[str]) -> dict[str, str]:
    return {value: value for value in values}


def _levels(verdicts: Verdicts, say: Language) -> dict[str, str]:
    """Return the values of each score in words, with the score's title where there are several."""
    every = [(rubric, *item) for rubric in verdicts.rubrics.values() for item in rubric.format.scores.items()]
    return {
        f"{name}={value:.15g}": (f"{score_title(rubric.name, name)}: " if len(every) > 1 else "")
        + say.levels(f"{value} {declared.levels.get(value, '')}".strip())
        for rubric, name, declared in every
        for value in declared.values
    }
