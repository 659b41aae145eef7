"""A made-up case with its right verdict."""

from collections.abc import Mapping
from dataclasses import dataclass

from pathway_local.verdict import Value


@dataclass(frozen=True, slots=True)
class MadeCase:
    """A case for one rubric with its right verdict.

    `scores` and `fields` have the names of the rubric's output format, without echoes. One of the fields contains
    `decisive`, which names the fact that decides the score.
    """

    inputs: Mapping[str, str]
    scores: Mapping[str, int]
    fields: Mapping[str, Value]
    decisive: str

    @property
    def values(self) -> dict[str, Value]:
        """Every generated field's value, scores included."""
        return {**self.fields, **self.scores}
