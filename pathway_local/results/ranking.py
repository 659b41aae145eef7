"""The order of chatbots: by the means of a rater's scores, or by a rater's choices between two of them."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, groupby

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import raters_named
from pathway_local.ratings.known_cases import hash_by_case
from pathway_local.results.comparison import CompareOptions, Comparison, ComparisonPlan, CorrectedComparison, Side
from pathway_local.results.table import Cell, Column, Table
from pathway_local.results.tally import win_of
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.statistics.bradley_terry import Strengths, bradley_terry
from pathway_local.statistics.families import family_levels
from pathway_local.statistics.figure import Estimate, Interval, Reason, Undefined, undefined_estimate
from pathway_local.statistics.intervals import Effect
from pathway_local.verdict import Verdict

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


@dataclass(slots=True)
class _Choices:
    """One rater's choices: the chatbots of each case, whether the first won, and the case's cluster."""

    bots: list[tuple[str, str]] = field(default_factory=list)
    wins: list[float] = field(default_factory=list)
    clusters: list[str] = field(default_factory=list)
    unnamed: int = 0


@dataclass(frozen=True, slots=True)
class Ranking:
    """One rater's ranking: `bots` with their wins, ties and losses in `counts`, and their strengths in that order.

    `unnamed` cases lack a chatbot's name, or compare a chatbot with itself.
    """

    rubric: str
    rater: str
    bots: tuple[str, ...]
    counts: tuple[tuple[int, int, int], ...]
    cases: int
    unnamed: int
    strengths: Strengths | Undefined

    def chance(self, place: int) -> Estimate:
        """The chance of the chatbot in this place to win against an average one."""
        if isinstance(self.strengths, Strengths):
            return self.strengths.chance(place)
        return undefined_estimate(self.strengths.reason)

    def differences(self, strengths: Strengths) -> Iterator[tuple[tuple[int, int], Effect, float]]:
        """Each two places with their difference in strength, and Holm's level."""
        pairs = list(combinations(range(len(self.bots)), 2))
        effects = [strengths.above(*pair) for pair in pairs]
        return zip(pairs, effects, family_levels(effects), strict=True)

    def lead(self, strengths: Strengths) -> Estimate:
        """The chance of the first to win against the second, with an interval that agrees with the places."""
        _, _, level = next(self.differences(strengths))
        return strengths.chance(0, 1, level)

    def places(self) -> Places:
        """The places that the differences in strength leave open, all at once; empty without strengths."""
        if not isinstance(self.strengths, Strengths):
            return {}
        found = self.differences(self.strengths)
        named = ((self.bots[one], self.bots[other], effect.estimate(level)) for (one, other), effect, level in found)
        return places(self.bots, above(named))


def ranking_tables(
    data: Scores, rubrics: Sequence[Rubric], columns: tuple[str, str], options: CompareOptions
) -> Iterator[Table]:
    """A table for each rater, and a sentence about the first two chatbots, which the `columns` name for A and B.

    Raises UsageError without choices.
    """
    pairs = [(rubric, rubric.pair) for rubric in rubrics if rubric.pair]
    found = [each for rubric, pair in pairs for each in rank(data.run, rubric, pair, columns, options)]
    if not found:
        raise UsageError(
            "the run has no verdicts that compare two responses", "Such as those of the rubric pair-answer."
        )
    for each in found:
        about: dict[str, object] = dict(zip(("first", "second"), columns, strict=True))
        about |= {"cases": each.cases, "unnamed": each.unnamed}
        about |= {"cluster": options.cluster} if options.cluster else {}
        heads = [Column("chatbot"), Column("rubric"), Column("rater", "rater")]
        heads += [Column(name, "count") for name in ("wins", "ties", "losses")]
        heads += [Column("win_chance", "estimate"), Column("strength", "number", detail=True)]
        heads += [Column(name, "count") for name in ("best", "worst")]
        open_places = each.places()
        rows: list[dict[str, Cell]] = [
            {"chatbot": bot, "rubric": each.rubric, "rater": each.rater,
             "wins": wins, "ties": ties, "losses": losses, "win_chance": each.chance(place),
             "strength": float(each.strengths.values[place]) if isinstance(each.strengths, Strengths) else None,
             **dict(zip(("best", "worst"), open_places.get(bot, ()), strict=False))}
            for place, (bot, (wins, ties, losses)) in enumerate(zip(each.bots, each.counts, strict=True))
        ]  # fmt: skip
        notes = [
            _first_two(each),
            Note("together", {"column": options.cluster}) if options.cluster else Note("cases_alone"),
        ]
        notes += [Note("how_places")] if open_places else []
        notes.append(Note("ties_count_half", kind="note"))
        if each.unnamed:
            told = {"count": each.unnamed, "first": columns[0], "second": columns[1]}
            notes.append(Note("unnamed", told, "note"))
        yield Table("ranking", about, heads, rows, notes, section="comparison", chart="interval", scale=(0.0, 1.0))


