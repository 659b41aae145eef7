"""Cases files: the rows of a sheet as cases."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path

from pathway_local.case import BAD_ROW, DUPLICATE, BadRow, Case
from pathway_local.errors import CasesError, ColumnsError, UnknownName, UsageError
from pathway_local.sheets.columns import (
    folded,
    is_known,
    is_row_of_texts,
    match_all,
    means_the_same,
    names_of,
    no_column,
    same_column,
)
from pathway_local.sheets.kinds import Sheet, open_sheet
from pathway_local.sheets.nested_keys import ERROR_VALUE, NotText, nested_keys, text_in, with_nested
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import Row, flaw, shown

SHORT = 40
"""Characters of the longest id that a message names."""

SHOWN_ROWS = 5
"""Rows whose numbers a remark names."""

JOINED = ("retrieved_content", "ideal_answer")
"""Inputs, also under other names, whose lists of texts are one text; of another's texts only the user knows which."""

_LINE = frozenset("-–—=_*: ")
_TOTALS = frozenset(("total", "totals", "sum", "summe", "gesamt", "gesamtsumme", "somme", "suma", "soma"))
"""Words for a total in five languages. None names a chatbot: the row of one that said nothing must fail."""


class CasesFile:
    """A sheet of cases; iterating reads it from the start, a row at a time.

    `needed` has the inputs of each rubric by its name, `mapping` the columns that the user gave for inputs,
    `optional` the inputs that the file or a row of it may lack, `conversations` those that may be lists of messages,
    `id_column` the column of the ids; without it, one named id or case_id, and a file without either is numbered.

    Afterwards `inputs` has the column of each input (`rubric.criteria` is the key criteria of the objects in the column
    rubric), `aliases_used` the inputs found under another name, `id_column` the column of the ids
    (None: rows are numbered), `columns` all columns, `metadata` those that are neither inputs nor ids, and `notes`
    the other choices made, for people to read; `remarks` says which rows the last reading has left out.
    Raises CasesError if the file can't be read, ColumnsError if its columns don't match, UnknownName if `mapping` or
    `id_column` names a column or an input that does not exist.
    """

    def __init__(
        self,
        sheet: Path | Sheet,
        needed: Mapping[str, Sequence[str]],
        mapping: Mapping[str, str] | None = None,
        id_column: str | None = None,
        optional: Collection[str] = (),
        conversations: Collection[str] = (),
    ) -> None:
        self.sheet = sheet if isinstance(sheet, Sheet) else open_sheet(sheet)
        self.path, self.columns, self.notes = self.sheet.path, self.sheet.columns, self.sheet.notes
        if self.sheet.header_row and "header_row" not in self.sheet.told and is_row_of_texts(self.columns):
            # A column that an option names is stored in the run, and this name may be a text of a case.
            said = f"{self.path.name} seems to have no header: its names are unknown, and some look like texts"
            raise CasesError(said, f"If row {self.sheet.header_row} names the columns, say so with --header-row.")
        self.pseudonyms: Pseudonyms | None = None
        self.optional, self._conversations = frozenset(optional), frozenset(conversations)
        self.inputs: Mapping[str, str] = self._match(needed, mapping or {})
        self.aliases_used = {n: column for n, column in self.inputs.items() if n not in (mapping or {}) and column != n}
        self.id_column = self._find_id_column() if id_column is None else self.column(id_column)
        self._texts_in = {self._nested.get(column, (column,))[0] for column in self.inputs.values()}
        self._used = {self.id_column, *self.inputs.values(), *self._texts_in}
        self.metadata = tuple(column for column in self.columns if column not in self._used)
        self._left_out: list[int] = []
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
        self._left_out = []
        try:
            for row in self.sheet.rows():
                if row.blank or self._is_no_case(row):
                    self._left_out += [] if row.blank else [row.number]
                    yield row, None
                else:
                    found = True
                    yield row, self._item(row, seen)
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
        if not self._left_out:
            return ()
        more = len(self._left_out) - SHOWN_ROWS
        *told, last = [*map(str, self._left_out[:SHOWN_ROWS]), *([f"{more:,} more"] if more > 0 else [])]
        named = f"rows {', '.join(told)} and {last} are no cases" if told else f"row {last} is no case"
        return (f"{named}, but a total, a footer, a line or the header again: left out",)

    def _is_no_case(self, row: Row) -> bool:
        """Whether a row is a total, a footer, a line of dashes or the header again, as in sheets that people edit.

        One that holds a single input beside nothing is a footer in the input's column, unless the sheet has no other
        columns.
        """
        filled = {column: text for column, text in row.cells.items() if text.strip()} | dict(row.bad_cells)
        if not self.sheet.header_row or not self.inputs or not filled:
            return False
        is_header = all(folded(text) == folded(column) for column, text in filled.items())
        if len(filled) > 1 and (is_header or _LINE.issuperset("".join(filled.values()))):
            return True
        several, alone = len(self.inputs) > 1, len(filled) == 1 and len(self.sheet.columns) > 2
        if self._texts_in & filled.keys():
            return several and alone
        name, *others = filled.values()
        is_total = folded(name).strip(":") in _TOTALS and not any(map(str.isalpha, "".join(others)))
        return several or alone or is_total

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
        if holds := self.sheet.unkept.get(column):
            raise UsageError(f"{shown(column)} holds {holds}", "Convert it to texts or numbers, or don't keep it.")
        return column

    def _match(self, needed: Mapping[str, Sequence[str]], given: Mapping[str, str]) -> dict[str, str]:
        """Return the column of each input, or the dotted name that the user gave of a key inside its cells."""
        there = {*map(folded, self.columns)}
        absent = {name for name in self.optional if name not in given and folded(name) not in there}
        wanted = {rubric: [name for name in names if name not in absent] for rubric, names in needed.items()}
        self._nested = nested_keys(self.sheet, given.values())
        try:
            return match_all(self.columns, wanted, given, self.path.name, self._nested)
        except (ColumnsError, UnknownName) as error:
            if self.sheet.header_row and not any(map(is_known, self.columns)):
                error.hint += " If another row names the columns, give --header-row N."
            if self.sheet.others:
                error.hint += f" Other sheets: {', '.join(self.sheet.others)} (--sheet NAME)."
            raise

    def _find_id_column(self) -> str | None:
        named = (same_column(name, self.columns) for name in (self.sheet.own_id, *names_of("ids")) if name)
        return next((name for name in named if name and name not in self.inputs.values()), None)

    def _item(self, row: Row, seen: dict[str, str]) -> Case | BadRow:
        full = with_nested(row, self._nested) if self._nested else row
        inputs, reason = self._texts(full)
        name, place, kind = str(row.number), row.place, BAD_ROW
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
        own = {column: text for column, text in row.cells.items() if column not in self._used}
        # An error value of a spreadsheet groups nothing.
        own = {column: "" if ERROR_VALUE.fullmatch(text.strip()) else text for column, text in own.items()}
        if reason:
            readable = {column: text for column, text in own.items() if not flaw(text)}
            return BadRow(name, row.number, self.path.name, place, reason, readable, kind)
        return Case(name, inputs, dict.fromkeys(self.metadata, "") | own, row.number)

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
        return text_in(row, column, name, typed=self.sheet.typed, joins=name in self._joins)
