"""The cases of a run file: their ids, rows and kept metadata, but none of their texts."""

import json
from collections.abc import Collection, Mapping, Sequence

from pathway_local.case import CaseRef
from pathway_local.runs.database import Database
from pathway_local.runs.file_errors import decoding
from pathway_local.runs.record import to_json
from pathway_local.verdict import storable

_KNOWN = "SELECT case_id, key, row, metadata, kinds FROM cases WHERE case_id IN ({})"
_ADD = "INSERT INTO cases (key, case_id, row, metadata, kinds) VALUES (?, ?, ?, ?, ?)"
_MOVE = "UPDATE cases SET row = ?, metadata = ?, kinds = ? WHERE key = ?"


class StoredCases:
    """The cases of an open run."""

    def __init__(self, db: Database) -> None:
        self._db = db

    def update(self, cases: Sequence[CaseRef], keep: Collection[str] | None) -> dict[str, int]:
        """Update row and metadata of the cases that the run has, inside `writing`; return their keys by stored id.

        Only metadata columns named in `keep` are stored (None: all).
        """
        found = self._db.rows_among(_KNOWN, [storable(case.id) for case in cases])
        known = {case_id: (key, *stored) for case_id, key, *stored in found}
        moved = []
        for case in cases if known else ():
            if stored := known.get(storable(case.id)):
                key, *before = stored
                with decoding(self._db.path):
                    after = [case.row, *_updated(case, keep, before[1], before[2])]
                if after != before:
                    moved.append((*after, key))
        self._db.execute_all(_MOVE, moved)
        return {case_id: key for case_id, (key, *_) in known.items()}

    def keys(self, cases: Sequence[CaseRef], known: Mapping[str, int], keep: Collection[str] | None) -> list[int]:
        """Return the key of each case, inside `writing`; cases that are not among the `known` of `update` are added."""
        keys, new = [], []
        last = self._db.rows("SELECT COALESCE(MAX(key), 0) FROM cases")[0][0] if len(known) < len(cases) else 0
        for case in cases:
            case_id = storable(case.id)
            key = known.get(case_id)
            if key is None:
                key = last = last + 1
                new.append((key, case_id, case.row, *_updated(case, keep)))
            keys.append(key)
        self._db.execute_all(_ADD, new)
        return keys


def _updated(
    case: CaseRef, keep: Collection[str] | None, metadata: str = "{}", kinds: str | None = None
) -> tuple[str, str | None]:
    """Return the stored metadata and kinds of a case with the columns to keep of its sheet, in place of what was there.

    A case that comes without any metadata, such as a rating of one, leaves the kinds as they are.
    """
    names = case.metadata if keep is None else keep
    kept = {name: case.metadata[name] for name in names if name in case.metadata}
    whole = to_json(json.loads(metadata) | kept)
    if case.kinds is None and not kept:
        return whole, kinds
    others = {name: kind for name, kind in json.loads(kinds or "{}").items() if name and name not in kept}
    own = {name: kind for name, kind in (case.kinds or {}).items() if not name or name in kept}
    return whole, to_json(others | own) if others or case.kinds is not None else None
