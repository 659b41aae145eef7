"""A made-up case: its inputs, the right scores, what a good judge writes, and the words that decide."""

from collections.abc import Mapping
from dataclasses import dataclass

from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class MadeCase:
    """A case under one rubric with its right verdict.

    `scores` and `fields` are by name as in the rubric's output format, echoes left out; `decisive` stands in one
    of the fields and names the fact on which the score turns.
    """

    rubric: str
    inputs: Mapping[str, str]
    scores: Mapping[str, int]
    fields: Mapping[str, Value]
    decisive: str

    @property
    def values(self) -> dict[str, Value]:
        """Every generated field's value, scores included."""
        return {**self.fields, **self.scores}
