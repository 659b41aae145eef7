"""Finds the case of a run that an imported rating belongs to."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pathway_local.case import BAD_ROWS, DUPLICATE, BadRow, Case, CaseRef, fingerprint
from pathway_local.ratings.handouts import Handout
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cells import without_guard
from pathway_local.sheets.pseudonyms import Pseudonyms

_CASES = "SELECT case_id, row, numbered FROM cases"
_HASHES = """
    SELECT DISTINCT case_id, row, numbered, case_hash
    FROM outcomes JOIN cases ON key = case_key
    JOIN raters ON raters.id = rater_id JOIN rubrics ON rubrics.id = rubric_id
    WHERE superseded = 0 AND case_hash <> '' AND rubrics.name = ?
"""
_SAMPLED = """
    SELECT DISTINCT case_id, inclusions.row, numbered, case_hash
    FROM inclusions JOIN samples ON samples.id = sample_id JOIN rubrics ON rubrics.id = rubric_id
    WHERE rubrics.name = ?
"""

_BAD_ROWS = """
    SELECT DISTINCT case_id, COALESCE(source, ''), failure_kind FROM outcomes JOIN cases ON key = case_key
    WHERE superseded = 0 AND failure_kind IN (?, ?)
"""


@dataclass(slots=True)
class KnownCase:
    """A case of the run; `hashes` are of the texts that raters or samples saw under the rubric."""

    id: str
    row: int
    numbered: bool
    hashes: set[str] = field(default_factory=set)

    def ref(self, text_hash: str) -> CaseRef:
        """Return the case with the hash of the texts that were rated; its metadata stay as the run has them."""
        return CaseRef(self.id, self.row, self.numbered, hash=text_hash)


class KnownCases:
    """Finds the run's case by id or by texts; each method returns the reason as a text if it finds none.

    `numbered`: the cases have row numbers instead of ids. `bad_rows` are ids of rows that could not be judged;
    `without_id` counts those whose id could not be read. `has_duplicates`: the cases file gave an id to several rows,
    of which only the first counts. With `pseudonyms`, ids are replaced by their pseudonyms before the search.
    """

    def __init__(self, run: RunFile, rubric: str, pseudonyms: Pseudonyms | None = None) -> None:
        self._pseudonyms = pseudonyms
        self._by_id: dict[str, KnownCase] = {}
        self._by_hash: dict[str, list[KnownCase]] = {}
        self._without_zeros: set[str] | None = None
        for case_id, row, numbered in run.database.rows(_CASES):
            self._by_id[case_id] = KnownCase(case_id, row, bool(numbered))
        for query in (_HASHES, _SAMPLED):
            for case_id, row, numbered, case_hash in run.database.rows(query, rubric):
                self._add_texts(KnownCase(case_id, row, bool(numbered)), case_hash)
        self.bad_rows: set[str] = set()
        self.has_duplicates, self.without_id = False, 0
        for case_id, source, kind in run.database.rows(_BAD_ROWS, *BAD_ROWS):
            self._add_bad_row(case_id, source, kind)
        self.numbered = any(known.numbered for known in self._by_id.values())

    def add(self, cases: Iterable[Case | BadRow], rubric: Rubric, key: bytes) -> None:
        """Add the cases of a file with their texts there, and its bad rows; `key` is the run's."""
        for item in cases:
            if isinstance(item, Case) and rubric.can_read(item):
                known = KnownCase(item.id, item.row, item.numbered)
                self._add_texts(known, fingerprint(key, rubric.texts_of(item)))
                self.numbered |= item.numbered
            elif isinstance(item, Case):
                self._add_bad_row(item.id, "", "")
            else:
                self._add_bad_row(item.id, item.source, item.kind)

    def _add_texts(self, case: KnownCase, case_hash: str) -> None:
        known = self._by_id.setdefault(case.id, case)
        if case_hash not in known.hashes:
            known.hashes.add(case_hash)
            self._by_hash.setdefault(case_hash, []).append(known)

    def _add_bad_row(self, case_id: str, source: str, kind: str) -> None:
        self.bad_rows.add(case_id)
        duplicate = kind == DUPLICATE
        self.has_duplicates |= duplicate
        # A row without a readable id got one that begins with its file's name.
        self.without_id += bool(source) and not duplicate and case_id.startswith(f"{source} ")

    def __len__(self) -> int:
        return len(self._by_id)

    def by_handout(self, handout: Handout) -> CaseRef:
        """Return the case that was handed out, with the hash of its texts at that time."""
        known = self._by_id.get(handout.case_id) or KnownCase(handout.case_id, handout.row, handout.numbered)
        return known.ref(handout.case_hash)

    def by_id(self, case_id: str, text_hash: str | None) -> CaseRef | str:
        """Return the case with this id; if the file holds texts, they must be the case's."""
        known = self._find(case_id)
        if known is None:
            return self._unknown(case_id)
        if text_hash is not None:
            if known.hashes and text_hash not in known.hashes:
                return "its texts differ from those of the run's case with this id"
            return known.ref(text_hash)
        if len(known.hashes) == 1:
            return known.ref(next(iter(known.hashes)))
        if not known.hashes:
            return "its case was never judged under this rubric, and the file does not hold its texts"
        return "raters saw different texts of its case, and the file does not hold its texts"

    def is_unknown(self, case_id: str) -> bool:
        """Whether no case has this id."""
        return self._find(case_id) is None

    def _find(self, case_id: str) -> KnownCase | None:
        # Our exports put an apostrophe before an id that a spreadsheet would run.
        asked = (self._pseudonyms.of(each) if self._pseudonyms else each for each in (case_id, without_guard(case_id)))
        return next((self._by_id[each] for each in asked if each in self._by_id), None)

    def _unknown(self, case_id: str) -> str:
        """Say why no case has this id. Spreadsheets often turn the id 0042 into the number 42, so look for that too."""
        if self._without_zeros is None:
            self._without_zeros = {own.lstrip("0") for own in self._by_id if own.startswith("0")}
        if case_id.isdigit() and case_id in self._without_zeros:
            return "its id matches no case of the run, but would with leading zeros: format the id column as text"
        return "its id matches no case of the run"

    def by_texts(self, text_hash: str, number: str) -> CaseRef | str:
        """Return the only case with these texts; of several, the one with this row number."""
        same = self._by_hash.get(text_hash, [])
        if not same:
            return "no case of the run has its texts"
        if len(same) > 1:
            same = [known for known in same if known.numbered and known.id == number]
        return same[0].ref(text_hash) if same else "several cases of the run have its texts"


def hash_by_case(run: RunFile, rubric: str) -> Mapping[str, str]:
    """Return the hash of each case's current texts under a rubric: of a judge's latest outcome, else of any rater's.

    Judges read the cases as they are now; ratings of people and hosted judges may return after the texts changed.
    """
    query = """
        SELECT case_id, case_hash FROM outcomes JOIN cases ON key = case_key JOIN raters ON raters.id = rater_id
        JOIN rubrics ON rubrics.id = rubric_id
        WHERE superseded = 0 AND case_hash <> '' AND rubrics.name = ? AND (kind = 'judge') = ? ORDER BY outcomes.id
    """
    return {**dict(run.database.rows(query, rubric, False)), **dict(run.database.rows(query, rubric, True))}
