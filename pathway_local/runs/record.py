"""What goes into a run and what comes out of it: one outcome of one case, with what it took."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Struct

from pathway_local.case import Case
from pathway_local.rater import Rater
from pathway_local.runs.stored_outcome import from_columns
from pathway_local.verdict import NO_TOKENS, Outcome, Tokens


class Record(Struct, frozen=True):
    """One stored outcome: whose, of which case, and what it took."""

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
    """One outcome to store: of which case, with which texts, and the tokens that it took."""

    case: Case
    case_hash: str
    outcome: Outcome
    tokens: Tokens = NO_TOKENS


def record_of(raters: Mapping[int, Rater], row: Sequence[Any]) -> Record:
    """The record of a row of the run's tables; `raters` are those of the run by their number there."""
    case_id, position, numbered, metadata, rater_id, scores, fields, marks, kind, message, case_hash, *tokens = row
    rater = raters[rater_id]
    outcome, kept = from_columns((scores, fields, marks, kind, message)), json.loads(metadata)
    numbered, taken = bool(numbered), Tokens(*tokens)
    return Record(case_id, position, numbered, kept, rater.name, rater.rubric, outcome, case_hash, taken)
