"""Cases files: the rows of a sheet as cases."""

import hashlib
import secrets
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec.structs import replace

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, ColumnsError, UnknownName
from pathway_local.sheets import open_sheet
from pathway_local.sheets.columns import ID_COLUMNS, ColumnMatch, has_column, match_columns, no_column
from pathway_local.sheets.nested_keys import nested_cells, nested_keys
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import Row, flaw, shown


class CasesFile:
    """A CSV, TSV, JSONL, Parquet or XLSX file of cases; iterating reads it from the start, a row at a time.

    `needed` has the inputs of each rubric by its name, `mapping` the columns that were given for inputs,
    `optional` the inputs that a file or a row of it may lack, `id_column` the column of the ids; without it a
    column named id or case_id is taken, and where there is none, rows are numbered. After that, `inputs` has the
    column of each input (`score_rubric.criteria` is the key criteria of the objects in the column score_rubric),
    `aliases_used` those that were found under another name, `id_column` what ids are read from
    (None: numbers), `columns` all columns, `metadata` those that are neither, and `notes` what else was decided,
    for people to read.
    Raises CasesError where the file can't be read, ColumnsError where its columns don't match, UnknownName
    where `mapping` or `id_column` name what is not there.
    """

    def __init__(
        self,
        path: Path,
        needed: Mapping[str, Sequence[str]],
        mapping: Mapping[str, str] | None = None,
        id_column: str | None = None,
        optional: Collection[str] = (),
    ) -> None:
        self.path = path
        self.pseudonyms: Pseudonyms | None = None
        self.sheet = open_sheet(path)
        self.columns = self.sheet.columns
        self.notes = self.sheet.notes
        there = {name for name in optional if name in (mapping or {}) or has_column(name, self.columns)}
        wanted = {
            rubric: [name for name in names if name not in optional or name in there]
            for rubric, names in needed.items()
        }
        self.optional = frozenset(optional)
        match = self._match(wanted, mapping or {})
        self.inputs = match.columns
        self.aliases_used = match.aliases_used
        if id_column is not None and id_column not in self.columns:
            raise no_column(id_column, self.columns, path.name)
        self.id_column = id_column or self._find_id_column()
        self._used = {self.id_column, *self.inputs.values(), *(path[0] for path in self._nested.values())}
        self.metadata = tuple(column for column in self.columns if column not in self._used)

    def __iter__(self) -> Iterator[Case | BadRow]:
        """Every row as a case, or as the reason why it is none; blank ones are skipped.

        CasesError where the file has no rows at all, or turns out to be damaged and can't be read on.
        """
        return (item for _, item in self.rows() if item is not None)

    def rows(self) -> Iterator[tuple[Row, Case | BadRow | None]]:
        """Every row of the sheet with what iterating makes of it; None for a blank one."""
        ids = _SeenIds()
        number = 0
        try:
            for row in self.sheet.rows():
                number = max(number, row.number)
                yield row, None if row.blank else self._item(self._opened(row), ids)
        except OSError as error:
            raise CasesError(f"{self.path} can't be read on: {error.strerror}") from None
        if not number:
            raise CasesError(f"{self.path.name} has no rows below its header")

    def count(self) -> int | None:
        """About how many rows there are, for showing progress; None where that would take long to say."""
        return self.sheet.count()

    def sha256(self) -> str:
        """The hash of the whole file, 64 hex digits."""
        try:
            with self.path.open("rb") as file:
                return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise CasesError(f"{self.path} can't be read: {error.strerror}") from None

    def _match(self, wanted: Mapping[str, Sequence[str]], mapping: Mapping[str, str]) -> ColumnMatch:
        """The column of each input; where columns alone will not do, the keys inside their cells count, too."""
        self._nested: dict[str, tuple[str, ...]] = {}
        try:
            return match_columns(wanted, self.columns, mapping, self.path.name)
        except (ColumnsError, UnknownName):
            keys = nested_keys(self.sheet)
            if not keys:
                raise
        match = match_columns(wanted, self.columns, mapping, self.path.name, list(keys))
        self._nested = {column: keys[column] for column in match.columns.values() if column in keys}
        return match

    def _opened(self, row: Row) -> Row:
        """The row with the nested keys that are inputs as cells of their own."""
        return replace(row, cells={**row.cells, **nested_cells(row, self._nested)}) if self._nested else row

    def _find_id_column(self) -> str | None:
        inputs = self.inputs.values()
        return next((name for name in ID_COLUMNS if name in self.columns and name not in inputs), None)

    def _item(self, row: Row, ids: "_SeenIds") -> Case | BadRow:
        reason = self._flaw(row)
        name, place = str(row.number), f"{self.sheet.unit} {row.line}"
        if self.id_column is not None:
            name = row.cells.get(self.id_column, "")
            usable = name.strip() and not flaw(name)
            if not usable or not ids.add(name):
                reason = reason or ("its id was another row's before" if usable else "it has no id")
                name = ids.stand_in(f"{self.path.name} {place}")
            elif self.pseudonyms:
                name = self.pseudonyms.of(name)
        if reason:
            return BadRow(name, row.number, self.path.name, place, reason, numbered=self.id_column is None)
        inputs = {wanted: row.cells[column] for wanted, column in self.inputs.items() if column in row.cells}
        own = {column: text for column, text in row.cells.items() if column not in self._used}
        metadata = dict.fromkeys(self.metadata, "") | own
        return Case(name, inputs, metadata, row.number, numbered=self.id_column is None)

    def _flaw(self, row: Row) -> str:
        """Why the row is no case, whatever its id; or nothing."""
        if row.problem:
            return row.problem
        for column, text in row.cells.items():
            if found := flaw(text):
                return f"its {shown(column)} holds {found}"
        for name, column in self.inputs.items():
            if column in row.bad_cells:
                return f"its {shown(column)} holds {row.bad_cells[column]}"
            if column not in row.cells and name not in self.optional:
                return f"the input {name} is missing: it has no {shown(column)}"
        return ""


class _SeenIds:
    """The ids seen so far, as 60-bit keyed hashes: a million take some 70 MB, and nobody can make two that collide."""

    def __init__(self) -> None:
        self._key = secrets.token_bytes(16)
        self._hashes: set[int] = set()

    def add(self, name: str) -> bool:
        """Whether the id is new."""
        digest = hashlib.blake2b(name.encode(), key=self._key, digest_size=8).digest()
        number = int.from_bytes(digest) >> 4
        if number in self._hashes:
            return False
        self._hashes.add(number)
        return True

    def stand_in(self, name: str) -> str:
        """A new id for a row that has none of its own."""
        while not self.add(name):
            name += "'"
        return name
