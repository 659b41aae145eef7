"""Rubrics that compare two responses: which inputs change places, in which orders, and what their verdicts say."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import copysign
from typing import Literal

from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import OF_FIELD, Number, Score, Value, Verdict, mean_mass

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
        places = {**self.swap, **{second: first for first, second in self.swap.items()}}
        return places.get(name, name)

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


def orders_of(orders: Orders, seed: int) -> tuple[Order, ...]:
    """Return the orders to judge; `seed` draws one of them at random."""
    if orders == "random":
        return (BOTH[seed % 2],)
    return BOTH if orders == "both" else BOTH[:1]


def verdict_of_orders(found: Mapping[Order, Verdict], pair: Pair, output_format: OutputFormat) -> Verdict:
    """Return one verdict about the case's own A and B from those of one order or both.

    If the orders disagree, the verdict is a tie and gets the mark `flipped`; a rubric without ties takes the likelier
    side. Fields tell the choice in each order, whether they agree, and the probability of choosing A, averaged over
    the orders. Texts of the swapped order, in which A means B, are called `swapped.NAME`.
    """
    scores = {order: pair.in_case(verdict.scores[pair.score], order) for order, verdict in found.items()}
    shares = _averaged(list(scores.values()))
    choices = [score.value for score in scores.values()]
    values = output_format.scores[pair.score].values
    score = Score(_agreed(choices, pair, values, shares), shares, mean_mass(scores.values()))
    fields: dict[str, Value] = {}
    marks: dict[str, None] = {}
    for order, verdict in found.items():
        prefix = SWAPPED if order == "ba" else ""
        fields |= {f"{prefix}{name}": value for name, value in verdict.fields.items()}
        marks |= dict.fromkeys(OF_FIELD.sub(rf"\1{prefix}", mark) for mark in verdict.marks)
    fields |= {f"{CHOICE}{order}": score.value for order, score in scores.items()}
    if len(choices) > 1:
        fields[CONSISTENT] = _side(choices[0], pair) == _side(choices[1], pair)
        marks |= {} if fields[CONSISTENT] else {FLIPPED: None}
    likely = pair.prefers_a(score)
    if likely is not None:
        fields[A_BETTER] = round(likely, 7)
    return Verdict({pair.score: score}, fields, tuple(marks))


def _averaged(scores: list[Score]) -> dict[Number, float]:
    """Return the mean of the scores' probabilities; an order that has none counts as sure of its choice."""
    if not any(score.probabilities for score in scores):
        return {}
    parts = [score.probabilities or {score.value: 1.0} for score in scores]
    return {value: sum(part.get(value, 0.0) for part in parts) / len(parts) for value in sorted(set().union(*parts))}


def _agreed(choices: list[Number], pair: Pair, values: tuple[Number, ...], shares: Mapping[Number, float]) -> Number:
    first, last = choices[0], choices[-1]
    for undecided in pair.special:
        if undecided in choices:
            return undecided
    if _side(first, pair) == _side(last, pair):
        return min(first, last, key=abs)
    return 0 if 0 in values else max(choices, key=lambda value: (shares.get(value, 0.0), value))


def _side(value: Number, pair: Pair) -> Number | None:
    """Return 1 for A, -1 for B, 0 for a tie; a special value is on no side."""
    if value in pair.special:
        return None
    return int(copysign(1, value)) if value else 0
