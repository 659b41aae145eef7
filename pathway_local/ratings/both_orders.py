"""Combines a hosted judge's replies on both orders of a case into one rating."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pathway_local.ratings.handouts import Handout
from pathway_local.ratings.rating_rows import Rating
from pathway_local.rubrics.orders import verdict_of_orders
from pathway_local.rubrics.pair import BOTH, Order
from pathway_local.rubrics.rubric import Rubric
from pathway_local.verdict import Failure, Outcome, Tokens, Verdict

ONE_ORDER = "one-order"
"""The kind of failure of a case with a reply on one of its two orders alone."""


def combined(ratings: Sequence[Rating], handouts: Mapping[str, Handout], rubric: Rubric) -> Iterator[Rating]:
    """Yield one rating for each rater and case that was handed out in both orders, and all other ratings as they are.

    Of several replies on one order, all but the first stay ratings, which the import then reports.
    """
    found: dict[tuple[str, str], dict[Order, Rating]] = {}
    for rating in ratings:
        handout = handouts.get(rating.id)
        order = handout.order if handout else None
        own = found.setdefault((rating.rater, handout.case_id), {}) if handout and order else None
        if order is None or own is None or order in own:
            yield rating
        else:
            own[order] = rating
    for own in found.values():
        yield _rating(own, rubric)


def _rating(own: Mapping[Order, Rating], rubric: Rubric) -> Rating:
    both = [own[order] for order in BOTH if order in own]
    tokens = sum((rating.tokens for rating in both), Tokens())
    return replace(both[0], outcome=_outcome({order: own[order].outcome for order in own}, rubric), tokens=tokens)


def _outcome(outcomes: Mapping[Order, Outcome], rubric: Rubric) -> Outcome:
    verdicts: dict[Order, Verdict] = {}
    for order in BOTH:
        outcome = outcomes.get(order)
        if outcome is None:
            return Failure(ONE_ORDER, f"the file has no reply on the order {order}")
        if isinstance(outcome, Failure):
            return outcome
        verdicts[order] = outcome
    assert rubric.pair is not None
    return verdict_of_orders(verdicts, rubric.pair, rubric.format)
