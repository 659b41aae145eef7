"""Parquet files as rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from pathway_local.errors import CasesError
from pathway_local.sheets.row import Row, column_names, plain_text

BATCH_SIZE = 8 * 2**20
"""Bytes that a batch of rows should have at most."""

BATCH_ROWS = 1_024


class ParquetSheet:
    """A Parquet file. Null is an empty text; lists and structs are JSON."""

    unit = "row"
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self._texts: list[str] = []
        with self._open() as file:
            self.columns = column_names(path, file.schema_arrow.names)
            # Kept as a dictionary, a long text that every row repeats is in memory once.
            self._texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
            self.schema: pa.Schema = file.schema_arrow
            self._count: int = file.metadata.num_rows

    def rows(self) -> Iterator[Row]:
        """Every row."""
        number = 0
        for batch in self.batches():
            for place in range(batch.num_rows):
                number += 1
                yield self._row(number, [column[place] for column in batch.columns])

    def count(self) -> int | None:
        """The number of rows that the file states."""
        return self._count

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Every row, a few megabytes of them in memory at a time."""
        with self._open() as file:
            yield from file.iter_batches(_batch_rows(file), use_threads=False)

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        """The file, opened; CasesError when it turns out to be damaged, now or while it is read."""
        try:
            with pq.ParquetFile(self.path, read_dictionary=self._texts, pre_buffer=False, buffer_size=2**20) as file:
                yield file
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CasesError(
                f"{self.path.name} is no Parquet file, or a damaged one ({type(error).__name__})", "Write it anew."
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
    """How many rows of the file make a batch of about BATCH_SIZE bytes."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1.0)
    return int(min(max(BATCH_SIZE / max(widest, 1.0), 1), BATCH_ROWS))


def _is_text(kind: pa.DataType) -> bool:
    is_a = pa.types
    return bool(
        is_a.is_string(kind)
        or is_a.is_large_string(kind)
        or is_a.is_string_view(kind)
        or is_a.is_binary(kind)
        or is_a.is_large_binary(kind)
    )


def _text(scalar: pa.Scalar) -> str:
    try:
        return plain_text(scalar.as_py())
    except ValueError:
        # Times finer than a microsecond have no Python value.
        if not pa.types.is_temporal(scalar.type):
            raise
        return str(scalar.cast(pa.string()).as_py())
