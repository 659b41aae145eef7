"""The order of chatbots that their differences show, by a rater's scores or its choices between two of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pathway_local.note import Note
from pathway_local.results.comparison import Comparison, ComparisonPlan, Difference, Side
from pathway_local.results.table import Cell, Column, Table
from pathway_local.statistics.figure import Estimate, Undefined

Places = Mapping[str, tuple[int, int]]
"""The best and the worst place that each chatbot can have, by its name."""


@dataclass(frozen=True, slots=True)
class Order:
    """One rater's chatbots, those with better places first, with their places by its scores.

    `corrected` has the places by people's labels, if they correct every difference. The chatbots in `few` are left out:
    they have too few scores. Without any difference there are no places, and `missing` says why.
    """

    rubric: str
    score: str
    rater: str
    sides: Sequence[Side]
    places: Places
    corrected: Places | None
    few: Sequence[str] = ()
    missing: Undefined | None = None


def places(names: Sequence[str], above: Collection[tuple[str, str]]) -> Places:
    """Return the places that each name can have if the first of each pair is `above` the second.

    If the pairs come from intervals that hold for all differences at once, all places hold at once, too.
    """
    codes, size = {name: code for code, name in enumerate(names)}, len(names)
    known = np.zeros((size, size), dtype=np.float32)
    for one, other in above:
        known[codes[one], codes[other]] = 1
    for _ in range(size.bit_length()):  # what is above something is above what lies below that
        known = np.minimum(known + known @ known, 1)
    known -= known * known.T  # a circle orders nothing
    higher, lower = (known.sum(axis=axis).astype(int).tolist() for axis in (0, 1))
    return {name: (1 + above, size - below) for name, above, below in zip(names, higher, lower, strict=True)}


def above(differences: Iterable[tuple[str, str, Estimate]]) -> list[tuple[str, str]]:
    """The pairs of names whose difference, of the first less the second, leaves zero out: the higher one first."""
    shown = [(difference.shown, first, second) for first, second, difference in differences]
    return [
        (one, other) if side == "first" else (other, one) for side, one, other in shown if side in ("first", "second")
    ]


def leading(found: Places) -> list[str]:
    """The chatbots that may come first."""
    return [name for name, (best, _) in found.items() if best == 1]


def orders(found: Iterable[Comparison], plan: ComparisonPlan) -> Iterator[Order]:
    """Yield the order of each rater on each score, without chatbots of too few scores."""
    for names, together in groupby(found, lambda each: (each.rubric, each.score, each.rater)):
        pairs = list(together)
        given = [(*each.names, each.found.estimate) for each in pairs if isinstance(each.found, Difference)]
        every = {side.name: side for each in pairs for side in (each.first, each.second)}
        enough = (
            side
            for side in every.values()
            if side.scored >= plan.smallest and not isinstance(side.mean.value, Undefined)
        )
        sides = {side.name: side for side in enough}
        own, missing = (
            places([*sides], above(given)),
            [each.found for each in pairs if isinstance(each.found, Undefined)],
        )
        labelled = [(*each.names, each.corrected.estimate) for each in pairs if isinstance(each.corrected, Difference)]
        by_people = places([*sides], above(labelled)) if len(labelled) == len(pairs) else None
        ranked = sorted(sides.values(), key=lambda side: (*own[side.name], -float(str(side.mean.value))))
        few = [name for name in every if name not in sides]
        yield Order(*names, ranked, own if given else {}, by_people, few, None if given else missing[0])


def order_table(found: Sequence[Order], about: Mapping[str, object], named: Sequence[Column], mean: str) -> Table:
    """A row for each chatbot of each rater, with its mean score or, of choices, its win rate: the `mean`."""
    columns = [
        Column("chatbot"), *named, Column("rater", "rater"),
        Column("cases", "count", detail=True), Column("scored", "count"), Column(mean, "estimate"),
        *(Column(name, "count") for name in ("best", "worst", "corrected_best", "corrected_worst")),
    ]  # fmt: skip
    rows: list[dict[str, Cell]] = [
        {
            "chatbot": side.name, "rubric": each.rubric, "score": each.score, "rater": each.rater,
            "cases": side.cases, "scored": side.scored, mean: side.mean, **_ends(each.places, side.name),
            **_ends(each.corrected or {}, side.name, "corrected_"),
        }
        for each in found
        for side in each.sides
    ]  # fmt: skip
    return Table("order", about, columns, rows, [Note("how_places"), Note("means_alone")], section="comparison")


def _ends(found: Places, name: str, prefix: str = "") -> dict[str, Cell]:
    return dict(zip((f"{prefix}best", f"{prefix}worst"), found.get(name, ()), strict=False))


def sentences(each: Order, plan: ComparisonPlan) -> Iterator[Note]:
    """Say which chatbot comes first by the rater's scores, and by people's labels; and which are left out."""
    if each.missing:
        yield Note("no_order", {"rater": each.rater, "reason": each.missing}, "answer")
    for found, key in ((each.places, "order_first"), (each.corrected, "order_people")):
        if first := leading(found or {}):
            told: dict[str, object] = {"rater": each.rater, "first": first[0], "names": first}
            said = Note(key if len(first) == 1 else f"{key}_open", told, "answer")
            if each.few:
                said = Note("order_without", {"said": said, "smallest": plan.smallest, "few": each.few}, "answer")
            yield said
