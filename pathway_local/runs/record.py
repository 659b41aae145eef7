"""One outcome of one case: to store in a run, and as read from it."""

import json
from collections.abc import Mapping

from msgspec import Struct

from pathway_local.case import CaseRef
from pathway_local.sheets.row import CellValue, typed_value
from pathway_local.verdict import NO_TOKENS, Outcome, Tokens


class Record(Struct, frozen=True):
    """One stored outcome: its case, its rater, and the tokens that it took.

    `kinds` is the JSON of `CaseRef.kinds`.
    """

    case_id: str
    row: int
    metadata: Mapping[str, str]
    rater: str
    rubric: str
    outcome: Outcome
    case_hash: str
    tokens: Tokens
    kinds: str | None = None

    def typed(self) -> dict[str, CellValue]:
        """Return the case's metadata with the types that its sheet had, and its id under ""."""
        cells = {**self.metadata, "": self.case_id}
        kinds = json.loads(self.kinds) if self.kinds else {}
        return {name: typed_value(text, kinds.get(name, "")) for name, text in cells.items()}


class CaseOutcome(Struct, frozen=True):
    """One outcome to store: its case, and the tokens that it took."""

    case: CaseRef
    outcome: Outcome
    tokens: Tokens = NO_TOKENS
