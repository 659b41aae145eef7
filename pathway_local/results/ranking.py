"""The order of chatbots: by the means of a rater's scores, or by a rater's choices between two of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.results.comparison import CompareOptions, Comparison, ComparisonPlan, Difference, Side
from pathway_local.results.table import Cell, Column, Table
from pathway_local.results.tally import choices_of
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.bradley_terry import strength_differences
from pathway_local.statistics.families import at_holm_levels
from pathway_local.statistics.figure import BoolArray, Estimate, FloatArray, IntArray, Reason, Undefined
from pathway_local.statistics.share import share

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
    shown = [(difference.shown, first, second) for first, second, difference in differences]
    return [
        (one, other) if side == "first" else (other, one) for side, one, other in shown if side in ("first", "second")
    ]


def leading(found: Places) -> list[str]:
    """The chatbots that may come first."""
    return [name for name, (best, _) in found.items() if best == 1]


def orders(found: Iterable[Comparison], plan: ComparisonPlan) -> Iterator[Order]:
    """Yield the order of each rater on each score that has a difference, without chatbots of too few scores."""
    for names, together in groupby(found, lambda each: (each.rubric, each.score, each.rater)):
        pairs = list(together)
        given = [(*each.names, each.found.estimate) for each in pairs if isinstance(each.found, Difference)]
        if not given:
            continue
        every = {side.name: side for each in pairs for side in (each.first, each.second)}
        sides = {name: side for name, side in every.items() if side.scored >= plan.smallest}
        own = places([*sides], above(given))
        labelled = [(*each.names, each.corrected.estimate) for each in pairs if isinstance(each.corrected, Difference)]
        by_people = places([*sides], above(labelled)) if len(labelled) == len(pairs) else None
        ranked = sorted(sides.values(), key=lambda side: (*own[side.name], -_mean(side)))
        yield Order(*names, ranked, own, by_people, [name for name in every if name not in sides])


def _mean(side: Side) -> float:
    return side.mean.value if isinstance(side.mean.value, float) else float("-inf")


def order_table(found: Sequence[Order], about: Mapping[str, object]) -> Table:
    """A row for each chatbot of each rater."""
    columns = [
        Column("chatbot"), Column("rubric"), Column("score", usual="score", below=True), Column("rater", "rater"),
        Column("cases", "count", detail=True), Column("scored", "count"), Column("mean", "estimate"),
        *(Column(name, "count") for name in ("best", "worst", "corrected_best", "corrected_worst")),
    ]  # fmt: skip
    rows: list[dict[str, Cell]] = [
        {
            "chatbot": side.name, "rubric": each.rubric, "score": each.score, "rater": each.rater,
            "cases": side.cases, "scored": side.scored, "mean": side.mean, **_ends(each.places, side.name),
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
    for found, key in ((each.places, "order_first"), (each.corrected, "order_people")):
        if first := leading(found or {}):
            told: dict[str, object] = {"rater": each.rater, "first": first[0], "names": first}
            said = Note(key if len(first) == 1 else f"{key}_open", told, "answer")
            if each.few:
                said = Note("order_without", {"said": said, "smallest": plan.smallest, "few": each.few}, "answer")
            yield said


def ranking_tables(
    data: Scores, rubrics: Sequence[Rubric], columns: tuple[str, str], options: CompareOptions
) -> Iterator[Table]:
    """A table for each rater, and a sentence about the first chatbot, which the `columns` name for A and B.

    Raises UsageError without choices.
    """
    pairs = [(matrix, rubric.pair) for rubric in rubrics if rubric.pair for matrix in data.matrices([rubric])]
    found = [
        table
        for matrix, pair in pairs
        if matrix.score == pair.score
        for table in _rankings(matrix, pair, columns, options)
    ]
    if not found:
        said = "the run has no verdicts that compare two responses"
        raise UsageError(said, "Such as those of the rubric pair-answer.")
    yield from found


def _rankings(matrix: RatingsMatrix, pair: Pair, columns: tuple[str, str], options: CompareOptions) -> Iterator[Table]:
    """Yield the ranking of each rater who chose between two responses; a flip counts as a tie."""
    named = [[kept.get(name, "") for name in columns] for kept in matrix.metadata]
    bots = np.array(named, dtype=object).reshape(-1, 2)
    known = np.all(bots != "", axis=1) & (bots[:, 0] != bots[:, 1])
    clusters, won = matrix.clusters(options.cluster) if options.cluster else None, choices_of(matrix, pair)
    for place in matrix.places(options.rater) or matrix.scoring():
        chose = np.isfinite(won[:, place])
        if not chose.any():
            continue
        kept = chose & known
        about: dict[str, object] = dict(zip(("first", "second"), columns, strict=True))
        about |= {"cases": int(kept.sum()), "unnamed": int(np.sum(chose & ~known))}
        about |= {"cluster": options.cluster} if options.cluster else {}
        names, codes = np.unique(bots[kept].astype(str), return_inverse=True)
        sides, own = codes.reshape(-1, 2).T.astype(np.int64), None if clusters is None else clusters[kept]
        chosen, turned = won[kept, place], matrix.flipped[kept, place]
        shared: dict[str, Cell] = {"rubric": matrix.rubric, "rater": matrix.raters[place].name}
        found = [
            {"chatbot": str(name), **shared, **_won(sides == at, chosen, turned, own)} for at, name in enumerate(names)
        ]
        yield _ranking(found, about, _strengths(sides, chosen, [*map(str, names)], own, options.min_group))


def _won(sides: BoolArray, chosen: FloatArray, turned: BoolArray, clusters: IntArray | None) -> dict[str, Cell]:
    """What a chatbot won of the choices (n,); `sides` (2, n) are those in which it stood."""
    own = sides.any(axis=0)
    won = np.where(sides[0], chosen, 1 - chosen)[own]
    wins, ties, losses = (int(np.sum(won == result)) for result in (1, 0.5, 0))
    rate = share(won, None if clusters is None else clusters[own])
    return {"wins": wins, "ties": ties, "losses": losses, "flips": int(turned[own].sum()), "win_rate": rate}


def _strengths(
    sides: IntArray, chosen: FloatArray, names: Sequence[str], clusters: IntArray | None, smallest: int
) -> tuple[IntArray, Places] | Undefined:
    """The chatbots in order of their strengths, and the places that differences in strength leave open."""
    if len(chosen) < smallest:
        return Undefined(Reason("under {smallest} cases have a choice", smallest=smallest))
    apart = strength_differences(sides[0], sides[1], chosen, names, clusters)
    if isinstance(apart, Undefined):
        return apart
    strengths, differences = apart
    pairs = zip(differences, at_holm_levels([*differences.values()]), strict=True)
    higher = above((names[one], names[other], each) for (one, other), each in pairs)
    order = np.argsort(-strengths, kind="stable")
    return order, places([names[place] for place in order], higher)


def _ranking(
    rows: Sequence[dict[str, Cell]], about: Mapping[str, object], found: tuple[IntArray, Places] | Undefined
) -> Table:
    heads = [Column("chatbot"), Column("rubric"), Column("rater", "rater")]
    heads += [Column(name, "count") for name in ("wins", "ties", "losses", "flips")]
    heads += [Column("win_rate", "estimate"), *(Column(name, "count") for name in ("best", "worst"))]
    told: dict[str, object] = {"rater": rows[0]["rater"]}
    if isinstance(found, Undefined):
        notes = [Note("no_ranking", told | {"reason": found}, "answer")]
    else:
        order, open_places = found
        rows = [rows[place] | _ends(open_places, str(rows[place]["chatbot"])) for place in order]
        notes = [_first(leading(open_places), rows[0], told), Note("how_places")]
    cluster = about.get("cluster")
    notes.append(Note("together", {"column": cluster}) if cluster else Note("cases_alone"))
    notes.append(Note("ties_count_half", kind="note"))
    if about["unnamed"]:
        told = {"count": about["unnamed"], "first": about["first"], "second": about["second"]}
        notes.append(Note("unnamed", told, "note"))
    return Table("ranking", about, heads, rows, notes, section="comparison", chart="interval", scale=(0.0, 1.0))


def _first(names: Sequence[str], best: Mapping[str, Cell], told: Mapping[str, object]) -> Note:
    """Which chatbot comes first, with what it won, tied and lost, or that the data do not show it."""
    if len(names) > 1:
        return Note("order_first_open", {**told, "names": names}, "answer")
    counts = [int(str(best[name])) for name in ("wins", "ties", "losses")]
    shares = dict(zip(("won", "tied", "lost"), (each / sum(counts) for each in counts), strict=True))
    told = {**told, **shares, "first": best["chatbot"], "count": sum(counts), "flips": best["flips"]}
    return Note("comes_first", told, "answer")
