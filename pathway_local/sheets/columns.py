"""Finds the row of a sheet that names its columns, and the column that holds each input, by its name alone."""

import re
import shlex
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from operator import eq
from pathlib import Path
from statistics import median_high
from typing import Any

from pathway_local.errors import CasesError, ColumnsError, UnclearHeader, UnknownName
from pathway_local.sheets.row import is_like_a_name, shown
from pathway_local.system.safe_yaml import load_ours

NAMES_FILE = Path(__file__).with_name("column_names.yaml")
_COMBINING = re.compile("[\u0300-\u036f]")

SHOWN_COLUMNS = 40

LOOKED_AT = 100
"""Rows by which the header is judged."""


Choices = Mapping[str, Sequence[str]]
"""Inputs without a column of their own, each with the columns between which no name decides."""


def match(
    columns: Sequence[str], wanted: Mapping[str, Sequence[str]], mapping: Mapping[str, str]
) -> tuple[dict[str, str], Choices]:
    """Return the column of each input that has one, and the choices of others; `wanted` has the inputs of each rubric.

    `mapping` has the columns that the user chose. Any other input takes the only column with its name; else the only
    one whose name differs just in case, accents, spaces, dashes and underscores; else the only one whose name means the
    same. An input has the same column in all rubrics. In each of these rounds it looks at the columns that its rivals,
    the other inputs of its rubrics, had before: so the result does not depend on the order of inputs.
    """
    rivals = _rivals(wanted)
    found = {name: mapping[name] for name in rivals if name in mapping}
    unclear: dict[str, list[str]] = {}
    for fits in (eq, _is_spelled_alike, means_the_same):
        fitting = {
            name: [each for each in columns if fits(name, each) and each not in map(found.get, others)]
            for name, others in rivals.items()
            if name not in found and name not in unclear
        }
        found |= {name: each[0] for name, each in fitting.items() if len(each) == 1}
        unclear |= {name: each for name, each in fitting.items() if len(each) > 1}
    return {name: found[name] for name in rivals if name in found}, unclear


def match_all(
    columns: Sequence[str],
    wanted: Mapping[str, Sequence[str]],
    mapping: Mapping[str, str],
    source: str,
    keys: Collection[str] = (),
) -> dict[str, str]:
    """Return the column of each input, as `match` does.

    `keys` are the dotted names of what lies inside cells. Raises ColumnsError, with `source` as the file's name, if an
    input has no column or shares one with a rival, and UnknownName if `mapping` names an input or a column that does
    not exist.
    """
    rivals, chosen = _rivals(wanted), dict[str, str]()
    for name, given in mapping.items():
        chosen[name] = same_column(given, columns) or given
        if name not in rivals:
            raise UnknownName("input", name, rivals)
        if chosen[name] not in (*columns, *keys):
            raise no_column(given, columns, source)
    found, unclear = match(columns, wanted, chosen)
    needs = "; ".join(f"{rubric} needs {', '.join(names)}" for rubric, names in wanted.items())
    there = f"{needs}; the file has {', '.join(listed(columns))}."
    for name, column in found.items():
        for rival in rivals[name]:
            if found.get(rival) == column:
                said = f"{name} and {rival} would both be read from the column {shown(column)}"
                hint = f"Give each its column: --map {name}=COLUMN --map {rival}=COLUMN. {there}"
                raise ColumnsError(f"{source}: {said}", hint)
    if missing := [name for name in rivals if name not in found]:
        free = [column for column in columns if column not in found.values()]
        lacks = "; ".join(_lack(name, unclear.get(name, ())) for name in missing)
        maps = " ".join(_map_option(name, unclear.get(name, ())) for name in missing)
        may_be = {name: unclear.get(name, free) for name in missing}
        raise ColumnsError(f"{source}: {lacks}", f"For example: {maps}. {there}", may_be)
    return found


def columns_present(inputs: Sequence[str], found: Sequence[str], mapping: Mapping[str, str]) -> dict[str, str]:
    """Return the column of each input that has one among those `found`; leave out inputs that would share one.

    An input in `mapping` has its column there or none: another column of its name is another text.
    """
    given = {name: same_column(column, found) or "" for name, column in mapping.items() if name in inputs}
    matched, _ = match(found, {"": inputs}, given)
    columns = list(matched.values())
    return {name: column for name, column in matched.items() if column and columns.count(column) == 1}


