"""The order of several chatbots by a rater's scores: each one's mean, and the places that it can have."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pathway_local.note import Note
from pathway_local.results.comparison import Comparison, ComparisonPlan, CorrectedComparison, Side
from pathway_local.results.table import Cell, Column, Table
from pathway_local.statistics.figure import Estimate, Undefined

Places = Mapping[str, tuple[int, int]]
"""The best and the worst place that each chatbot can have, by its name."""


@dataclass(frozen=True, slots=True)
class Order:
    """One rater's chatbots, those with better places first, with their places by its scores.

    `corrected` has the places by people's labels, if they correct every difference. The chatbots in `few` are left out:
    they have too few scores.
    """

    rubric: str
    score: str
    rater: str
    sides: Sequence[Side]
    places: Places
    corrected: Places | None
    few: Sequence[str] = ()


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
    found = []
    for first, second, difference in differences:
        side = shown_by(difference)
        found += [(first, second)] if side == "first" else [(second, first)] if side == "second" else []
    return found


def shown_by(difference: Estimate, margin: float = 0.0) -> str | None:
    """The key of the words for the interval of first minus second; None without an interval."""
    interval = difference.interval
    if isinstance(interval, Undefined):
        return None
    near = -margin < interval.low and interval.high < margin
    if interval.low > 0 or interval.high < 0:
        return f"{'first' if interval.low > 0 else 'second'}{' within the margin' if near else ''}"
    if near:
        return "alike"
    if margin and (interval.low > -margin or interval.high < margin):
        return f"{'first' if interval.low > -margin else 'second'} not lower"
    return "not shown"


def orders(found: Sequence[Comparison], plan: ComparisonPlan) -> Iterator[Order]:
    """Yield the order of each rater on each score that has a difference, without chatbots of too few scores."""
    for (rubric, score, rater), together in groupby(found, lambda each: (each.rubric, each.score, each.rater)):
        pairs = list(together)
        given = [(*each.names, each.found.difference) for each in pairs if not isinstance(each.found, Undefined)]
        if not given:
            continue
        sides = {side.name: side for each in pairs for side in (each.first, each.second)}
        few = [name for name, side in sides.items() if side.scored < plan.smallest]
        sides = {name: side for name, side in sides.items() if name not in few}
        own = places([*sides], above(given))
        corrected = [(each, each.corrected) for each in pairs]
        labelled = [(*one.names, by.difference) for one, by in corrected if isinstance(by, CorrectedComparison)]
        by_people = places([*sides], above(labelled)) if len(labelled) == len(pairs) else None
        ranked = sorted(sides.values(), key=lambda side: (*own[side.name], -_mean(side)))
        yield Order(rubric, score, rater, ranked, own, by_people, few)


def _mean(side: Side) -> float:
    return side.mean.value if isinstance(side.mean.value, float) else float("-inf")


def order_table(found: Sequence[Order], about: Mapping[str, object]) -> Table:
    """A row for each chatbot of each rater."""
    columns = [
        Column("chatbot"), Column("rubric"), Column("score", usual="score", below=True), Column("rater", "rater"),
        Column("cases", "count", detail=True), Column("scored", "count"), Column("mean", "estimate"),
        *(Column(name, "count") for name in ("best", "worst", "corrected_best", "corrected_worst")),
    ]  # fmt: skip
    rows: list[dict[str, Cell]] = []
    for each in found:
        for side in each.sides:
            row: dict[str, Cell] = {"chatbot": side.name, "rubric": each.rubric, "score": each.score}
            row |= {"rater": each.rater, "cases": side.cases, "scored": side.scored, "mean": side.mean}
            row |= dict(zip(("best", "worst"), each.places[side.name], strict=True))
            if each.corrected:
                row |= dict(zip(("corrected_best", "corrected_worst"), each.corrected[side.name], strict=True))
            rows.append(row)
    return Table("order", about, columns, rows, [Note("how_places"), Note("means_alone")], section="comparison")


def sentences(each: Order, plan: ComparisonPlan) -> Iterator[Note]:
    """Say which chatbot comes first by the rater's scores, and by people's labels; which are left out; the margin."""
    keys = (("order_first", "order_first_open"), ("order_people", "order_people_open"))
    for found, (settled, still_open) in zip((each.places, each.corrected), keys, strict=True):
        leading = [name for name, (best, _) in found.items() if best == 1] if found else []
        if leading:
            told: dict[str, object] = {"rater": each.rater, "first": leading[0], "names": leading}
            said = Note(settled if len(leading) == 1 else still_open, told, "answer")
            if each.few:
                said = Note("order_without", {"said": said, "smallest": plan.smallest, "few": each.few}, "answer")
            yield Note("order_margin", {"said": said, "margin": plan.margin}, "answer") if plan.margin else said
