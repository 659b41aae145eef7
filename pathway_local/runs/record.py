"""Outcomes and cases as a run stores them, in columns that the sqlite3 shell can query; no text of a case."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from pathway_local.case import CaseRef
from pathway_local.runs.file_errors import damaged
from pathway_local.runs.stored_json import SCORES, TEXTS, VALUES_BY_NAME, StoredScore, to_json
from pathway_local.verdict import NO_TOKENS, Failure, Number, Outcome, Score, Tokens, Verdict, storable


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
    return to_verdict(path, scores, fields, marks)


def to_verdict(path: Path, scores: str, fields: str, marks: str) -> Verdict:
    """Return the verdict of the first three columns, in the run at `path`. Raises RunDamaged."""
    by_name = {name: _score(path, score) for name, score in SCORES.read(path, scores).items()}
    return Verdict(by_name, VALUES_BY_NAME.read(path, fields), tuple(TEXTS.read(path, marks)))


def _score_values(score: Score) -> Mapping[str, object]:
    if not score.probabilities:
        return {"value": score.value}
    # A model's probabilities come from 32-bit numbers: further digits are noise, and would double the column.
    probabilities = {value: float(f"{share:.7g}") for value, share in score.probabilities.items()}
    mass = {} if score.mass is None else {"mass": float(f"{score.mass:.7g}")}
    return {"value": score.value, "probabilities": probabilities, **mass}


def _score(path: Path, stored: StoredScore) -> Score:
    try:
        probabilities = {_value(each): share for each, share in stored.probabilities.items()}
    except ValueError:
        raise damaged(path, "something stored in it can't be read") from None
    return Score(stored.value, probabilities, stored.mass)


def _value(text: str) -> Number:
    return float(text) if "." in text else int(text)
