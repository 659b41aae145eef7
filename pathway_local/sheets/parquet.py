"""Parquet files as rows."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pathway_local.errors import CasesError
from pathway_local.sheets.cells import finite, json_text
from pathway_local.sheets.kinds import NewCells, Sheet, SheetKind
from pathway_local.sheets.row import Row, column_names, plain_text
from pathway_local.verdict import Value

BATCH_SIZE = 8 * 2**20
"""Bytes of a batch of rows, at most; a batch has at least one row, however large."""

BATCH_ROWS = 1_024
TEXTS = {"string", "large_string", "string_view", "binary", "large_binary"}


class ParquetSheet(Sheet):
    """A Parquet file. Null is an empty text; lists and structs are JSON."""

    unit = "row"

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: list[str] = []
        with self._open() as file:
            self.columns = column_names(path, file.schema_arrow.names)
            # Read as dictionaries, a long text that every row repeats is in memory once, not once for each row.
            self._texts = [field.name for field in file.schema_arrow if str(field.type) in TEXTS]
            self._schema: pa.Schema = file.schema_arrow
            self._count: int = file.metadata.num_rows

    def rows(self) -> Iterator[Row]:
        """Yield every row."""
        number = 0
        for batch in self._batches():
            for place in range(batch.num_rows):
                number += 1
                yield self._row(number, [column[place] for column in batch.columns])

    def count(self) -> int | None:
        """Return the number of rows that the file states."""
        return self._count

    def copy(self, file: BinaryIO, columns: Sequence[str], rows: NewCells) -> int:
        """Write the sheet in batches with typed columns added; their types take the cells of all rows."""
        new = [cells for _, cells in rows if cells is not None]
        added = [_arrow_column([cells[place] for cells in new]) for place in range(len(columns))]
        schema = self._schema
        for column, values in zip(columns, added, strict=True):
            schema = schema.append(pa.field(column, values.type))
        start = 0
        with pq.ParquetWriter(file, schema) as writer:
            for batch in self._batches():
                # Texts were read as dictionaries; the copy has the types of the file.
                own = pa.Table.from_batches([batch]).cast(self._schema).columns
                table = pa.table([*own, *(values.slice(start, batch.num_rows) for values in added)], schema=schema)
                for piece in table.combine_chunks().to_batches():
                    writer.write_batch(piece)
                start += batch.num_rows
        return 0

    def _batches(self) -> Iterator[pa.RecordBatch]:
        """Yield every row, with a few megabytes of them in memory at a time."""
        with self._open() as file:
            yield from file.iter_batches(_batch_rows(file), use_threads=False)

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        """Open the file. Raises CasesError if it is damaged, also while it is read in the block."""
        try:
            with pq.ParquetFile(self.path, read_dictionary=self._texts, pre_buffer=False, buffer_size=2**20) as file:
                yield file
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CasesError(
                f"{self.path.name} is not a Parquet file, or is damaged ({type(error).__name__})", "Write it again."
            ) from None

    def _row(self, number: int, scalars: list[pa.Scalar]) -> Row:
        cells: dict[str, str] = {}
        bad_cells: dict[str, str] = {}
        for column, scalar in zip(self.columns, scalars, strict=True):
            try:
                cells[column] = _text(scalar)
            except (pa.ArrowException, ValueError, OverflowError, LookupError):
                bad_cells[column] = f"a value of type {scalar.type} that can't be written as text"
        return Row(number, number, cells, bad_cells=bad_cells)


def _batch_rows(file: pq.ParquetFile) -> int:
    """Return how many rows of the file make a batch of about BATCH_SIZE bytes."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1.0)
    return int(min(max(BATCH_SIZE / max(widest, 1.0), 1), BATCH_ROWS))


def _text(scalar: pa.Scalar) -> str:
    try:
        return plain_text(scalar.as_py())
    except ValueError:
        # Python has no value for times finer than a microsecond.
        if not pa.types.is_temporal(scalar.type):
            raise
        return str(scalar.cast(pa.string()).as_py())


def _write(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, Value]]) -> int:
    values: dict[str, list[Value]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            values[column].append(row.get(column))
    pq.write_table(pa.table({column: _arrow_column(cells) for column, cells in values.items()}), file)
    return 0


def _arrow_column(values: Sequence[Value]) -> pa.Array | pa.ChunkedArray:
    """Return the values as a column of booleans, integers, numbers, texts or lists of texts; mixed values as JSON."""
    present = [value for value in values if value is not None]
    if not present:
        kind = pa.string()
    elif all(isinstance(value, bool) for value in present):
        kind = pa.bool_()
    elif all(_is_number(value) for value in present):
        kind = pa.int64() if all(isinstance(value, int) for value in present) else pa.float64()
    elif all(isinstance(value, list) and all(isinstance(item, str) for item in value) for value in present):
        kind = pa.list_(pa.string())
    else:
        kind = pa.string()
        values = [value if value is None or isinstance(value, str) else json_text(value) for value in values]
    return pa.array([finite(value) for value in values], kind)


def _is_number(value: Value) -> bool:
    """Whether the value is a number that a column of integers or floats can hold; bool is a subclass of int."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return isinstance(value, float) or abs(value) < 2**63


PARQUET = SheetKind(ParquetSheet, _write, ParquetSheet.copy)
