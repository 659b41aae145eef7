"""Any number of chatbots ranked by a rater's choices between two of them."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from pathway_local.errors import UsageError
from pathway_local.note import Note
from pathway_local.rater import raters_named
from pathway_local.ratings.known_cases import hash_by_case
from pathway_local.results.ranking import Places, above, places
from pathway_local.results.ratings import Ratings
from pathway_local.results.table import Cell, Column, Table
from pathway_local.results.tally import win_of
from pathway_local.rubrics.pair import Pair
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.bradley_terry import Strengths, bradley_terry
from pathway_local.statistics.families import family_levels
from pathway_local.statistics.figure import Estimate, Interval, Reason, Undefined, undefined_estimate
from pathway_local.statistics.intervals import Effect
from pathway_local.verdict import Verdict


@dataclass(frozen=True, slots=True)
class RankingPlan:
    """The columns `first` and `second` name the chatbots that gave A and B.

    `raters` are named (none: all); cases with the same value of `cluster` depend on each other. Rankings from fewer
    cases than `smallest` are not shown.
    """

    first: str
    second: str
    raters: Sequence[str] = ()
    cluster: str = ""
    smallest: int = 10


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


def ranking_tables(data: Ratings, rubrics: Sequence[Rubric], plan: RankingPlan) -> Iterator[Table]:
    """A table for each rater, and a sentence about the first two chatbots. Raises UsageError without choices."""
    found = [each for rubric in rubrics if rubric.pair for each in rank(data.run, rubric, rubric.pair, plan)]
    if not found:
        raise UsageError(
            "the run has no verdicts that compare two responses", "Such as those of the rubric pair-answer."
        )
    for each in found:
        about: dict[str, object] = {"first": plan.first, "second": plan.second}
        about |= {"cases": each.cases, "unnamed": each.unnamed}
        about |= {"cluster": plan.cluster} if plan.cluster else {}
        columns = [Column("chatbot"), Column("rubric"), Column("rater", "rater")]
        columns += [Column(name, "count") for name in ("wins", "ties", "losses")]
        columns += [Column("win_chance", "estimate"), Column("strength", "number", detail=True)]
        columns += [Column(name, "count") for name in ("best", "worst")]
        open_places = each.places()
        rows: list[dict[str, Cell]] = [
            {"chatbot": bot, "rubric": each.rubric, "rater": each.rater,
             "wins": wins, "ties": ties, "losses": losses, "win_chance": each.chance(place),
             "strength": float(each.strengths.values[place]) if isinstance(each.strengths, Strengths) else None,
             **dict(zip(("best", "worst"), open_places.get(bot, ()), strict=False))}
            for place, (bot, (wins, ties, losses)) in enumerate(zip(each.bots, each.counts, strict=True))
        ]  # fmt: skip
        notes = [_first_two(each), Note("together", {"column": plan.cluster}) if plan.cluster else Note("cases_alone")]
        notes += [Note("how_places")] if open_places else []
        notes.append(Note("ties_count_half", kind="note"))
        if each.unnamed:
            told = {"count": each.unnamed, "first": plan.first, "second": plan.second}
            notes.append(Note("unnamed", told, "note"))
        yield Table("ranking", about, columns, rows, notes, section="comparison", chart="interval", scale=(0.0, 1.0))


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


def rank(run: RunFile, rubric: Rubric, pair: Pair, plan: RankingPlan) -> list[Ranking]:
    """Return the ranking of each rater who chose between two responses under this rubric."""
    current = hash_by_case(run, rubric.name)
    known = [rater.name for _, rater in run.raters()]
    wanted = {rater for name in plan.raters for rater in raters_named(name, known)}
    by_rater: dict[str, _Choices] = {}
    for record in run.records(rubric=rubric.name):
        stale = record.case_hash != current.get(record.case_id)
        if (plan.raters and record.rater not in wanted) or not isinstance(record.outcome, Verdict) or stale:
            continue
        win = win_of(record.outcome, pair)
        if win is None:
            continue
        choices = by_rater.setdefault(record.rater, _Choices())
        bots = record.metadata.get(plan.first, ""), record.metadata.get(plan.second, "")
        if not all(bots) or bots[0] == bots[1]:
            choices.unnamed += 1
            continue
        choices.bots.append(bots)
        choices.wins.append(win)
        # A case without a value is alone in its cluster.
        choices.clusters.append(record.metadata.get(plan.cluster, "") or f"\n{record.case_id}")
    return [_ranking(rubric.name, rater, plan, choices) for rater, choices in by_rater.items()]


def _ranking(rubric: str, rater: str, plan: RankingPlan, choices: _Choices) -> Ranking:
    names = sorted({name for bots in choices.bots for name in bots})
    codes = {name: code for code, name in enumerate(names)}
    first, second = (np.array([codes[bots[at]] for bots in choices.bots], dtype=np.int64) for at in (0, 1))
    clusters = np.unique(choices.clusters, return_inverse=True)[1].astype(np.int64) if plan.cluster else None
    found: Strengths | Undefined = Undefined(Reason("under {smallest} cases have a choice", smallest=plan.smallest))
    if len(choices.wins) >= plan.smallest:
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
