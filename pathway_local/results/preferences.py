"""Choices between two responses: how often A and B were preferred, and how often the order changed the choice."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from pathway_local.rubrics.pair import A_BETTER, CHOICE, FLIPPED, Pair
from pathway_local.statistics.figure import Estimate, undefined_estimate
from pathway_local.statistics.intervals import scale_mean, wilson
from pathway_local.verdict import Verdict


@dataclass(slots=True)
class Preferences:
    """One rater's choices: cases in which A won, tied and lost.

    `both` cases were judged in both orders; in `flips` of them the orders disagreed, and these count as ties. `first`
    counts flips that favour the response that was read first each time. `clusters` and `flip_clusters` count the
    choices and flips (1 or 0) of each cluster of cases that depend on each other, if there are any.
    """

    pair: Pair
    wins: int = 0
    ties: int = 0
    losses: int = 0
    both: int = 0
    flips: int = 0
    first: int = 0
    likely: list[float] = field(default_factory=list)
    clusters: Counter[tuple[str, float]] = field(default_factory=Counter)
    flip_clusters: Counter[tuple[str, float]] = field(default_factory=Counter)

    @property
    def n(self) -> int:
        """Cases with a choice; special values choose nothing."""
        return self.wins + self.ties + self.losses

    @property
    def win_rate(self) -> Estimate:
        """The share of cases that A won, a tie as half of one.

        Wilson's interval: with halves a share varies less than one of ones and zeros, so it is rather too wide.
        With clusters, that of `scale_mean`.
        """
        return _share(self.wins + self.ties / 2, self.n, "no case has a choice", self.clusters)

    @property
    def flip_rate(self) -> Estimate:
        """The share of cases judged in both orders in which the orders disagree."""
        return _share(self.flips, self.both, "no case was judged in both orders", self.flip_clusters)

    @property
    def a_better(self) -> float | None:
        """The mean probability with which the judge chose A; None without probabilities."""
        return sum(self.likely) / len(self.likely) if self.likely else None

    def count(self, verdict: Verdict, cluster: str = "") -> None:
        """Add a verdict on a case of that cluster, if cases have clusters."""
        win = win_of(verdict, self.pair)
        if win is None:
            return
        self.wins += win == 1
        self.ties += win == 0.5
        self.losses += win == 0
        if cluster:
            self.clusters[cluster, win] += 1
        choices = [verdict.fields.get(f"{CHOICE}{order}") for order in ("ab", "ba")]
        if isinstance(choices[0], int | float) and isinstance(choices[1], int | float):
            self.both += 1
            self.flips += FLIPPED in verdict.marks
            if cluster:
                self.flip_clusters[cluster, float(FLIPPED in verdict.marks)] += 1
            self.first += FLIPPED in verdict.marks and choices[0] > choices[1]
        likely = verdict.fields.get(A_BETTER)
        if isinstance(likely, int | float):
            self.likely.append(float(likely))


def win_of(verdict: Verdict, pair: Pair) -> float | None:
    """Return 1 if A won the case, 0 if B did, 0.5 for a tie or a flip, and None without a choice."""
    score = verdict.scores.get(pair.score)
    win = pair.win(score.value) if score else None
    return 0.5 if win is not None and FLIPPED in verdict.marks else win


def _share(count: float, cases: int, missing: str, clusters: Counter[tuple[str, float]]) -> Estimate:
    if clusters:
        return clustered_mean(clusters, (0.0, 1.0))
    return Estimate(count / cases, wilson(count, cases)) if cases else undefined_estimate(missing)


def clustered_mean(counts: Mapping[tuple[str, float], int], scale: tuple[float, float]) -> Estimate:
    """The mean of scores on a scale, given as how often each cluster of cases has each score."""
    names = {name: code for code, name in enumerate(dict.fromkeys(name for name, _ in counts))}
    times = list(counts.values())
    codes = np.repeat(np.array([names[name] for name, _ in counts], np.int64), times)
    return scale_mean(np.repeat(np.array([score for _, score in counts], float), times), scale, codes)
