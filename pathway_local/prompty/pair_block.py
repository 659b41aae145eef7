"""Reads which inputs of a comparison change places: `kind: pair` and `swap:` in the front matter."""

from collections.abc import Mapping
from dataclasses import replace

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import FIELDS, SWAPPED, Pair
from pathway_local.rubrics.rubric import Input

KIND = "pair"

_SWAP = "Name A's input and B's: swap: {response_a: response_b}."


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
