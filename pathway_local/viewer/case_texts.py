"""The texts of a cases file in memory, since few kinds of files let us jump to a case."""

import json
import zlib
from collections.abc import Iterable, Iterator

from pathway_local.case import BadRow, Case
from pathway_local.verdict import storable


class CaseTexts:
    """Finds the inputs of a file's cases by the id that the run stores; texts are compressed."""

    def __init__(self, cases: Iterable[Case | BadRow]) -> None:
        # JSON in ASCII also holds lone surrogates, on which the hash of a case's texts depends.
        self._packed = {
            storable(item.id): zlib.compress(json.dumps(dict(item.inputs)).encode(), 1)
            for item in cases
            if isinstance(item, Case)
        }

    def of(self, case_id: str) -> dict[str, str] | None:
        """Return a case's inputs by name; None if the file has no such case."""
        packed = self._packed.get(case_id)
        return None if packed is None else dict(json.loads(zlib.decompress(packed)))

    def folded(self) -> Iterator[tuple[str, str]]:
        """Yield each case's id, and all its texts as `fold` returns them."""
        for case_id in self._packed:
            yield case_id, fold("\n".join((self.of(case_id) or {}).values()))


def fold(text: str) -> str:
    """Return the text as the search compares it: upper and lower case are the same."""
    return storable(text).casefold()
