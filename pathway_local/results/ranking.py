"""The order of chatbots: by the means of a rater's scores, or by a rater's choices between two of them."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np
from numpy.typing import NDArray

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.results.comparison import CompareOptions, Comparison, ComparisonPlan, CorrectedComparison, Side
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
    found = []
    for first, second, difference in differences:
        side = shown_by(difference)
        found += [(first, second)] if side == "first" else [(second, first)] if side == "second" else []
    return found


def shown_by(difference: Estimate) -> str | None:
    """The key of the words for the interval of first minus second; None without an interval."""
    interval = difference.interval
    if isinstance(interval, Undefined):
        return None
    return "first" if interval.low > 0 else "second" if interval.high < 0 else "not shown"


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
    """Say which chatbot comes first by the rater's scores, and by people's labels; and which are left out."""
    keys = (("order_first", "order_first_open"), ("order_people", "order_people_open"))
    for found, (settled, still_open) in zip((each.places, each.corrected), keys, strict=True):
        leading = [name for name, (best, _) in found.items() if best == 1] if found else []
        if leading:
            told: dict[str, object] = {"rater": each.rater, "first": leading[0], "names": leading}
            said = Note(settled if len(leading) == 1 else still_open, told, "answer")
            if each.few:
                said = Note("order_without", {"said": said, "smallest": plan.smallest, "few": each.few}, "answer")
            yield said


@dataclass(frozen=True, slots=True)
class Contestant:
    """A chatbot's comparisons: how many it won, tied and lost, how many ties are flips, and its win rate."""

    name: str
    wins: int
    ties: int
    losses: int
    flips: int
    win_rate: Estimate


@dataclass(frozen=True, slots=True)
class Ranking:
    """One rater's ranking, the strongest first, and the places that differences in strength leave open, all at once.

    `unnamed` cases lack a chatbot's name, or compare a chatbot with itself.
    """

    rubric: str
    rater: str
    bots: tuple[Contestant, ...]
    cases: int
    unnamed: int
    places: Places | Undefined


def ranking_tables(
    data: Scores, rubrics: Sequence[Rubric], columns: tuple[str, str], options: CompareOptions
) -> Iterator[Table]:
    """A table for each rater, and a sentence about the first chatbot, which the `columns` name for A and B.

    Raises UsageError without choices.
    """
    pairs = [(matrix, rubric.pair) for rubric in rubrics if rubric.pair for matrix in data.matrices([rubric])]
    found = [
        each for matrix, pair in pairs if matrix.score == pair.score for each in rank(matrix, pair, columns, options)
    ]
    if not found:
        raise UsageError(
            "the run has no verdicts that compare two responses", "Such as those of the rubric pair-answer."
        )
    for each in found:
        about: dict[str, object] = dict(zip(("first", "second"), columns, strict=True))
        about |= {"cases": each.cases, "unnamed": each.unnamed}
        about |= {"cluster": options.cluster} if options.cluster else {}
        heads = [Column("chatbot"), Column("rubric"), Column("rater", "rater")]
        heads += [Column(name, "count") for name in ("wins", "ties", "losses", "flips")]
        heads += [Column("win_rate", "estimate"), *(Column(name, "count") for name in ("best", "worst"))]
        open_places = {} if isinstance(each.places, Undefined) else each.places
        rows: list[dict[str, Cell]] = [
            {"chatbot": bot.name, "rubric": each.rubric, "rater": each.rater,
             "wins": bot.wins, "ties": bot.ties, "losses": bot.losses, "flips": bot.flips, "win_rate": bot.win_rate,
             **dict(zip(("best", "worst"), open_places.get(bot.name, ()), strict=False))}
            for bot in each.bots
        ]  # fmt: skip
        notes = [
            _first(each),
            Note("together", {"column": options.cluster}) if options.cluster else Note("cases_alone"),
        ]
        notes += [Note("how_places")] if open_places else []
        notes.append(Note("ties_count_half", kind="note"))
        if each.unnamed:
            told = {"count": each.unnamed, "first": columns[0], "second": columns[1]}
            notes.append(Note("unnamed", told, "note"))
        yield Table("ranking", about, heads, rows, notes, section="comparison", chart="interval", scale=(0.0, 1.0))


