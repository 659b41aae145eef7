"""Parquet files as rows."""

import resource
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import date, datetime, time
from itertools import count
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import pyarrow as pa
import pyarrow.parquet as pq

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import Sheet, SheetKind
from pathway_local.sheets.row import CELL_LIMIT, CellValue, Row, column_names, finite, json_text, plain_text, typed_row
from pathway_local.verdict import storable

BATCH_ROWS = 16

BATCH_MEMORY = 320 * 2**20
"""Bytes that reading one batch may take."""

ORIGIN = "pathway_local"
"""The key of a table's metadata that says where its rows come from."""

_LIMITING = Lock()
"""Held while the limit applies, which is the whole process's: of two threads, the last would restore the other's."""

SMALL, RATIO_LIMIT = 16 * 2**20, 200
"""A file may unpack to this many bytes however tightly it was packed, a larger one to this times its size."""


# Arrow's own pool reserves a gigabyte at once, in which no limit of the system counts; see `_limited_memory`.
pa.set_memory_pool(pa.system_memory_pool())


class ParquetSheet(Sheet):
    """A Parquet file. Null is an empty text; lists and structs are JSON."""

    unit = "row"
    has_lists = True

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._open() as file:
            self.columns = column_names(path, file.schema_arrow.names)
            groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
            if sum(each.total_byte_size for each in groups) > max(SMALL, RATIO_LIMIT * path.stat().st_size):
                raise _too_much(path)
            self._count: int = file.metadata.num_rows

    def rows(self) -> Iterator[Row]:
        """Yield every row."""
        numbers = count(1)
        with self._open() as file:
            for batch in _batches(file):
                for place in range(batch.num_rows):
                    cells = (array.slice(place, 1) for array in batch.columns)
                    yield typed_row(next(numbers), zip(self.columns, cells, strict=True), _python_value)

    def count(self) -> int | None:
        """Return the number of rows that the file states."""
        return self._count

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


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let this process take only BATCH_MEMORY more: a few bytes can stand for billions of values in one row.

    The sizes that a file states can't be relied on, and no setting of Arrow limits what it takes.
    """
    with _LIMITING:
        limits = soft, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = int(Path("/proc/self/statm").read_text().split()[5]) * resource.getpagesize() + BATCH_MEMORY
        lower = most if soft == resource.RLIM_INFINITY else min(most, soft)
        try:
            resource.setrlimit(resource.RLIMIT_DATA, (lower, hard))
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_DATA, limits)


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield every row, with a few of them in memory at a time. Raises ArrowMemoryError."""
    batches = file.iter_batches(BATCH_ROWS, use_threads=False)
    while True:
        with _limited_memory():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _too_much(path: Path) -> CasesError:
    return CasesError(f"{path.name} would unpack to far too much data", "Save it as CSV.")


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


def arrow_table(columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]], origin: str = "") -> pa.Table:
    """Return rows as an Arrow table, with their origin in its metadata; a column that a row lacks is null there."""
    values: dict[str, list[CellValue]] = {column: [] for column in columns}
    for row in rows:
        for column in columns:
            values[column].append(row.get(column))
    metadata = {ORIGIN: origin} if origin else None
    return pa.table({column: _arrow_column(cells) for column, cells in values.items()}, metadata=metadata)


def _write(file: BinaryIO, columns: Sequence[str], rows: Iterable[Mapping[str, CellValue]], origin: str = "") -> int:
    pq.write_table(arrow_table(columns, rows, origin), file)
    return 0


def _arrow_column(values: Sequence[CellValue]) -> pa.Array | pa.ChunkedArray:
    """Return a column of the type that Arrow finds for values of one type, or numbers; of texts for all others."""
    kinds = {type(value) for value in values if value is not None}
    zones = {bool(getattr(value, "tzinfo", None)) for value in values if value is not None}
    if kinds == {date, datetime}:  # midnights of a column of points in time are read as dates
        values, kinds = [datetime.combine(v, time()) if type(v) is date else v for v in values], {datetime}
    fits = kinds <= {int, float} or (len(kinds) == 1 and kinds <= {bool, list, date, datetime, time})
    if kinds and fits and len(zones) == 1 and (kinds, zones) != ({time}, {True}):
        with suppress(pa.ArrowException, OverflowError):
            return pa.array([finite(value) if isinstance(value, float | list) else value for value in values])
    return pa.array([None if value is None else storable(_as_text(value)) for value in values], pa.string())


def _as_text(value: CellValue) -> str:
    return plain_text(value) if isinstance(value, str | date | time) else json_text(value)


PARQUET = SheetKind(ParquetSheet, _write, write_with_origin=_write)
