"""A run as analyses read it: its raters, scores, columns and rubrics."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import copy
from functools import cached_property
from itertools import chain
from operator import eq
from pathlib import Path

from pathway_local.case import fingerprint, text_hash
from pathway_local.errors import NotKept, UnknownName, UsageError
from pathway_local.note import Note
from pathway_local.rater import LABEL, Rater, raters_named
from pathway_local.rubrics.examples import PARTS, learns_from_cases
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.jobs import Job
from pathway_local.runs.purge import purged
from pathway_local.runs.record import TEXTS_BY_NAME, Record
from pathway_local.runs.run_cases import remembered_columns, shares_judged
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import example_ids, raters_of, rubrics_named
from pathway_local.scores.matrix import RatingsMatrix, ratings_matrices
from pathway_local.sheets.columns import means_the_same, same_column
from pathway_local.sheets.row import shown

MOST_GROUPS = 50
"""Values of a column that divides cases into groups; one with more tells single cases apart."""

# A row that is no case has no metadata to keep.
_METADATA = """
    SELECT metadata FROM cases WHERE EXISTS (
        SELECT 1 FROM current
        WHERE case_key = key AND COALESCE(failure_kind, '') NOT IN ('bad-row', 'duplicate-id')
    )
"""


class Scores:
    """A run that is open for reading. `notices` gathers what a user should know about the data themselves."""

    def __init__(self, run: RunFile) -> None:
        self._run = run
        self.notices: list[Note] = []
        self._matrices: dict[str, list[RatingsMatrix]] = {}

    @cached_property
    def rubrics(self) -> Mapping[str, Rubric]:
        """The run's rubrics by name."""
        return self._run.rubrics()

    @cached_property
    def raters(self) -> Sequence[Rater]:
        """The run's raters, in its order."""
        return tuple(rater for _, rater in self._run.raters())

    @property
    def path(self) -> Path:
        """The run's file."""
        return self._run.path

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """The cautions about judges, by the rater's name."""
        labels = {rater.name: self._run.get_setting(f"{LABEL}{rater.name}") for rater in self.raters}
        return {name: label for name, label in labels.items() if isinstance(label, str) and label}

    @property
    def cases(self) -> int:
        """The number of cases with an outcome."""
        [(count,)] = self._run.database.rows("SELECT COUNT(DISTINCT case_key) FROM current")
        return int(count)

    @cached_property
    def stopped(self) -> list[str]:
        """The judges whose last command did not end: the first rows of a file are no random part of it."""
        last = {judge: job.status for job in self._run.jobs.all() for judge in job.judges}
        return list(dict.fromkeys(name for (name, _), status in last.items() if status != "done"))

    def rated(self, rubric: str = "", raters: Sequence[str] = ()) -> list[Rubric]:
        """Return the rubrics, or the named one, under which all these raters or groups have rated.

        Notices name the others, each with a rater who has not. Raises UnknownName for a rubric or a rater that the run
        lacks, and UsageError if no rubric has all raters.
        """
        rubrics = rubrics_named(self._run, rubric or None)
        rated = {each.name: [rater.name for _, rater in raters_of(self._run, each)] for each in rubrics}
        missing: dict[str, str] = {}
        for wanted in raters:
            lacking = [name for name, names in rated.items() if not raters_named(wanted, names)]
            if len(lacking) == len(rated):
                raise UnknownName("rater", wanted, dict.fromkeys(chain(*rated.values())))
            missing = dict.fromkeys(lacking, wanted) | missing
        if len(missing) == len(rated) > 0:
            raise UsageError(f"{', '.join(raters)} have no rubric in common", "Name raters of one rubric.")
        self.notices += [Note("rubric_left_out", {"rubric": name, "rater": rater}) for name, rater in missing.items()]
        return [each for each in rubrics if each.name not in missing]

    def matrices(self, rubrics: Sequence[Rubric]) -> Iterator[RatingsMatrix]:
        """Yield the matrix of each score of these rubrics, each read once."""
        for rubric in rubrics:
            if rubric.name not in self._matrices:
                if learns_from_cases(rubric):
                    told = {"rubric": rubric.name, "count": sum(bool(each.case) for each in rubric.examples)}
                    self.notices.append(Note("examples_left_out", told | {"parts": PARTS}))
                self._matrices[rubric.name] = ratings_matrices(self._run, rubric)
            yield from self._matrices[rubric.name]

    def joined(self, raters: Sequence[Rater], matrices: Mapping[str, list[RatingsMatrix]]) -> "Scores":
        """Return the run with further raters, which have columns in these matrices of a rubric."""
        made = copy(self)
        made.raters, made._matrices = (*self.raters, *raters), {**self._matrices, **matrices}
        return made

    def outcomes(
        self, rubric: str | None = None, rater: str | None = None, cases: Collection[str] | None = None
    ) -> Iterator[Record]:
        """Yield the current outcomes in the order of the cases file, of these cases alone if any are given.

        Of a rubric's own examples there are none.
        """
        found = self._run.records(rater, rubric, cases)
        return (record for record in found if record.case_id not in self._examples[record.rubric])

    @cached_property
    def _examples(self) -> Mapping[str, Collection[str]]:
        """The ids of each rubric's own examples, by its name."""
        return {name: example_ids(self._run, rubric) for name, rubric in self.rubrics.items()}

    @cached_property
    def parts_judged(self) -> Mapping[tuple[str, str], Sequence[str]]:
        """In words, for each rater and rubric, the share of each cases file that was judged, if it is not all."""
        return shares_judged(self._run)

    @property
    def purged(self) -> str:
        """When the run's outcomes were removed for good; empty if they were not."""
        found = purged(self._run)
        return found[0] if found else ""

    @property
    def jobs(self) -> tuple[Job, ...]:
        """The run's jobs, oldest first."""
        return tuple(self._run.jobs.all())

    @property
    def trail(self) -> str:
        """The last hash of the run's audit trail."""
        return AuditTrail(self._run.database).head()

    def hash_of(self, texts: Mapping[str, str]) -> str:
        """Return the run's keyed hashes of a case's texts."""
        return fingerprint(self._run.key, texts)

    @property
    def empty_text(self) -> str:
        """The run's keyed hash of an empty text."""
        return text_hash(self._run.key, "")

    def column(self, asked: str) -> str:
        """Return the run's own spelling of a metadata column; "" for none.

        A notice says how many cases lack it; figures treat it as empty there. NotKept if no case has it; UsageError if
        it holds inputs or ids, which a run never keeps as metadata.
        """
        if not asked:
            return ""
        kept = self._kept()
        column = same_column(asked, _names(kept)) or asked
        lacking = sum(column not in each for each in kept)
        if kept and lacking == len(kept):
            self._refuse_inputs(column)
            raise NotKept(column, _names(kept))
        said = Note("column_lacking", {"count": lacking, "column": column, "run": self._run.path})
        if lacking and said not in self.notices:
            self.notices.append(said)
        return column

    def counted_values(self, column: str) -> Counter[str]:
        """Return how many cases have each value of a column, in their order; the empty one counts those without."""
        return Counter(each.get(column, "") for each in self._kept())

    def group_columns(self) -> list[str]:
        """Return the columns that divide the cases into groups: those of two values or a few more."""
        kept = self._kept()
        values = {name: {each[name] for each in kept if each.get(name)} for name in _names(kept)}
        return [name for name, found in values.items() if 1 < len(found) <= MOST_GROUPS]

    def input_named(self, asked: str) -> str:
        """Return the rubrics' input that a name, or that of its column, means; empty if none, or a kept column."""
        if same_column(asked, _names(self._kept())):
            return ""
        mapping = remembered_columns(self._run).mapping
        inputs = [name for rubric in self.rubrics.values() for name in rubric.inputs]
        found = [name for name in inputs if same_column(asked, [mapping.get(name, "")])]
        found += [name for fits in (eq, means_the_same) for name in inputs if fits(name, asked)]
        return found[0] if found else ""

    def _kept(self) -> list[dict[str, str]]:
        return [TEXTS_BY_NAME.read(self._run.path, kept) for (kept,) in self._run.database.stream(_METADATA)]

    def _refuse_inputs(self, column: str) -> None:
        id_column = remembered_columns(self._run).id
        is_input = self.input_named(column)
        if is_input or (id_column and same_column(column, [id_column])):
            what = "an input: a run keeps no texts" if is_input else "the column of the ids, each of which is another"
            raise UsageError(f"{shown(column)} is {what}", "Name a column such as chatbot or language.")


def _names(kept: Iterable[Mapping[str, str]]) -> list[str]:
    return list(dict.fromkeys(name for each in kept for name in each))
