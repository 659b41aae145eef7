"""Rows of a sheet, two by two: a file with a row for each answer as one with a row for each pair of answers."""

from collections.abc import Collection, Iterable, Iterator
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
