"""Choices between two responses: how often A and B were preferred, and how often the order changed the choice."""

from dataclasses import dataclass, field

from pathway_local.rubrics.pair import A_BETTER, CHOICE, FLIPPED, Pair
from pathway_local.statistics.figure import Estimate, undefined_estimate
from pathway_local.statistics.intervals import wilson
from pathway_local.verdict import Verdict


@dataclass(slots=True)
class Preferences:
    """One rater's choices: cases in which A won, tied and lost.

    `both` cases were judged in both orders; in `flips` of them the orders disagreed, and these count as ties. `first`
    counts flips that favour the response that was read first each time.
    """

    pair: Pair
    wins: int = 0
    ties: int = 0
    losses: int = 0
    both: int = 0
    flips: int = 0
    first: int = 0
    likely: list[float] = field(default_factory=list)

    @property
    def n(self) -> int:
        """Cases with a choice; special values choose nothing."""
        return self.wins + self.ties + self.losses

    @property
    def win_rate(self) -> Estimate:
        """The share of cases that A won, a tie as half of one.

        Wilson's interval: with halves a share varies less than one of ones and zeros, so it is rather too wide.
        """
        return _share(self.wins + self.ties / 2, self.n, "no case has a choice")

    @property
    def flip_rate(self) -> Estimate:
        """The share of cases judged in both orders in which the orders disagree."""
        return _share(self.flips, self.both, "no case was judged in both orders")

    @property
    def a_better(self) -> float | None:
        """The mean probability with which the judge chose A; None without probabilities."""
        return sum(self.likely) / len(self.likely) if self.likely else None

    def count(self, verdict: Verdict) -> None:
        """Add a verdict."""
        win = win_of(verdict, self.pair)
        if win is None:
            return
        self.wins += win == 1
        self.ties += win == 0.5
        self.losses += win == 0
        choices = [verdict.fields.get(f"{CHOICE}{order}") for order in ("ab", "ba")]
        if isinstance(choices[0], int | float) and isinstance(choices[1], int | float):
            self.both += 1
            self.flips += FLIPPED in verdict.marks
            self.first += FLIPPED in verdict.marks and choices[0] > choices[1]
        likely = verdict.fields.get(A_BETTER)
        if isinstance(likely, int | float):
            self.likely.append(float(likely))


def win_of(verdict: Verdict, pair: Pair) -> float | None:
    """Return 1 if A won the case, 0 if B did, 0.5 for a tie or a flip, and None without a choice."""
    score = verdict.scores.get(pair.score)
    win = pair.win(score.value) if score else None
    return 0.5 if win is not None and FLIPPED in verdict.marks else win


def _share(count: float, cases: int, missing: str) -> Estimate:
    return Estimate(count / cases, wilson(count, cases)) if cases else undefined_estimate(missing)
