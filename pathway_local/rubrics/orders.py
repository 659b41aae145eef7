"""Chooses the orders in which a comparison is judged, and combines their verdicts."""

from collections.abc import Mapping
from math import copysign

from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import A_BETTER, BOTH, CHOICE, CONSISTENT, FLIPPED, SWAPPED, Order, Orders, Pair
from pathway_local.verdict import OF_FIELD, Number, Score, Value, Verdict, mean_mass


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
