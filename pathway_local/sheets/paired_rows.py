"""Two rows of a sheet as one row that compares their answers."""

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import Sheet
from pathway_local.sheets.row import Row, shown

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
        if twice := [name for name in ended if name in sheet.columns]:
            said = f"{self.path.name} has a column {shown(twice[0])}, which joined rows need"
            raise CasesError(said, "Rename it, or leave --pair-by out if each row holds both responses.")

    def rows(self) -> Iterator[Row]:
        """Yield a row for each pair in the place and with the number of its second row, then rows without a partner."""
        waiting: dict[str, Row] = {}
        paired: set[str] = set()
        for row in self.single.rows():
            key = row.cells.get(self.column, "")
            if row.blank or row.problem:
                yield row
            elif not key.strip():
                yield replace(row, problem=f"it has no {shown(self.column)}")
            elif key in paired:
                yield replace(row, problem=f"two rows before it have the same {shown(self.column)}")
            elif key in waiting:
                paired.add(key)
                yield self._pair(waiting.pop(key), row)
            else:
                waiting[key] = row
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
        given = set(columns)
        own = ({name, f"{name}{FIRST}", f"{name}{SECOND}"} for name in self._others)
        return set().union(*(each for each in own if each & given))

    def _pair(self, first: Row, second: Row) -> Row:
        cells, bad = self._ended(first.cells, second.cells), self._ended(first.bad_cells, second.bad_cells)
        kinds = self._ended(first.kinds or {}, second.kinds or {})
        bad |= {**first.bad_cells, **second.bad_cells}
        for name in (self.column, *self._others):
            if name in first.cells and first.cells[name] == second.cells.get(name):
                cells[name] = first.cells[name]
                kinds |= {name: second.kinds[name]} if second.kinds and name in second.kinds else {}
            elif name in first.cells or name in second.cells:
                bad.setdefault(name, "different texts in the two rows")
        own_kinds = None if first.kinds is None or second.kinds is None else kinds
        return Row(second.number, second.line, cells, bad_cells=bad, kinds=own_kinds)

    def _ended(self, first: Mapping[str, str], second: Mapping[str, str]) -> dict[str, str]:
        """Return what both rows have under names that say whose it is."""
        both = ((FIRST, first), (SECOND, second))
        return {f"{name}{end}": row[name] for end, row in both for name in self._others if name in row}
