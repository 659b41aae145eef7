"""One outcome of one case: to store in a run, and as read from it."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.runs.stored_outcome import from_columns
from pathway_local.verdict import NO_TOKENS, Outcome, Tokens


class Record(Struct, frozen=True):
    """One stored outcome: its case, its rater, and the tokens that it took."""

    case_id: str
    row: int
    numbered: bool
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


def record_of(raters: Mapping[int, Rater], row: Sequence[Any]) -> Record:
    """The record in a row of the run's tables; `raters` are the run's by their id there."""
    case_id, position, numbered, metadata, rater_id, case_hash, *rest = row
    rater = raters[rater_id]
    outcome, tokens = from_columns(rest[:-3]), Tokens(*rest[-3:])
    kept = json.loads(metadata)
    return Record(case_id, position, bool(numbered), kept, rater.name, rater.rubric, outcome, case_hash, tokens)
