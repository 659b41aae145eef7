"""Outcomes, jobs and entries as a run stores them, in columns and JSON of which each has its type; no text of a case.

A stored value of another type is damage, and never a surprise later.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Generic, TypeVar

from msgspec import Meta, MsgspecError, Struct
from msgspec.json import Decoder

from pathway_local.case import CaseRef
from pathway_local.runs.database import damaged
from pathway_local.verdict import NO_TOKENS, Failure, Outcome, Score, Tokens, Value, Verdict, storable

T = TypeVar("T")

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
_LARGEST = Meta(ge=-(2**53), le=2**53)  # a larger number is no score, and overflows where figures are computed


def to_json(value: object) -> str:
    """Return compact JSON that can be stored. Raises ValueError for a number that is not finite."""
    return storable(_ENCODE(value))


class Stored(Generic[T]):
    """Reads the stored JSON of one type."""

    def __init__(self, kind: Any) -> None:
        self._decode = Decoder(kind).decode

    def read(self, path: Path, text: Any) -> T:
        """Return the value of a text in the run at `path`. Raises RunDamaged."""
        try:
            value: T = self._decode(text)
        except (MsgspecError, ValueError, TypeError, RecursionError):
            raise damaged(path, "something stored in it can't be read") from None
        return value


class _StoredScore(Struct, frozen=True, forbid_unknown_fields=True):
    """A score; JSON has the values of its scale as texts."""

    value: Annotated[int, _LARGEST] | Annotated[float, _LARGEST]
    probabilities: dict[int | float, Annotated[float, Meta(ge=0, le=1)]] = {}
    mass: Annotated[float, _LARGEST] | None = None


_SCORES = Stored[dict[str, _StoredScore]](dict[str, _StoredScore])

TEXTS_BY_NAME = Stored[dict[str, str]](dict[str, str])
"""A case's metadata."""

VALUES_BY_NAME = Stored[dict[str, Value]](dict[str, Any])
"""A verdict's fields, a rater's spec, a job's facts."""

TEXTS = Stored[list[str]](list[str])
"""A verdict's marks, a command."""

COUNTS = Stored[dict[str, int]](dict[str, int])
SETTING = Stored[Value](Any)


class Record(Struct, frozen=True):
    """One stored outcome: its case, its rater, and the tokens that it took."""

    case_id: str
    row: int
    metadata: Mapping[str, str]
    rater: str
    rubric: str
    outcome: Outcome
    case_hash: str
    tokens: Tokens


class CaseOutcome(Struct, frozen=True):
    """One outcome to store: its case, and the tokens that it took."""

    case: CaseRef
    outcome: Outcome
    tokens: Tokens = NO_TOKENS


COLUMNS = "scores, fields, marks, failure_kind, failure_message, source, source_row, reason"
"""The columns of an outcome, in the order of `to_columns` and `from_columns`."""


def to_columns(outcome: Outcome) -> tuple[object, ...]:
    """Return the values of `COLUMNS`.

    Scores are `{"NAME": {"value": 4, "probabilities": {"1": 0.02, …}, "mass": 0.9}}`; a probability keeps seven digits.
    """
    if isinstance(outcome, Failure):
        texts = (storable(text) for text in (outcome.kind, outcome.message))
        place = (storable(outcome.source), outcome.row, storable(outcome.reason)) if outcome.source else (None,) * 3
        return None, None, None, *texts, *place
    scores = {name: _score_values(score) for name, score in outcome.scores.items()}
    return to_json(scores), to_json(dict(outcome.fields)), to_json(list(outcome.marks)), *(None,) * 5


def from_columns(path: Path, columns: Sequence[Any]) -> Outcome:
    """Return the outcome of these columns of the run at `path`. Raises RunDamaged."""
    scores, fields, marks, kind, message, source, row, reason = columns
    if scores is None:
        return Failure(str(kind), str(message), str(source or ""), int(row or 0), str(reason or ""))
    return Verdict(to_scores(path, scores), VALUES_BY_NAME.read(path, fields), tuple(TEXTS.read(path, marks)))


def to_scores(path: Path, scores: str) -> dict[str, Score]:
    """Return the scores of a verdict in the run at `path`. Raises RunDamaged."""
    found = _SCORES.read(path, scores).items()
    return {name: Score(stored.value, stored.probabilities, stored.mass) for name, stored in found}


def _score_values(score: Score) -> Mapping[str, object]:
    if not score.probabilities:
        return {"value": score.value}
    # A model's probabilities come from 32-bit numbers: further digits are noise, and would double the column.
    probabilities = {value: float(f"{share:.7g}") for value, share in score.probabilities.items()}
    mass = {} if score.mass is None else {"mass": float(f"{score.mass:.7g}")}
    return {"value": score.value, "probabilities": probabilities, **mass}
