"""JSONL files as rows, one JSON object on each line, and JSON files with one list of such objects."""

import json
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO, NoReturn

import msgspec
from msgspec.structs import replace

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import NewCells, Page, Sheet, SheetKind
from pathway_local.sheets.lines import Lines, RowTooLong, find_encoding, not_text, own_text
from pathway_local.sheets.row import COLUMN_LIMIT, ROW_LIMIT, Row, column_names, json_text, refuse_columns, typed_row

SAMPLE_LINES = 1_000
SAMPLE_SIZE = 8 * 2**20
WHOLE_LIMIT = 512 * 2**20
"""Bytes of a JSON list, which is held in memory as a whole."""

_LIST_HINT = 'The file must be one list of objects: [{"question": "…"}, …], or JSONL.'


class JsonLinesSheet(Sheet):
    """A JSONL file. Its columns are the keys of its first 1,000 lines; a row has a cell for each of its own keys."""

    typed = True

    def __init__(self, path: Path, encoding: str = "") -> None:
        self.path = path
        self.encoding = find_encoding(path, encoding)
        self.notes = self.encoding.notes
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
                yield replace(_row(line, start, f"line {start}", problem), raw=lines.row)

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write every line as it is, with the new keys before its closing brace."""
        encoding = self.encoding.of_copies
        file.write(encoding.beginning())
        for row, cells in rows:
            text = own_text(self.path, row)
            if cells is not None and not row.problem:
                # The columns are the keys of the first lines, so a later line may still have one of the new names.
                refuse_columns(self.path, columns, row.cells)
                # The new keys go before the last character, the closing brace: the user's part keeps every byte.
                body, added = text.rstrip(), json_text(dict(zip(columns, cells, strict=True)))[1:]
                text = f"{body[:-1]}{', ' if row.cells and cells else ''}{added}{text[len(body) :]}"
            file.write(text.encode(encoding.codec))
        return 0

    def _keys(self) -> list[str]:
        keys: dict[str, None] = {}
        size = 0
        for row in self.rows():
            keys.update(dict.fromkeys(row.cells))
            size += sum(map(len, row.cells.values()))
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

    def rows(self) -> Iterator[Row]:
        """Yield every item of the list. CasesError if the file is no list, or too large."""
        if self.path.stat().st_size > WHOLE_LIMIT:
            raise CasesError(f"{self.path.name} is too large to be read as one JSON list", "Save it as JSONL.")
        data = self.path.read_bytes()
        try:
            text = data.decode(self.encoding.codec).removeprefix("\ufeff")
            items = msgspec.json.decode(text.encode("utf-8", "surrogatepass"), type=list[msgspec.Raw])
        except UnicodeDecodeError as error:
            raise not_text(self.path, self.encoding, data.count(b"\n", 0, error.start)) from None
        except msgspec.ValidationError:
            raise CasesError(f"{self.path.name} is not a list of rows", _LIST_HINT) from None
        except (msgspec.DecodeError, RecursionError) as error:
            raise CasesError(f"{self.path.name} is broken JSON: {error}", _LIST_HINT) from None
        for number, item in enumerate(items, 1):
            problem = f"it has more than {ROW_LIMIT:,} characters" if len(bytes(item)) > 4 * ROW_LIMIT else ""
            yield _row(bytes(item).decode(), number, f"item {number}", problem)


class _NotCells(Exception):
    """A line can't be read as cells; the message says why and never quotes the line."""


def _row(line: str, number: int, place: str, problem: str) -> Row:
    if problem or not line.strip():
        return Row(number, place, problem=problem, blank=not problem)
    try:
        found = json.loads(line.rstrip(), object_pairs_hook=_object, parse_float=_finite, parse_constant=_no_number)
    except _NotCells as error:
        problem = str(error)
    except json.JSONDecodeError as error:
        problem = f"broken JSON at character {error.pos + 1:,}: {error.msg}"
    except ValueError:
        problem = "it has a number too large to keep"
    except RecursionError:
        problem = "its JSON is nested too deeply"
    else:
        if isinstance(found, dict):
            return typed_row(number, place, found)
        problem = "it is not a JSON object"
    return Row(number, place, problem=problem)


def _object(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise _NotCells("a JSON object in it has the same key twice")
    return found


def _finite(text: str) -> float:
    if math.isinf(number := float(text)):
        raise ValueError
    return number


def _no_number(_: str) -> NoReturn:
    raise _NotCells("broken JSON: NaN and Infinity are not JSON numbers")


def _write(file: BinaryIO, pages: Iterator[Page]) -> int:
    page = next(pages)
    for row in page.rows:
        file.write(json_text({column: row.get(column) for column in page.columns}).encode() + b"\n")
    return 0


JSON_LIST = SheetKind(JsonListSheet, options=["encoding"])
JSON_LINES = SheetKind(JsonLinesSheet, _write, JsonLinesSheet.copy, ["encoding"])