def _first(found: Ranking) -> Note:
    """Which chatbot comes first, with what it won, tied and lost, or that the data do not show it."""
    told: dict[str, object] = {"rater": found.rater}
    if isinstance(found.places, Undefined):
        return Note("no_ranking", told | {"reason": found.places}, "answer")
    leading, first = [name for name, (best, _) in found.places.items() if best == 1], found.bots[0]
    count = first.wins + first.ties + first.losses
    told |= {"first": first.name, "names": leading, "count": count, "won": first.wins / count}
    told |= {"tied": first.ties / count, "lost": first.losses / count, "flips": first.flips}
    return Note("comes_first" if len(leading) == 1 else "comes_first_unclear", told, "answer")


def rank(matrix: RatingsMatrix, pair: Pair, columns: tuple[str, str], options: CompareOptions) -> Iterator[Ranking]:
    """Yield the ranking of each rater who chose between two responses; a flip counts as a tie."""
    bots = np.array([[kept.get(name, "") for name in columns] for kept in matrix.metadata], dtype=object).reshape(-1, 2)
    named = np.all(bots != "", axis=1) & (bots[:, 0] != bots[:, 1])
    clusters = matrix.clusters(options.cluster) if options.cluster else None
    won = choices_of(matrix, pair)
    for place in matrix.places(options.rater) or matrix.scoring():
        chose = np.isfinite(won[:, place])
        if chose.any():
            kept = chose & named
            about = matrix.rubric, matrix.raters[place].name, int(np.sum(chose & ~named))
            choices = won[kept, place], matrix.flipped[kept, place], None if clusters is None else clusters[kept]
            yield _ranking(about, bots[kept], *choices, options.min_group)


def _ranking(
    about: tuple[str, str, int], bots: NDArray[np.object_], wins: FloatArray, flips: BoolArray,
    clusters: IntArray | None, smallest: int,
) -> Ranking:  # fmt: skip
    """The ranking by choices (n,) between two `bots` (n, 2); `about` has rubric, rater and cases without names."""
    rubric, rater, unnamed = about
    names, codes = np.unique(bots.astype(str), return_inverse=True)
    first, second = codes.reshape(-1, 2).T.astype(np.int64)
    found = [_contestant(str(name), at, first, second, wins, flips, clusters) for at, name in enumerate(names)]
    if len(wins) < smallest:
        few = Undefined(Reason("under {smallest} cases have a choice", smallest=smallest))
        return Ranking(rubric, rater, tuple(found), len(wins), unnamed, few)
    apart = strength_differences(first, second, wins, [*map(str, names)], clusters)
    if isinstance(apart, Undefined):
        return Ranking(rubric, rater, tuple(found), len(wins), unnamed, apart)
    strengths, differences = apart
    pairs = zip(differences, at_holm_levels([*differences.values()]), strict=True)
    higher = above((found[one].name, found[other].name, each) for (one, other), each in pairs)
    ordered = tuple(found[place] for place in np.argsort(-strengths, kind="stable"))
    return Ranking(rubric, rater, ordered, len(wins), unnamed, places([each.name for each in ordered], higher))


def _contestant(
    name: str,
    code: int,
    first: IntArray,
    second: IntArray,
    wins: FloatArray,
    flips: BoolArray,
    clusters: IntArray | None,
) -> Contestant:
    own = (first == code) | (second == code)
    won = np.where(first == code, wins, 1 - wins)[own]
    rate = share(won, None if clusters is None else clusters[own])
    return Contestant(
        name, int(np.sum(won == 1)), int(np.sum(won == 0.5)), int(np.sum(won == 0)), int(flips[own].sum()), rate
    )
