"""Finds the cases of a run that imported ratings belong to."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pathway_local.case import Case, CaseRef, fingerprint, hash_by_input
from pathway_local.ratings.rating_rows import Problem, Rating
from pathway_local.ratings.samples import Handout
from pathway_local.rubrics.consistency import CaseRule
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import rows_are_ids
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import without_guard

_CASES = "SELECT case_id, row FROM cases"
_HASHES = """
    SELECT case_id, row, case_hash FROM current WHERE case_hash <> '' AND rubric = ?1 UNION
    SELECT case_id, inclusions.row, case_hash
    FROM inclusions JOIN samples ON samples.id = sample_id JOIN rubrics ON rubrics.id = rubric_id
    WHERE rubrics.name = ?1
"""

NO_SUCH_ID = "its id matches no case of the run"
LOST_ZEROS = f"{NO_SUCH_ID}, but would with leading zeros"
LONGEST_NUMBER = 30
"""Digits of the longest number to which lost zeros are added."""


class KnownCases:
    """Finds the run's case by its id; texts in the file, of which it may hold some alone, must be the case's.

    `numbered`: the cases have row numbers instead of ids. With `pseudonyms`, ids are replaced by their pseudonyms
    before the search.
    """

    def __init__(self, run: RunFile, rubric: Rubric, pseudonyms: Pseudonyms | None = None) -> None:
        self._rubric, self._pseudonyms = rubric, pseudonyms
        self._rows: dict[str, int] = dict(run.database.rows(_CASES))
        # Of the texts of each case that raters or samples saw under the rubric.
        self._hashes = defaultdict[str, set[str]](set)
        self._ids_by_text = defaultdict[str, set[str]](set)
        self._rules: dict[str, tuple[CaseRule, ...]] = {}
        for case_id, row, case_hash in run.database.rows(_HASHES, rubric.name):
            self._add_texts(case_id, row, case_hash)
        self.numbered = bool(rows_are_ids(run))

    def add(self, cases: CasesFile, key: bytes) -> None:
        """Add the cases of a file with their texts there; `key` is the run's."""
        self.numbered |= cases.id_column is None
        for item in cases:
            if isinstance(item, Case) and self._rubric.can_read(item):
                self._add_texts(item.id, item.row, fingerprint(key, self._rubric.texts_of(item)))
                if self._rubric.rules:
                    self._rules[item.id] = self._about(self._rubric.inputs_of(item))

    def rules(self, case_id: str) -> tuple[CaseRule, ...]:
        """Return the rubric's rules about a case; without its texts, a condition on an input applies no rule."""
        return self._rules.get(case_id) or self._about({})

    def _about(self, inputs: Mapping[str, str]) -> tuple[CaseRule, ...]:
        return tuple(rule.about(inputs) for rule in self._rubric.rules)

    def _add_texts(self, case_id: str, row: int, case_hash: str) -> None:
        self._rows.setdefault(case_id, row)
        if case_hash not in self._hashes[case_id]:
            self._hashes[case_id].add(case_hash)
            for digest in hash_by_input(case_hash).values():
                self._ids_by_text[digest].add(case_id)

    def __len__(self) -> int:
        return len(self._rows)

    def by_handout(self, handout: Handout, given: str) -> CaseRef | Problem:
        """Return the case that was handed out, with the hash of its texts at that time."""
        # A sheet holds texts as the prompt shows them, so one that no case has is no sign of a mistake.
        found = self._differing(handout.case_id, [handout.case_hash], given)
        row = self._rows.get(handout.case_id, handout.row)
        moved = found if found and found.texts == "moved" else None
        return moved or CaseRef(handout.case_id, row, hash=handout.case_hash)

    def by_id(self, case_id: str, given: str) -> CaseRef | Problem:
        """Return the case with this id; the texts with the hash `given`, as far as the file holds any, must be its."""
        known = self._find(case_id)
        if known is None:
            longer = (case_id.zfill(length) for length in range(len(case_id) + 1, LONGEST_NUMBER + 1))
            lost = case_id.isdigit() and any(each in self._rows for each in longer)
            return Problem("", LOST_ZEROS if lost else NO_SUCH_ID)
        lacks = f"the file does not hold {'all of its texts' if given else 'its texts'}"
        if not self._hashes[known]:
            required = {name for name, wanted in self._rubric.inputs.items() if wanted.default is None}
            if given and required <= hash_by_input(given).keys():
                return CaseRef(known, self._rows[known], hash=given)
            return Problem("", f"its case was never judged under this rubric, and {lacks} (add --cases FILE)")
        if found := self._differing(known, self._hashes[known], given):
            return found
        wanted = hash_by_input(given).items()
        fitting = {given} & self._hashes[known] or {
            own for own in self._hashes[known] if wanted <= hash_by_input(own).items()
        }
        if len(fitting) > 1:
            return Problem("", f"raters saw different texts of its case, and {lacks}")
        return CaseRef(known, self._rows[known], hash=fitting.pop())

    def _differing(self, case_id: str, hashes: Iterable[str], given: str) -> Problem | None:
        """Say which of the texts `given` are not the case's; None if texts with one of the hashes have them all."""
        wanted = hash_by_input(given)
        own = min(map(hash_by_input, hashes), key=lambda own: len(wanted.items() - own.items()))
        differing = [name for name, digest in wanted.items() if own.get(name) != digest]
        if not differing:
            return None
        others = [name for name in differing if name in own and self._ids_by_text[wanted[name]] - {case_id}]
        if others:
            return Problem("", f"its id is that of one case, its {' and '.join(others)} that of another", "moved")
        differ = "differs from that" if len(differing) == 1 else "differ from those"
        return Problem("", f"its {' and '.join(differing)} {differ} of the run's case with this id", "changed")

    def _find(self, case_id: str) -> str | None:
        # Our exports put an apostrophe before an id that a spreadsheet would run.
        asked = (self._pseudonyms.of(each) if self._pseudonyms else each for each in (case_id, without_guard(case_id)))
        return next((each for each in asked if each in self._rows), None)


Key = tuple[str, str]
"""Rater and case: a rater rates each case once."""

Matched = dict[Key, tuple[Rating, CaseRef]]


def matched_ratings(
    ratings: Sequence[Rating], known: KnownCases, handouts: Mapping[str, Handout]
) -> tuple[Matched, list[Problem]]:
    """Return each rating with its case, and a problem for each with an unknown case or one that its rater has rated."""
    matched: Matched = {}
    problems: list[Problem] = []
    for rating in ratings:
        found = _case_of(rating, known, handouts)
        if isinstance(found, Problem):
            problems.append(replace(found, where=rating.where))
            continue
        before, _ = matched.setdefault((rating.rater, found.id), (rating, found))
        if before is not rating:
            problems.append(Problem(rating.where, f"{rating.rater} rated the same case in {before.where}"))
    return matched, problems


def _case_of(rating: Rating, known: KnownCases, handouts: Mapping[str, Handout]) -> CaseRef | Problem:
    if handout := handouts.get(rating.id):
        return known.by_handout(handout, rating.text_hash)
    # A row number says only where a case stood in one file. Rows may have moved since, so texts must confirm it.
    if known.numbered and not rating.text_hash:
        return Problem("", "its case has a row number instead of an id, and no text of the cases was found in its row")
    if not known.numbered and not rating.id:
        return Problem("", "it has no id")
    return known.by_id(rating.id or rating.number, rating.text_hash)
