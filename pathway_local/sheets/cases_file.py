"""Cases files: the rows of a sheet as cases, or two rows as one case that compares their answers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from msgspec.structs import replace

from pathway_local.case import BAD_ROW, DUPLICATE, BadRow, Case
from pathway_local.errors import CasesError, ColumnsError, UnknownName, UsageError
from pathway_local.sheets.columns import (
    has_column,
    is_known,
    is_row_of_texts,
    match_columns,
    means_the_same,
    names_of,
    no_column,
    same_column,
)
from pathway_local.sheets.kinds import Sheet, open_sheet
from pathway_local.sheets.nested_keys import ERROR_VALUE, NotText, nested_keys, text_in, with_nested
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import Row, flaw, shown

FIRST, SECOND = "_a", "_b"
"""End the names of the columns that hold the cells of a pair's first row and of its second one."""


T = TypeVar("T")


class PairedRows(Sheet):
    """Joins the two rows of a sheet that have the same cell in `column`; the one that stands first is A.

    A column `answer` becomes `answer_a` and `answer_b`; where both rows agree, `answer` has the cell, too. Rows wait in
    memory for their partner. A row without one, and a third row, are invalid.
    """

    def __init__(self, sheet: Sheet, column: str) -> None:
        self.single, self.column = sheet, column
        self.path, self.notes, self.unit = sheet.path, sheet.notes, sheet.unit
        self._others = [name for name in sheet.columns if name != column]
        ended = [f"{name}{end}" for end in (FIRST, SECOND) for name in self._others]
        self.columns = (column, *self._others, *ended)
        twice = [name for name in ended if name in sheet.columns]
        if twice:
            said = f"{self.path.name} has a column {shown(twice[0])}, which joined rows need"
            raise CasesError(said, "Rename it, or leave --pair-by out if each row holds both responses.")

    def rows(self) -> Iterator[Row]:
        """Yield a row for each pair in the place and with the number of its second row, then rows without a partner."""
        waiting: dict[str, Row] = {}
        paired: set[str] = set()
        for row in self.single.rows():
            joined = self._joined(row, row.cells.get(self.column, ""), waiting, paired)
            if joined is not None:
                yield joined
        for row in waiting.values():
            yield replace(row, problem=f"no second row has its {shown(self.column)}")

    def spread(self, found: Iterable[tuple[Row, T]]) -> Iterator[tuple[Row, str, T]]:
        """Yield the sheet's own rows with their side, and with what was found for the pair or for the row alone.

        `found` has these rows as `rows` yields them. The side is A, B, or empty for a row that is in no pair.
        """
        of_pair: dict[str, T] = {}
        of_row: dict[int, T] = {}
        for row, each in found:
            if row.blank or row.problem:
                of_row[row.line] = each
            else:
                of_pair[row.cells[self.column]] = each
        begun: set[str] = set()
        for row in self.single.rows():
            key = row.cells.get(self.column, "")
            if row.line in of_row:
                yield row, "", of_row[row.line]
            else:
                yield row, "B" if key in begun else "A", of_pair[key]
                begun.add(key)

    def place(self, row: Row) -> str:
        """Return a row's place as the sheet itself names it."""
        return self.single.place(row)

    def count(self) -> int | None:
        """Return about half of the sheet's rows."""
        rows = self.single.count()
        return None if rows is None else (rows + 1) // 2

    def forms(self, columns: Iterable[str]) -> set[str]:
        """Return all columns that hold the same of either row as one of these: they hold texts if it does."""
        found: set[str] = set()
        for name in self._others:
            own = {name, f"{name}{FIRST}", f"{name}{SECOND}"}
            found |= own if own & set(columns) else set()
        return found

    def _joined(self, row: Row, key: str, waiting: dict[str, Row], paired: set[str]) -> Row | None:
        """Return the pair that this row completes, or the row itself if it can't be paired; None if it waits."""
        if row.blank or row.problem:
            return row
        if not key.strip():
            return replace(row, problem=f"it has no {shown(self.column)}")
        if key in paired:
            return replace(row, problem=f"two rows before it have the same {shown(self.column)}")
        if key not in waiting:
            waiting[key] = row
            return None
        paired.add(key)
        return self._pair(waiting.pop(key), row)

    def _pair(self, first: Row, second: Row) -> Row:
        cells = {self.column: second.cells[self.column]}
        bad: dict[str, str] = {}
        for name in self._others:
            for end, row in ((FIRST, first), (SECOND, second)):
                if name in row.cells:
                    cells[f"{name}{end}"] = row.cells[name]
                if name in row.bad_cells:
                    bad |= {name: row.bad_cells[name], f"{name}{end}": row.bad_cells[name]}
            if name in first.cells and first.cells[name] == second.cells.get(name):
                cells[name] = first.cells[name]
            elif name in first.cells or name in second.cells:
                bad.setdefault(name, "different texts in the two rows")
        return Row(second.number, second.line, cells, bad_cells=bad, kinds=_kinds(first, second, cells))