def _first_two(found: Ranking) -> Note:
    told: dict[str, object] = {"rater": found.rater}
    if not isinstance(found.strengths, Strengths):
        return Note("no_ranking", told | {"reason": found.strengths}, "answer")
    ahead = found.lead(found.strengths)
    if not isinstance(ahead.value, float) or not isinstance(ahead.interval, Interval):
        return Note("no_lead", told | {"reason": ahead.interval}, "answer")
    told |= {"first": found.bots[0], "second": found.bots[1], "share": ahead.value, "level": ahead.interval}
    told |= {"low": ahead.interval.low, "high": ahead.interval.high}
    shown = Note("prefers" if ahead.interval.low > 0.5 else "prefers_unclear", told)
    return Note("comes_first", told | {"shown": shown}, "answer")


def rank(run: RunFile, rubric: Rubric, pair: Pair, columns: tuple[str, str], options: CompareOptions) -> list[Ranking]:
    """Return the ranking of each rater who chose between two responses under this rubric."""
    current = hash_by_case(run, rubric.name)
    known = [rater.name for _, rater in run.raters()]
    wanted = {rater for name in options.rater for rater in raters_named(name, known)}
    by_rater: dict[str, _Choices] = {}
    for record in run.records(rubric=rubric.name):
        stale = record.case_hash != current.get(record.case_id)
        if (options.rater and record.rater not in wanted) or not isinstance(record.outcome, Verdict) or stale:
            continue
        win = win_of(record.outcome, pair)
        if win is None:
            continue
        choices = by_rater.setdefault(record.rater, _Choices())
        bots = record.metadata.get(columns[0], ""), record.metadata.get(columns[1], "")
        if not all(bots) or bots[0] == bots[1]:
            choices.unnamed += 1
            continue
        choices.bots.append(bots)
        choices.wins.append(win)
        # A case without a value is alone in its cluster.
        choices.clusters.append(record.metadata.get(options.cluster, "") or f"\n{record.case_id}")
    return [_ranking(rubric.name, rater, options, choices) for rater, choices in by_rater.items()]


def _ranking(rubric: str, rater: str, options: CompareOptions, choices: _Choices) -> Ranking:
    names = sorted({name for bots in choices.bots for name in bots})
    codes = {name: code for code, name in enumerate(names)}
    first, second = (np.array([codes[bots[at]] for bots in choices.bots], dtype=np.int64) for at in (0, 1))
    clusters = np.unique(choices.clusters, return_inverse=True)[1].astype(np.int64) if options.cluster else None
    found: Strengths | Undefined = Undefined(Reason("under {smallest} cases have a choice", smallest=options.min_group))
    if len(choices.wins) >= options.min_group:
        found = bradley_terry(first, second, np.array(choices.wins, dtype=np.float64), names, clusters)
    order = names
    if isinstance(found, Strengths):
        places = np.argsort(-found.values, kind="stable")
        found = Strengths(found.values[places], found.covariance[np.ix_(places, places)], found.clusters)
        order = [names[place] for place in places]
    results: Counter[tuple[str, float]] = Counter()
    for (one, other), win in zip(choices.bots, choices.wins, strict=True):
        results[one, win] += 1
        results[other, 1 - win] += 1
    counts = tuple((results[name, 1.0], results[name, 0.5], results[name, 0.0]) for name in order)
    return Ranking(rubric, rater, tuple(order), counts, len(choices.wins), choices.unnamed, found)
