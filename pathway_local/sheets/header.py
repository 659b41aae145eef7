"""Finds the row of a sheet that names its columns, below titles, notes and headings of groups."""

from collections import Counter
from collections.abc import Iterable, Sequence

from pathway_local.errors import CasesError
from pathway_local.sheets.columns import folded, is_known

LOOKED_AT, FILLED = 1_000, 60
"""Rows by which the header is found, blank ones included, and those of them that hold anything."""

ENOUGH = 2**20
"""Characters of rows after which no further one is looked at."""

LONGEST, MOST_WORDS = 80, 12
"""Characters and words of the longest name of a column; what people put above a table may be longer."""

FEW = 0.5
"""A row that fills no more of the table's columns may be a title, a note or a heading of groups."""

ROWS_THAT_FILL = 3
"""A column is of the table if one of this many rows fills it: others hold stray cells."""


def looked_at(rows: Iterable[list[str]], least: int = 0) -> list[list[str]]:
    """Return the first rows, without empty cells at their ends: at least so many, and enough that hold anything."""
    found: list[list[str]] = []
    filled = size = 0
    for cells in rows:
        found.append(names_in(cells))
        filled += bool(found[-1])
        size += sum(map(len, cells))
        if len(found) >= LOOKED_AT or (len(found) >= least and (filled >= FILLED or size > ENOUGH)):
            break
    return found


def find_header(rows: Sequence[Sequence[str]], chosen: int | None, name: str) -> int | None:
    """Return the place of the header among a sheet's first rows; None if all are blank.

    It is the row that the user has `chosen`, counted from 1. Otherwise it is the first row that holds anything, unless
    that fills few of the table's columns, and the first row that fills more looks like a header: then it is this one.
    CasesError if the chosen row of the file `name` holds nothing.
    """
    filled = [place for place, cells in enumerate(rows) if _filled(cells)]
    if chosen:
        if chosen - 1 not in filled:
            said = f"{name}: row {chosen} holds nothing, so it can't name the columns"
            raise CasesError(said, "Name another --header-row.")
        return chosen - 1
    if not filled:
        return None
    table = _columns_of_table([rows[place] for place in filled])
    first = filled[0]
    place = next((at for at in filled if len(table & _filled(rows[at]).keys()) > FEW * len(table)), first)
    above = [at for at in filled if at < place]
    return place if not above or _looks_like_header(rows, place, table, above) else first


def header_note(row: int) -> str:
    """Return the note for users about a header below the first row that holds anything."""
    return f"the columns are named in row {row}, and the rows above it are left out (--header-row N names another row)"


def names_in(cells: Sequence[str]) -> list[str]:
    """Return the cells without empty ones behind the last."""
    return list(cells[: max(_filled(cells), default=-1) + 1])


def _filled(cells: Sequence[str]) -> dict[int, str]:
    """Return the cells that hold anything, without blanks around them, by their column."""
    return {column: cell.strip() for column, cell in enumerate(cells) if cell.strip()}


def _columns_of_table(rows: Sequence[Sequence[str]]) -> set[int]:
    """Return the columns that many of the wider rows fill."""
    filled = [_filled(cells) for cells in rows]
    wide = max(map(len, filled))
    wider = [cells for cells in filled if 2 * len(cells) > wide]
    counts = Counter(column for cells in wider for column in cells)
    return {column for column, count in counts.items() if ROWS_THAT_FILL * count >= len(wider)}


def _looks_like_header(rows: Sequence[Sequence[str]], place: int, table: set[int], above: Sequence[int]) -> bool:
    """Whether a row's cells are names: short texts, each once, that don't come again below as cells of data do.

    One of them must be a known name, or all rows above it be titles of a single cell.
    """
    names = _filled(rows[place])
    if not all(map(_is_short, names.values())) or len(set(map(folded, names.values()))) < len(names):
        return False
    titles = len(table) > 2 and all(len(_filled(rows[at])) == 1 for at in above)
    again = (below for below in map(_filled, rows[place + 1 :]) if not below.items() <= names.items())
    return (titles or any(map(is_known, names.values()))) and not any(
        below.get(column) == name for below in again for column, name in names.items()
    )


def _is_short(name: str) -> bool:
    return len(name) <= LONGEST and len(name.split()) <= MOST_WORDS and any(map(str.isalpha, name))