def _rivals(wanted: Mapping[str, Sequence[str]]) -> dict[str, list[str]]:
    """Return the other inputs of the rubrics that need each input."""
    rivals: dict[str, list[str]] = {}
    for names in wanted.values():
        for name in names:
            rivals.setdefault(name, []).extend(other for other in names if other != name)
    return rivals


def _lack(name: str, choices: Sequence[str]) -> str:
    return f"{name} could be in {' or '.join(map(shown, choices))}" if choices else f"no column for {name}"


def _map_option(name: str, choices: Sequence[str]) -> str:
    """Return an option with the first column that may be the input's and can be shown."""
    column = next((each for each in choices if shown(each) == each), "COLUMN")
    return f"--map {shlex.quote(f'{name}={column}')}"


def no_column(name: str, columns: Sequence[str], source: str) -> UnknownName:
    """Return the error for a column that the file `source` lacks; its hint lists the columns, nearest names first."""
    return UnknownName("column", name, listed(columns, near=name), f"These are the columns of {source}")


def listed(columns: Sequence[str], *, near: str = "") -> list[str]:
    """Return the columns' names for a message, nearest to `near` first; names that look like texts are hidden."""
    if is_row_of_texts(columns):
        return [f"({len(columns):,} columns that look like texts: is the header missing?)"]
    first = get_close_matches(near, columns, n=SHOWN_COLUMNS, cutoff=0.5)
    ordered = [*first, *(name for name in columns if name not in first)]
    more = [f"and {len(ordered) - SHOWN_COLUMNS:,} more columns"] if len(ordered) > SHOWN_COLUMNS else []
    return [*map(shown, ordered[:SHOWN_COLUMNS]), *more]


def is_row_of_texts(columns: Sequence[str]) -> bool:
    """Whether a header may be a row of cells: none of its names is known, and some look like texts."""
    return not any(map(is_known, columns)) and not all(map(is_like_a_name, columns))


def same_column(name: str, columns: Sequence[str]) -> str | None:
    """Return the column of that name, else the only one in another spelling (`Chatbot` for `chatbot`), else None."""
    alike = [name] if name in columns else [column for column in columns if _is_spelled_alike(name, column)]
    return alike[0] if len(alike) == 1 else None


def input_of(name: str) -> str:
    """Return the first name of the inputs that mean the same as this one; the name itself if the table lacks it."""
    inputs: dict[str, tuple[str, ...]] = _names()["inputs"]
    return next((first for first, group in inputs.items() if folded(name) in group), name)


def is_known(name: str) -> bool:
    """Whether the table of names has it, for an input or any other kind of column but chatbots."""
    return folded(name) in _names()["known"]


def names_of(kind: str) -> tuple[str, ...]:
    """Return the folded names of a kind of column: ids, number, raters, scores, replies, notes or chatbots."""
    names: tuple[str, ...] = _names()[kind]
    return names


@cache
def _names() -> dict[str, Any]:
    """Return the folded names of column_names.yaml: a tuple for each kind, and under `inputs` one for each input."""
    read = load_ours(NAMES_FILE)

    def flat(languages: Sequence[Sequence[str]]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(folded(name) for names in languages for name in names))

    inputs = {name: flat(languages) for name, languages in read.pop("inputs").items()}
    for name, end in (("response_a", "a"), ("response_b", "b")):  # as in KI-Antwort_a
        inputs[name] = tuple(dict.fromkeys((*inputs[name], *(f"{alias}{end}" for alias in inputs["answer"]))))
    kinds = {kind: flat(languages) for kind, languages in read.items()}
    others = (names for kind, names in kinds.items() if kind != "chatbots")
    return {"inputs": inputs, "known": frozenset().union(*inputs.values(), *others)} | kinds


def _is_spelled_alike(name: str, column: str) -> bool:
    return folded(column) == folded(name)


def means_the_same(name: str, column: str) -> bool:
    """Whether a column's name means the same as an input's."""
    return folded(column) == folded(name) or input_of(column) == input_of(name)


def folded(name: str) -> str:
    """Return the name without case, accents, blanks, dashes and underscores: names that differ only there are alike."""
    bare = _COMBINING.sub("", unicodedata.normalize("NFKD", name.casefold()))
    return "".join(bare.split()).replace("-", "").replace("_", "")


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
