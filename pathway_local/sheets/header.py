"""Finds the row of a sheet that names its columns, below titles, notes and headings of groups."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pathway_local.errors import CasesError
from pathway_local.sheets.columns import folded, is_known

LOOKED_AT = 60
"""Rows with any cell by which the header is found; a sheet with more above its header needs to be told."""

ENOUGH = 2**20
"""Characters of rows after which no further one is looked at."""

LONGEST, MOST_WORDS = 80, 12
"""Characters and words of the longest name of a column; what people put above a table may be longer."""

FEW = 0.5
"""A row that fills no more of the table's columns may be a title, a note or a heading of groups."""

ROWS_THAT_FILL = 3
"""A column is of the table if one of this many rows fills it: others hold stray cells."""


@dataclass(frozen=True, slots=True)
class Header:
    """The header's place among the rows looked at, the names of the columns, and how surely they are names."""

    place: int
    names: tuple[str, ...]
    score: float


def looked_at(rows: Iterable[Sequence[str]], least: int = 0) -> list[Sequence[str]]:
    """Return the first rows, blank ones included: at least so many, and until enough of them have been seen."""
    found: list[Sequence[str]] = []
    filled = size = 0
    for cells in rows:
        found.append(cells)
        filled += not is_blank(cells)
        size += sum(map(len, cells))
        if len(found) >= least and (filled >= LOOKED_AT or size > ENOUGH):
            break
    return found


def find_header(rows: Sequence[Sequence[str]]) -> Header | None:
    """Return the header among a sheet's first rows; None if all are blank.

    It is the first row that holds anything, unless a later one looks like a header, has more known names of columns or
    a wider row, and stands below rows that can't be rows of the table. Without any known name, a later one is taken
    only below rows of a single cell.
    """
    filled = [place for place, cells in enumerate(rows) if not is_blank(cells)]
    if not filled:
        return None
    table = _columns_of_table([rows[place] for place in filled])
    first = _header(rows, filled[0], table)
    if len(table) < 2:
        return first
    candidates = [
        _header(rows, place, table)
        for at, place in enumerate(filled[1:-1], 1)
        if _may_be_header(rows, place, table) and all(_may_be_above(rows, each, place, table) for each in filled[:at])
    ]
    best = max(candidates, key=lambda each: each.score, default=first)
    known, first_known = (sum(map(is_known, each.names)) for each in (best, first))
    above = [place for place in filled if place < best.place]
    below_titles = len(table) > 2 and all(len(_filled(rows[place])) == 1 for place in above)
    thin = _share(rows[first.place], table) <= FEW and (known or below_titles)
    return best if best.score > first.score and (thin or known > first_known) else first


def header_note(row: int) -> str:
    """Return the note for users about a header below the first row that holds anything."""
    return f"the columns are named in row {row}, and the rows above it are left out (--header-row N names another row)"


def named_header(rows: Sequence[Sequence[str]], row: int, name: str) -> Header:
    """Return the header in the row of the file `name` that the user chose, from 1. CasesError if it holds nothing."""
    if row > len(rows) or is_blank(rows[row - 1]):
        raise CasesError(f"{name}: row {row} holds nothing, so it can't name the columns", "Name another --header-row.")
    return _header(rows, row - 1, _columns_of_table([cells for cells in rows[row - 1 :] if not is_blank(cells)]))


def is_blank(cells: Sequence[str]) -> bool:
    """Whether a row holds nothing."""
    return not any(map(str.strip, cells))


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


def _header(rows: Sequence[Sequence[str]], place: int, table: set[int]) -> Header:
    """Return the header in a row; a column without a name has a known one from just above, as merged cells leave it."""
    names = list(rows[place])
    above = rows[place - 1] if place else ()
    if len(_filled(above)) > 1:
        names += [""] * (len(above) - len(names))
        for column, name in _filled(above).items():
            if column in table and not names[column].strip() and is_known(name):
                names[column] = name
    while names and not names[-1].strip():
        names.pop()
    known = sum(is_known(name) for name in names)
    return Header(place, tuple(names), _share(names, table) + known / max(len(table), 1))


def _may_be_header(rows: Sequence[Sequence[str]], place: int, table: set[int]) -> bool:
    """Whether a row's cells are names: short texts, each once, that don't come again below as cells of data do."""
    names = _filled(rows[place])
    if not all(map(_is_short, names.values())) or len(set(map(folded, names.values()))) < len(names):
        return False
    if _share(_header(rows, place, table).names, table) <= FEW:
        return False
    again = (below for below in map(_filled, rows[place + 1 :]) if below != names)
    return not any(below.get(column) == name for below in again for column, name in names.items())


def _may_be_above(rows: Sequence[Sequence[str]], place: int, header: int, table: set[int]) -> bool:
    """Whether a row can stand above the header, so that no row of data and no other header is left out with it.

    It fills at most half of the table, or repeats a heading of groups, or is the upper half of a header: the lower half
    shares names with it, as merged cells leave them, and names the columns right of its groups.
    """
    cells, below = _filled(rows[place]), _filled(rows[header])
    if _share(rows[place], table) <= FEW or len(set(cells.values())) < len(cells):
        return True
    shares = any(below.get(column, name) == name for column, name in cells.items())
    names_groups = any(column in below and column - 1 in cells and column not in cells for column in table)
    return place == header - 1 and shares and names_groups


def _is_short(name: str) -> bool:
    return len(name) <= LONGEST and len(name.split()) <= MOST_WORDS and any(map(str.isalpha, name))


def _share(cells: Sequence[str], table: set[int]) -> float:
    """Return the share of the table's columns in which this row has a cell."""
    return len(table & _filled(cells).keys()) / max(len(table), 1)
