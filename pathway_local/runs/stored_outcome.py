"""An outcome as a run file's columns and back: JSON that the plain sqlite3 shell can read and query."""

import json
from collections.abc import Mapping

from pathway_local.verdict import Failure, Outcome, Score, Verdict, storable

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode

Columns = tuple[str | None, str | None, str | None, str | None, str | None]


def to_json(value: object) -> str:
    """Compact JSON that can be stored. ValueError for a number that is not finite."""
    return storable(_ENCODE(value))


def to_columns(outcome: Outcome) -> Columns:
    """The columns scores, fields, marks, failure_kind and failure_message.

    Scores are `{"NAME": {"value": 4, "probabilities": {"1": 0.02, …}}}`; a probability keeps seven digits.
    """
    if isinstance(outcome, Failure):
        return None, None, None, storable(outcome.kind), storable(outcome.message)
    scores = {name: _score_values(score) for name, score in outcome.scores.items()}
    return to_json(scores), to_json(dict(outcome.fields)), to_json(list(outcome.marks)), None, None


def from_columns(columns: Columns) -> Outcome:
    """The outcome of these columns. ValueError, TypeError, LookupError or AttributeError for others."""
    scores, fields, marks, kind, message = columns
    if scores is None or fields is None or marks is None:
        return Failure(str(kind), str(message))
    by_name = {name: _score(values) for name, values in json.loads(scores).items()}
    return Verdict(by_name, json.loads(fields), tuple(json.loads(marks)))


def _score_values(score: Score) -> Mapping[str, object]:
    if not score.probabilities:
        return {"value": score.value}
    # A model's probabilities come from 32-bit numbers: further digits are noise, and make half of the column.
    probabilities = {value: float(f"{share:.7g}") for value, share in score.probabilities.items()}
    return {"value": score.value, "probabilities": probabilities}


def _score(values: Mapping[str, object]) -> Score:
    value, probabilities = values["value"], values.get("probabilities", {})
    if not isinstance(value, int) or not isinstance(probabilities, dict):
        raise TypeError("a stored score is no score")
    return Score(value, {int(each): float(share) for each, share in probabilities.items()})
