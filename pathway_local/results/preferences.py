"""Choices between two responses: how often A and B were preferred, and how often the order changed the choice."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from pathway_local.rubrics.pair import A_BETTER, CHOICE, FLIPPED, Pair
from pathway_local.statistics.figure import Estimate, undefined_estimate
from pathway_local.statistics.intervals import scale_mean, wilson
from pathway_local.verdict import Verdict


@dataclass(slots=True)
class Preferences:
    """One rater's choices: `choices` has 1 for each case that A won, 0.5 for a tie and 0 for one that B won.

    `flips` has for each case that was judged in both orders 1 if the orders disagreed, which counts as a tie, else 0;
    `first` counts those that favour the response that was read first each time. Both name the case's cluster of cases
    that depend on each other, if there are any. `likely` are the probabilities with which the judge chose A.
    """

    pair: Pair
    choices: list[tuple[str, float]] = field(default_factory=list)
    flips: list[tuple[str, float]] = field(default_factory=list)
    first: int = 0
    likely: list[float] = field(default_factory=list)

    def times(self, choice: float) -> int:
        """In how many cases it chose so; special values choose nothing."""
        return sum(own == choice for _, own in self.choices)

    @property
    def flipped(self) -> int:
        """In how many cases the orders disagreed."""
        return sum(flip == 1 for _, flip in self.flips)

    @property
    def win_rate(self) -> Estimate:
        """The share of cases that A won, a tie as half of one.

        Wilson's interval: with halves a share varies less than one of ones and zeros, so it is rather too wide.
        With clusters, that of `scale_mean`.
        """
        return _share(self.choices, "no case has a choice")

    @property
    def flip_rate(self) -> Estimate:
        """The share of cases judged in both orders in which the orders disagree."""
        return _share(self.flips, "no case was judged in both orders")

    @property
    def a_better(self) -> float | None:
        """The mean probability with which the judge chose A; None without probabilities."""
        return sum(self.likely) / len(self.likely) if self.likely else None

    def count(self, verdict: Verdict, cluster: str = "") -> None:
        """Add a verdict on a case of that cluster, if cases have clusters."""
        win = win_of(verdict, self.pair)
        if win is None:
            return
        self.choices.append((cluster, win))
        in_orders = [verdict.fields.get(f"{CHOICE}{order}") for order in ("ab", "ba")]
        if isinstance(in_orders[0], int | float) and isinstance(in_orders[1], int | float):
            flipped = FLIPPED in verdict.marks
            self.flips.append((cluster, float(flipped)))
            self.first += flipped and in_orders[0] > in_orders[1]
        likely = verdict.fields.get(A_BETTER)
        if isinstance(likely, int | float):
            self.likely.append(float(likely))


def win_of(verdict: Verdict, pair: Pair) -> float | None:
    """Return 1 if A won the case, 0 if B did, 0.5 for a tie or a flip, and None without a choice."""
    score = verdict.scores.get(pair.score)
    win = pair.win(score.value) if score else None
    return 0.5 if win is not None and FLIPPED in verdict.marks else win


def _share(counted: Sequence[tuple[str, float]], missing: str) -> Estimate:
    if counted and counted[0][0]:
        return clustered_mean(Counter(counted), (0.0, 1.0))
    total = sum(each for _, each in counted)
    return Estimate(total / len(counted), wilson(total, len(counted))) if counted else undefined_estimate(missing)


def clustered_mean(counts: Mapping[tuple[str, float], int], scale: tuple[float, float]) -> Estimate:
    """The mean of scores on a scale, given as how often each cluster of cases has each score."""
    names = {name: code for code, name in enumerate(dict.fromkeys(name for name, _ in counts))}
    times = list(counts.values())
    codes = np.repeat(np.array([names[name] for name, _ in counts], np.int64), times)
    return scale_mean(np.repeat(np.array([score for _, score in counts], float), times), scale, codes)
