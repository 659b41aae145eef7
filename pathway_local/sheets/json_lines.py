"""JSONL files as rows, one JSON object on each line, and JSON files with one list of such objects."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import msgspec

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import NewCells, Sheet, SheetKind
from pathway_local.sheets.lines import Lines, RowTooLong, count_lines, find_encoding, own_text
from pathway_local.sheets.row import (
    COLUMN_LIMIT,
    ROW_LIMIT,
    CellValue,
    Row,
    cell_kind,
    column_names,
    flaw,
    has_surrogates,
    json_text,
    refuse_columns,
)

SAMPLE_LINES = 1_000
SAMPLE_SIZE = 8 * 2**20
WHOLE_LIMIT = 512 * 2**20
"""Bytes of a JSON list, which is held in memory as a whole."""

_LIST_HINT = 'The file must be one list of objects: [{"question": "…"}, …], or JSONL.'


class JsonLinesSheet(Sheet):
    """A JSONL file. Its columns are the keys of its first 1,000 lines; a row has a cell for each of its own keys."""

    unit = "line"
    has_lists = True

    def __init__(self, path: Path, encoding: str = "") -> None:
        self.path = path
        self.encoding = find_encoding(path, header=False, chosen=encoding)
        self.notes = self.encoding.notes(path)
        self.columns = column_names(path, self._keys())

    def rows(self) -> Iterator[Row]:
        """Yield every line; blank ones are blank rows."""
        # Lines end at line feeds alone: a carriage return may stand between the parts of one JSON object.
        with Lines(self.path, self.encoding, newline="\n") as lines:
            while True:
                start = lines.begin()
                problem = ""
                try:
                    line = next(lines)
                except StopIteration:
                    return
                except RowTooLong:
                    line, problem = "-", f"it has more than {ROW_LIMIT:,} characters"
                yield self._row(line, start, problem, lines.row)

    def count(self) -> int | None:
        """Return the number of lines that are not blank; None for a large file."""
        return count_lines(self.path, self.encoding, quotes=False)

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write every line as it is, with the new keys before its closing brace."""
        file.write(self.encoding.of_copies.mark)
        for row, cells in rows:
            text = own_text(self.path, row)
            if cells is not None and not row.problem:
                # The columns are the keys of the first lines, so a later line may still have one of the new names.
                refuse_columns(self.path, columns, row.cells)
                # The new keys go before the last character, the closing brace: the user's part keeps every byte.
                body, added = text.rstrip(), json_text(dict(zip(columns, cells, strict=True)))[1:]
                text = f"{body[:-1]}{', ' if row.cells and cells else ''}{added}{text[len(body) :]}"
            file.write(self.encoding.of_copies.encode(text))
        return 0

    def _row(self, line: str, number: int, problem: str, raw: str | None) -> Row:
        if problem or not line.strip():
            return Row(number, number, problem=problem, raw=raw, blank=not problem)
        if has_surrogates(line):
            return Row(number, number, problem=f"it has bytes that are not {self.encoding.name}", raw=raw)
        try:
            cells, kinds = _cells(line)
            return Row(number, number, cells, raw=raw, kinds=kinds)
        except _NotCells as error:
            return Row(number, number, problem=str(error), raw=raw)

    def _keys(self) -> list[str]:
        keys: dict[str, None] = {}
        size = 0
        for row in self.rows():
            keys.update(dict.fromkeys(row.cells))
            size += len(row.raw or "")
            if row.number >= SAMPLE_LINES or size > SAMPLE_SIZE or len(keys) > COLUMN_LIMIT:
                break
        if not keys:
            raise CasesError(
                f"{self.path.name} has no JSON object in its first lines",
                'Write one JSON object on each line, such as {"question": "…"}.',
            )
        return list(keys)


class JsonListSheet(JsonLinesSheet):
    """A JSON file with a list of objects. The whole file is held in memory, so a large one should be JSONL."""

    unit = "item"

    def rows(self) -> Iterator[Row]:
        """Yield every item of the list. CasesError if the file is no list, or too large."""
        if self.path.stat().st_size > WHOLE_LIMIT:
            raise CasesError(f"{self.path.name} is too large to be read as one JSON list", "Save it as JSONL.")
        with self.path.open(encoding=self.encoding.codec, errors=self.encoding.errors) as file:
            text = file.read().removeprefix("\ufeff").encode("utf-8", "surrogateescape")
        try:
            items = msgspec.json.decode(text, type=list[msgspec.Raw])
        except msgspec.ValidationError:
            raise CasesError(f"{self.path.name} is not a list of rows", _LIST_HINT) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise CasesError(f"{self.path.name} is broken JSON: {error}", _LIST_HINT) from None
        for number, item in enumerate(items, 1):
            problem = f"it has more than {ROW_LIMIT:,} characters" if len(bytes(item)) > 4 * ROW_LIMIT else ""
            yield self._row(bytes(item).decode("utf-8", "surrogateescape"), number, problem, None)

    def count(self) -> int | None:
        """Return None: only reading the items would tell."""
        return None


class _NotCells(Exception):
    """A line can't be read as cells; the message says why and never quotes the line."""


def _cells(line: str) -> tuple[dict[str, str], dict[str, str]]:
    """Return the texts and the kinds of a line's cells. Raises _NotCells."""
    try:
        found = json.loads(line.rstrip(), object_pairs_hook=_object, parse_constant=_no_number)
        if not isinstance(found, dict):
            raise _NotCells("it is not a JSON object")
        cells = {key: _text(value) for key, value in found.items()}
    except json.JSONDecodeError as error:
        raise _NotCells(f"broken JSON at character {error.pos + 1:,}: {error.msg}") from None
    except RecursionError:
        raise _NotCells("its JSON is nested too deeply") from None
    except ValueError:
        raise _NotCells("it has a number too large to keep") from None
    if len(cells) > COLUMN_LIMIT:
        raise _NotCells(f"it has {len(cells):,} keys, over the limit of {COLUMN_LIMIT:,}")
    if any(flaw(key) or not key.strip() for key in cells):
        raise _NotCells("it has a key that can't be a column's name")
    return cells, {key: kind for key, value in found.items() if (kind := cell_kind(value))}


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotCells("a JSON object in it has the same key twice")
    return found


def _no_number(_: str) -> NoReturn:
    raise _NotCells("broken JSON: NaN and Infinity are not JSON numbers")


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _write(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]]) -> int:
    for row in rows:
        file.write(json_text({column: row.get(column) for column in columns}).encode() + b"\n")
    return 0


def _write_list(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]]) -> int:
    before = "[\n"
    for row in rows:
        file.write((before + json_text({column: row.get(column) for column in columns})).encode())
        before = ",\n"
    file.write(b"[]\n" if before.startswith("[") else b"\n]\n")
    return 0


JSON_LIST = SheetKind(JsonListSheet, _write_list, encodings=True)
JSON_LINES = SheetKind(JsonLinesSheet, _write, JsonLinesSheet.copy, encodings=True)
