"""One outcome of one case: to store in a run, and as read from it."""

from collections.abc import Mapping

from msgspec import Struct

from pathway_local.case import CaseRef
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