def _kinds(first: Row, second: Row, cells: Collection[str]) -> dict[str, str] | None:
    if first.kinds is None or second.kinds is None:
        return None
    both = ((FIRST, first.kinds), (SECOND, second.kinds))
    ended = {f"{name}{end}": kind for end, kinds in both for name, kind in kinds.items()}
    return {name: kind for name, kind in {**second.kinds, **ended}.items() if name in cells}


SHORT = 40
"""Characters of the longest id that a message names."""

SHOWN_ROWS = 5
"""Rows whose numbers a remark names."""

JOINED = ("retrieved_content", "ideal_answer")
"""Inputs, also under other names, whose lists of texts are one text; of another's texts only the user knows which."""

NO_CASE, HEADER_AGAIN = "no case: the inputs are empty", "the header again"
"""What rows are that are left out: a total, a footer or a separator, or the sheet's header among its rows."""


class CasesFile:
    """A file of cases, or a sheet that a program holds; iterating reads it from the start, a row at a time.

    `needed` has the inputs of each rubric by its name, `mapping` the columns that the user gave for inputs,
    `optional` the inputs that the file or a row of it may lack, `conversations` those that may be lists of messages,
    `id_column` the column of the ids; without it, ids
    are read from a column named id or case_id, and a file without either has its rows numbered. `encoding` is the
    one that the user named; without it, it is found. With `pair_by`, two rows with the same cell in that column are
    one case, whose id this is. `header_row` is the row that the user named as the header; without it, it is found.
    `title` is the sheet of a workbook that the user named.

    Afterwards `inputs` has the column of each input (`score_rubric.criteria` is the key criteria of the objects in
    the column score_rubric), `aliases_used` the inputs found under another name, `id_column` the column of the ids
    (None: rows are numbered), `columns` all columns, `metadata` those that are neither inputs nor ids, and `notes`
    the other choices made, for people to read; `remarks` says which rows the last reading has left out.
    Raises CasesError if the file can't be read, ColumnsError if its columns don't match, UnknownName if `mapping` or
    `id_column` names a column or an input that does not exist.
    """

    def __init__(
        self,
        path: Path | Sheet,
        needed: Mapping[str, Sequence[str]],
        mapping: Mapping[str, str] | None = None,
        id_column: str | None = None,
        optional: Collection[str] = (),
        encoding: str = "",
        pair_by: str = "",
        header_row: int | None = None,
        title: str = "",
        conversations: Collection[str] = (),
    ) -> None:
        self.encoding, self.header_row, self.title = encoding, header_row, title
        self.pseudonyms: Pseudonyms | None = None
        self.sheet = self._source = path if isinstance(path, Sheet) else open_sheet(path, encoding, header_row, title)
        self.path, self.columns, given = self.sheet.path, self.sheet.columns, mapping or {}
        if self.sheet.header_row and not header_row and is_row_of_texts(self.columns):
            # A column that an option names is stored in the run, and this name may be a text of a case.
            said = f"{self.path.name} seems to have no header: its names are unknown, and some look like texts"
            raise CasesError(said, f"If row {self.sheet.header_row} names the columns, say so with --header-row.")
        self.pair_by = self.column(pair_by) if pair_by else ""
        if self.pair_by:
            self.sheet = PairedRows(self.sheet, self.pair_by)
            self.columns, id_column = self.sheet.columns, self.pair_by
        self.notes = self.sheet.notes
        self.optional, self._conversations = frozenset(optional), frozenset(conversations)
        absent = {name for name in optional if name not in given and not has_column(name, self.columns)}
        wanted = {rubric: [name for name in names if name not in absent] for rubric, names in needed.items()}
        self.inputs: Mapping[str, str] = self._match(wanted, given)
        self.aliases_used = {n: column for n, column in self.inputs.items() if n not in given and column != n}
        self.id_column = self._find_id_column() if id_column is None else self.column(id_column)
        self._texts_in = {self._nested.get(column, (column,))[0] for column in self.inputs.values()}
        if isinstance(self.sheet, PairedRows):
            self._texts_in |= self.sheet.forms(self.inputs.values())
        self._used = {self.id_column, *self.inputs.values(), *self._texts_in}
        self.metadata = tuple(column for column in self.columns if column not in self._used)
        self._left_out: dict[str, list[int]] = {}
        self._joins = {name for name in self.inputs if any(means_the_same(each, name) for each in JOINED)}

    def __iter__(self) -> Iterator[Case | BadRow]:
        """Yield every row as a case, or as a bad row with its reason; skip blank rows and those that are no cases.

        Raises CasesError if the file has no rows, or is damaged so that no further row can be read.
        """
        return (item for _, item in self.rows() if item is not None)

    def rows(self) -> Iterator[tuple[Row, Case | BadRow | None]]:
        """Yield every row of the sheet with its case or bad row; None for a row that is blank or no case."""
        seen: dict[str, str] = {}
        found = False
        self._left_out = {}
        try:
            for row in self.sheet.rows():
                what = "" if row.blank else self._no_case(row)
                if what:
                    self._left_out.setdefault(what, []).append(row.number)
                found |= not (row.blank or what)
                yield row, None if row.blank or what else self._item(row, seen)
        except OSError as error:
            raise CasesError(f"{self.path} can't be read to its end: {error.strerror}") from None
        if not found and self._left_out:
            said = f"{self.path.name} has no case: {'; '.join(self.remarks)}"
            raise CasesError(said, "Name the columns of the inputs with --map INPUT=COLUMN.")
        if not found:
            raise CasesError(f"{self.path.name} has no rows below its header")

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which rows the last reading has left out, for people to read."""
        return tuple(_left_out(what, rows) for what, rows in self._left_out.items())

    def _no_case(self, row: Row) -> str:
        """Return what a row is that is no case; "" if it is one, or may be.

        Only a sheet that people edit has such rows. One that holds a single input beside nothing is a footer in the
        input's column, unless the sheet has no other columns.
        """
        filled = {column: text for column, text in row.cells.items() if text.strip()} | dict(row.bad_cells)
        if not self._source.header_row or not self.inputs or not filled:
            return ""
        if len(filled) > 1 and all(text.strip() == column.strip() for column, text in filled.items()):
            return HEADER_AGAIN
        several, alone = len(self.inputs) > 1, len(filled) == 1 and len(self._source.columns) > 2
        has_input = bool(self._texts_in & filled.keys())
        return NO_CASE if (several and alone if has_input else several or alone) else ""

    def column(self, name: str) -> str:
        """Return the column of that name, in any spelling. Raises UnknownName."""
        if found := same_column(name, self.columns):
            return found
        raise no_column(name, self.columns, self.path.name)

    def metadata_column(self, name: str) -> str:
        """Return the column of metadata of that name. Raises UnknownName, and UsageError for one with ids or inputs."""
        column = self.column(name)
        if column not in self.metadata:
            what = "the column of the ids" if column == self.id_column else "an input of the rubric"
            raise UsageError(f"{shown(column)} is {what}", "Name a column such as chatbot or language.")
        return column

    def count(self) -> int | None:
        """Return the approximate number of rows, for showing progress; None if counting them would take long."""
        return self.sheet.count()

    def sha256(self) -> str:
        """Return the hash of the whole file, 64 hex digits."""
        return self._source.sha256()

    def _match(self, wanted: Mapping[str, Sequence[str]], mapping: Mapping[str, str]) -> dict[str, str]:
        """Return the column of each input. If the columns alone don't match, also look at keys inside cells."""
        self._nested: dict[str, tuple[str, ...]] = {}
        try:
            return match_columns(wanted, self.columns, mapping, self.path.name)
        except (ColumnsError, UnknownName) as error:
            keys = nested_keys(self.sheet, mapping.values())
            if not keys:
                if self.sheet.header_row and not any(map(is_known, self.columns)):
                    error.hint += " If another row names the columns, give --header-row N."
                if self._source.others:
                    error.hint += f" Other sheets: {', '.join(self._source.others)} (--sheet NAME)."
                raise
        found = match_columns(wanted, self.columns, mapping, self.path.name, list(keys))
        self._nested = {column: keys[column] for column in found.values() if column in keys}
        return found

    def _find_id_column(self) -> str | None:
        named = (same_column(name, self.columns) for name in names_of("ids"))
        return next((name for name in named if name and name not in self.inputs.values()), None)

    def _item(self, row: Row, seen: dict[str, str]) -> Case | BadRow:
        full = with_nested(row, self._nested) if self._nested else row
        inputs, reason = self._texts(full)
        name, place, kind = str(row.number), self.sheet.place(row), BAD_ROW
        if self.id_column is not None:
            name = row.cells.get(self.id_column, "")
            usable = name.strip() and not flaw(name)
            duplicate = name in seen
            if not usable or duplicate:
                if not reason:
                    reason, kind = (self._duplicate(name, seen[name]), DUPLICATE) if usable else ("it has no id", kind)
                # The run needs an id for a bad row, too; a real id may look like this stand-in.
                name = f"{self.path.name} {place}"
                while name in seen:
                    name += "'"
            seen[name] = place
            if usable and not duplicate and self.pseudonyms:
                name = self.pseudonyms.of(name)
        kinds = self._kinds(row, name)
        own = {column: _group(text) for column, text in row.cells.items() if column not in self._used}
        if reason:
            readable = {column: text for column, text in own.items() if not flaw(text)}
            return BadRow(name, row.number, self.path.name, place, reason, readable, kind, kinds)
        return Case(name, inputs, dict.fromkeys(self.metadata, "") | own, row.number, kinds)

    def _kinds(self, row: Row, id: str) -> dict[str, str] | None:
        """Return the kinds of the row's metadata, and under "" that of its id if the case has the sheet's own."""
        if row.kinds is None:
            return None
        kinds = {column: kind for column, kind in row.kinds.items() if column not in self._used}
        column = self.id_column or ""
        return kinds | {"": row.kinds[column]} if column in row.kinds and row.cells[column] == id else kinds

    def _duplicate(self, id: str, first: str) -> str:
        """Name the id, if it is short: the column of the ids may hold texts by mistake."""
        known = self.pseudonyms.of(id) if self.pseudonyms else id
        named = f" {known}" if len(known) <= SHORT and len(known.split()) == 1 and known.isprintable() else ""
        return f"duplicate id{named}: {first} already has it"

    def _texts(self, row: Row) -> tuple[dict[str, str], str]:
        """Return the row's inputs, and why it can't be a case, apart from its id; "" if it can."""
        if row.problem:
            return {}, row.problem
        for column, text in row.cells.items():
            if found := flaw(text):
                return {}, f"its {shown(column)} holds {found}"
        inputs: dict[str, str] = {}
        for name, column in self.inputs.items():
            if column in row.bad_cells:
                return {}, f"its {shown(column)} holds {row.bad_cells[column]}"
            if column in row.cells:
                try:
                    inputs[name] = self._text(row, column, name)
                except NotText as error:
                    return {}, f"its {shown(column)} {error}"
            elif name not in self.optional:
                return {}, f"the input {name} is missing: it has no {shown(column)}"
        return inputs, ""

    def _text(self, row: Row, column: str, name: str) -> str:
        if name in self._conversations:
            return row.cells[column]
        return text_in(row, column, name, typed=self._source.has_lists, joins=name in self._joins)


def _group(text: str) -> str:
    """Return a cell of metadata; an error value of a spreadsheet groups nothing."""
    return "" if ERROR_VALUE.fullmatch(text.strip()) else text


def _left_out(what: str, rows: Sequence[int]) -> str:
    """Return a remark that names the first rows."""
    first = [f"{number:,}" for number in rows[:SHOWN_ROWS]]
    more = f"{len(rows) - SHOWN_ROWS:,} more" if len(rows) > SHOWN_ROWS else first.pop()
    named = f"{', '.join(first)} and {more}" if first else more
    return f"rows {named} are left out, as {what}" if len(rows) > 1 else f"row {named} is left out, as {what}"
