"""Rubrics that compare two responses: which inputs change places, and what a verdict says after they did."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from pathway_local.verdict import Number, Score

Order = Literal["ab", "ba"]
"""Which response a judge reads first. In "ba", the case's response B stands in A's place of the prompt."""

BOTH: tuple[Order, ...] = ("ab", "ba")

Orders = Literal["both", "one", "random"]
"""The orders in which a case is judged: both, "ab" alone, or one that is drawn for each case."""

CHOICE, CONSISTENT, A_BETTER = "choice_", "consistent", "a_better"
"""Fields of a verdict: the choice in an order (`choice_ab`), whether both orders agree, and how likely A was."""

SWAPPED = "swapped."
"""Begins the names of texts from the order "ba", in which A means the case's response B."""

FLIPPED = "flipped"
"""The mark of a verdict with two orders that disagree."""

FIELDS = (f"{CHOICE}ab", f"{CHOICE}ba", CONSISTENT, A_BETTER)


@dataclass(frozen=True, slots=True)
class Pair:
    """A comparison of two responses.

    `swap` maps each input of response A to the same input of response B. The score called `score` says which is better:
    its values above 0 prefer A, those below 0 prefer B, and 0 is a tie. `special` values prefer neither.
    """

    swap: Mapping[str, str]
    score: str
    special: tuple[Number, ...] = ()

    def ordered(self, texts: Mapping[str, str], order: Order) -> dict[str, str]:
        """Return the texts of a case as a judge reads them in this order."""
        return {self.placed(name, order): text for name, text in texts.items()}

    def placed(self, name: str, order: Order) -> str:
        """Return the place of a case's input in the prompt of this order; for a place, the input that stands there."""
        if order == "ab":
            return name
        whole, dot, part = name.partition(".")  # the parts of a conversation change places with it
        places = {**self.swap, **{second: first for first, second in self.swap.items()}}
        return f"{places.get(whole, whole)}{dot}{part}"

    def in_case(self, score: Score, order: Order) -> Score:
        """Return the score about the case's own A and B that a judge gave in this order."""
        if order == "ab":
            return score
        shares = {self._swapped(value): share for value, share in score.probabilities.items()}
        return Score(self._swapped(score.value), dict(sorted(shares.items())), score.mass)

    def _swapped(self, value: Number) -> Number:
        return value if value in self.special else -value

    def prefers_a(self, score: Score) -> float | None:
        """Return the probability with which a judge chose A; None without probabilities."""
        if not score.probabilities:
            return None
        return sum(share for value, share in score.probabilities.items() if value > 0 and value not in self.special)

    def win(self, value: Number) -> float | None:
        """Return 1 if this value prefers A, 0 if it prefers B, 0.5 for a tie, and None for a special value."""
        return None if value in self.special else 0.5 + 0.5 * ((value > 0) - (value < 0))
