"""Rubrics that compare two responses: which inputs change places, and what a verdict says after they did."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_inputs import Input
from pathway_local.verdict import Number, Score

KIND = "pair"

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

_SWAP = "Name A's input and B's: swap: {response_a: response_b}."


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


def read_pair(prompty: Prompty, output_format: OutputFormat, inputs: Mapping[str, Input]) -> Pair | None:
    """Return the comparison that a rubric's front matter declares, None if it has none. Raises RubricError."""
    if prompty.kind != KIND:
        if prompty.swap is not None:
            raise RubricError(f"{prompty.places.of('swap')}: swap belongs to a comparison", "Add kind: pair.")
        return None
    swap = _swap(prompty, inputs)
    if len(output_format.scores) != 1:
        said = f"{prompty.places.of('outputs')}: a comparison needs exactly one score"
        raise RubricError(said, "Its values above 0 prefer response A, those below 0 prefer B, and 0 is a tie.")
    [(name, score)] = output_format.scores.items()
    taken = [each for each in output_format.outputs.fields if each in FIELDS or each.startswith(SWAPPED)]
    if taken:
        said = (
            f"{prompty.places.of('outputs', 'fields', taken[0])}: a comparison fills the field {taken[0][:60]!r} itself"
        )
        raise RubricError(said, "Give the field another name.")
    if not _is_symmetric(score):
        said = f"{prompty.places.of('outputs', 'fields', name)}: {name} does not treat A and B alike"
        raise RubricError(said, "Write levels such as {1: A is better, 0: tie, -1: B is better}; the 0 is optional.")
    return Pair(swap, name, score.special)


def _swap(prompty: Prompty, inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the inputs of response A, each with the one of response B."""
    where = prompty.places.of("swap")
    if not isinstance(prompty.swap, Mapping) or not prompty.swap:
        raise RubricError(f"{where}: a comparison must say which inputs change places", _SWAP)
    swap = {str(first): str(second) for first, second in prompty.swap.items()}
    named = [*swap, *swap.values()]
    for name in named:
        if name not in inputs:
            raise RubricError(f"{where}: swap names {name[:60]!r}, which is not an input", _SWAP)
        if named.count(name) > 1:
            raise RubricError(f"{where}: swap names {name[:60]!r} twice", _SWAP)
    for first, second in swap.items():
        if _rules(inputs[first]) != _rules(inputs[second]):
            said = f"{where}: {first} and {second} differ in empty or default"
            raise RubricError(said, "Declare both alike, or only one order of a case could be judged.")
    return swap


def _rules(wanted: Input) -> Input:
    return replace(wanted, name="", description="")


def _is_symmetric(score: ScoreField) -> bool:
    values = {value for value in score.values if value not in score.special}
    return any(values) and values == {-value for value in values}
