"""The order of chatbots that their differences show, by a rater's scores or its choices between two of them."""

from collections.abc import Collection, Iterable, Mapping, Sequence

import numpy as np

from pathway_local.note import Note
from pathway_local.results.comparison import Comparison, ComparisonPlan, Difference
from pathway_local.results.table import Cell
from pathway_local.statistics.figure import Estimate

Places = Mapping[str, tuple[int, int]]
"""The best and the worst place that each chatbot can have, by its name."""


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


def ordered(pairs: Sequence[Comparison], plan: ComparisonPlan) -> tuple[list[dict[str, Cell]], list[Note]]:
    """One rater's chatbots as rows, those with better places first, and which of them comes first.

    Chatbots with too few scores are left out. By people's labels there are places if they correct every difference.
    """
    every = {side.name: side for each in pairs for side in (each.first, each.second)}
    enough = (side for side in every.values() if side.scored >= plan.smallest)
    sides = {side.name: (side, side.mean.value) for side in enough if isinstance(side.mean.value, float)}
    few, by, notes = [name for name in every if name not in sides], {"rater": pairs[0].rater}, list[Note]()
    found = [(*each.names, each.found.estimate) for each in pairs if isinstance(each.found, Difference)]
    labelled = [(*each.names, each.corrected.estimate) for each in pairs if isinstance(each.corrected, Difference)]
    own = places([*sides], above(found)) if found else {}
    by_people = places([*sides], above(labelled)) if len(labelled) == len(pairs) else {}
    if not found:
        notes.append(Note("no_order", {**by, "reason": pairs[0].found}, "answer"))
    for told, key in ((own, "order_first"), (by_people, "order_people")):
        if first := [name for name, (best, _) in told.items() if best == 1]:
            shown = {**by, "first": first[0], "names": first}
            said = Note(key if len(first) == 1 else f"{key}_open", shown, "answer")
            without = {"said": said, "smallest": plan.smallest, "few": few}
            notes.append(Note("order_without", without, "answer") if few else said)
    rows = [
        {
            "chatbot": side.name, "rubric": pairs[0].rubric, "score": pairs[0].score, "rater": pairs[0].rater,
            "cases": side.cases, "scored": side.scored, "mean": side.mean, "win_rate": side.mean,
            **_ends(own, side.name), **_ends(by_people, side.name, "corrected_"),
        }
        for side, _ in sorted(sides.values(), key=lambda each: (own.get(each[0].name, (0, 0)), -each[1]))
    ]  # fmt: skip
    return rows, notes


def _ends(found: Places, name: str, prefix: str = "") -> dict[str, Cell]:
    return dict(zip((f"{prefix}best", f"{prefix}worst"), found.get(name, ()), strict=False))
