"""Finds the row of a sheet that names its columns."""

from collections.abc import Sequence
from statistics import median_high

from pathway_local.errors import CasesError, UnclearHeader

LOOKED_AT = 100
"""Rows by which the header is judged."""


def find_header(rows: Sequence[Sequence[str]], chosen: int | None, name: str) -> int:
    """Return the place of the row that names the columns of the file `name`, among its first rows.

    It is the row that the user has `chosen`, counted from 1, else the first that holds anything. UnclearHeader if that
    fills half of the columns at most, as titles and notes do; CasesError if the row holds nothing.
    """
    filled = [sum(not cell.isspace() for cell in cells if cell) for cells in rows]
    if chosen:
        if not any(filled[chosen - 1 : chosen]):
            said = f"{name}: row {chosen} holds nothing, so it can't name the columns"
            raise CasesError(said, "Name another --header-row.")
        return chosen - 1
    first = next((place for place, cells in enumerate(filled) if cells), None)
    if first is None:
        raise CasesError(f"{name} has no header", "Name the columns in the first row.")
    usual = median_high(cells for cells in filled if cells)
    place = next(place for place, cells in enumerate(filled) if 2 * cells > usual)
    if place > first:
        said = f"{name}: row {first + 1} fills {filled[first]} of about {usual} columns, as a title does"
        raise UnclearHeader(said, place + 1)
    return first


def names_in(cells: Sequence[str]) -> list[str]:
    """Return the cells of a header without empty ones behind the last."""
    return list(cells[: max((place for place, cell in enumerate(cells, 1) if cell.strip()), default=0)])
