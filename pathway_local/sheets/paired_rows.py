"""Rows of a sheet, two by two: a file with a row for each answer as one with a row for each pair of answers."""

from collections.abc import Iterable, Iterator

from msgspec.structs import replace

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import Row, shown

FIRST, SECOND = "_a", "_b"
"""End the names of the columns that hold the cells of a pair's first row and of its second one."""


class PairedRows(Sheet):
    """Joins the two rows of a sheet that have the same cell in `column`; the one that stands first is A.

    A column `answer` becomes `answer_a` and `answer_b`; where both rows agree, `answer` has the cell, too. Rows wait in
    memory for their partner. A row without one, and a third row, are invalid.
    """

    def __init__(self, sheet: Sheet, column: str) -> None:
        self._sheet, self.column = sheet, column
        self.path, self.notes, self.title, self.unit = sheet.path, sheet.notes, sheet.title, sheet.unit
        self._others = [name for name in sheet.columns if name != column]
        ended = [f"{name}{end}" for end in (FIRST, SECOND) for name in self._others]
        self.columns = (column, *self._others, *ended)
        twice = [name for name in ended if name in sheet.columns]
        if twice:
            said = f"{self.path.name} has a column {shown(twice[0])}, which joined rows need"
            raise CasesError(said, "Rename it, or leave --pair-by out if each row holds both responses.")

    def rows(self) -> Iterator[Row]:
        """Yield a row for each pair when its second row comes, then those without a partner."""
        waiting: dict[str, Row] = {}
        paired: set[str] = set()
        number = 0
        for row in self._sheet.rows():
            key = row.cells.get(self.column, "")
            joined = self._joined(row, key, waiting, paired)
            if joined is not None:
                number += not row.blank
                yield replace(joined, number=0 if row.blank else number)
        for row in waiting.values():
            number += 1
            yield replace(row, number=number, problem=f"no second row has its {shown(self.column)}")

    def place(self, row: Row) -> str:
        """Return a row's place as the sheet itself names it."""
        return self._sheet.place(row)

    def count(self) -> int | None:
        """Return about half of the sheet's rows."""
        rows = self._sheet.count()
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
        return Row(0, second.line, cells, bad_cells=bad, record=second.record)
