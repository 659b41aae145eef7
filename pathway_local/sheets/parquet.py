"""Parquet files as rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import Page, Sheet, SheetKind
from pathway_local.sheets.row import CELL_LIMIT, Row, column_names, finite, json_text, typed_row
from pathway_local.verdict import Value, storable

BATCH_ROWS = 16

SMALL, RATIO_LIMIT = 16 * 2**20, 200
"""A file may unpack to this many bytes however tightly it was packed, a larger one to this times its size."""


class ParquetSheet(Sheet):
    """A Parquet file. Null is an empty text; lists and structs are JSON."""

    typed = True

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.columns = column_names(path, file.schema_arrow.names)
            self.unkept = {field.name: "bytes" for field in file.schema_arrow if _is_binary(field.type)}
            groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
            if sum(each.total_byte_size for each in groups) > max(SMALL, RATIO_LIMIT * path.stat().st_size):
                raise _too_much(path)

    def rows(self) -> Iterator[Row]:
        """Yield every row."""
        numbers = count(1)
        with self._open() as file:
            for batch in file.iter_batches(BATCH_ROWS, use_threads=False):
                for place in range(batch.num_rows):
                    cells = (array.slice(place, 1) for array in batch.columns)
                    number = next(numbers)
                    yield typed_row(number, f"row {number}", dict(zip(self.columns, cells, strict=True)), _python_value)

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        """Open the file. Raises CasesError if it is damaged, also while it is read in the block."""
        try:
            with pq.ParquetFile(self.path, pre_buffer=False, buffer_size=2**20) as file:
                yield file
        except pa.ArrowMemoryError:
            raise _too_much(self.path) from None
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CasesError(
                f"{self.path.name} is not a Parquet file, or is damaged ({type(error).__name__})", "Write it again."
            ) from None


def _too_much(path: Path) -> CasesError:
    return CasesError(f"{path.name} would unpack to far too much data", "Save it as CSV.")


def _is_binary(kind: pa.DataType) -> bool:
    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


def _python_value(cell: pa.Array) -> object:
    """Return a cell's value as Python has it; times finer than a microsecond as texts. ValueError if it has none."""
    if cell.nbytes > 4 * CELL_LIMIT:
        raise ValueError
    try:
        return cell[0].as_py()
    except (pa.ArrowException, ValueError):
        if not pa.types.is_temporal(cell.type):
            raise ValueError from None
        return cell[0].cast(pa.string()).as_py()


def arrow_table(columns: Sequence[str], rows: Iterable[Mapping[str, Value]]) -> pa.Table:
    """Return rows as an Arrow table; a column that a row lacks is null there."""
    values: dict[str, list[Value]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            values[column].append(row.get(column))
    return pa.table({column: _arrow_column(cells) for column, cells in values.items()})


def _write(file: BinaryIO, pages: Iterator[Page]) -> int:
    page = next(pages)
    pq.write_table(arrow_table(page.columns, page.rows), file)
    return 0


def _arrow_column(values: Sequence[Value]) -> pa.Array:
    """Return a column of the type that Arrow finds for values of one type, or numbers; of texts for all others."""
    kinds = {type(value) for value in values if value is not None}
    if kinds and (kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, list})):
        with suppress(pa.ArrowException, OverflowError):
            return pa.array([finite(value) for value in values])
    return pa.array([None if value is None else storable(_as_text(value)) for value in values], pa.string())


def _as_text(value: Value) -> str:
    return value if isinstance(value, str) else json_text(value)


PARQUET = SheetKind(ParquetSheet, _write)
