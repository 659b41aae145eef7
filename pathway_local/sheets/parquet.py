"""Parquet files as rows."""

import resource
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, datetime, time
from pathlib import Path
from threading import Lock
from typing import BinaryIO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pathway_local.errors import CasesError
from pathway_local.sheets.kinds import NewCells, Sheet, SheetKind
from pathway_local.sheets.row import CELL_LIMIT, CellValue, Row, cell_kind, column_names, finite, json_text, plain_text
from pathway_local.verdict import storable

BATCH_SIZE = 8 * 2**20
"""Bytes of a batch of rows, at most; a batch has at least one row, however large."""

BATCH_ROWS = 1_024

BATCH_MEMORY = 320 * 2**20
"""Bytes that reading one batch may take."""

ORIGIN = "pathway_local"
"""The key of a table's metadata that says where its rows come from."""

_LIMITING = Lock()
"""Held while the limit applies, which is the whole process's: of two threads, the last would restore the other's."""

DICTIONARIES = 64 * 2**20
"""Bytes of a row group, unpacked but with each text stored once, whose texts are read as dictionaries."""

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
        self._texts: list[str] = []
        with self._open() as file:
            self.columns = column_names(path, file.schema_arrow.names)
            sizes = [file.metadata.row_group(place).total_byte_size for place in range(file.metadata.num_row_groups)]
            if sum(sizes) > max(SMALL, RATIO_LIMIT * path.stat().st_size):
                raise _too_much(path)
            # A text is stored once however many rows repeat it: a file of some kilobytes can say 15 MB of text a
            # million times. Read as dictionaries, it is in memory once, too, even inside lists and structs. But
            # dictionaries of different texts grow with the whole row group: where one takes more than this as the file
            # stores it, texts are read as they are, and only BATCH_MEMORY guards them. To ask for the size of a single
            # column would end the process where a damaged footer states impossible statistics.
            leaves = [file.schema.column(place) for place in range(file.metadata.num_columns)]
            if max(sizes, default=0) <= DICTIONARIES:
                self._texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
            self._schema: pa.Schema = file.schema_arrow
            self._count: int = file.metadata.num_rows

    def rows(self) -> Iterator[Row]:
        """Yield every row."""
        number = 0
        with self._open() as file:
            for batch in _batches(file):
                heavy = [_weight(column) > CELL_LIMIT for column in batch.columns]
                for place in range(batch.num_rows):
                    number += 1
                    yield self._row(number, batch, place, heavy)

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
            for batch in self._pieces():
                # Texts were read as dictionaries; the copy has the types of the file.
                own = pa.Table.from_batches([batch]).cast(self._schema).columns
                table = pa.table([*own, *(values.slice(start, batch.num_rows) for values in added)], schema=schema)
                for piece in table.combine_chunks().to_batches():
                    writer.write_batch(piece)
                start += batch.num_rows
        return 0

    @contextmanager
    def _open(self) -> Iterator[pq.ParquetFile]:
        """Open the file. Raises CasesError if it is damaged, also while it is read in the block."""
        try:
            with pq.ParquetFile(self.path, read_dictionary=self._texts, pre_buffer=False, buffer_size=2**20) as file:
                yield file
        except pa.ArrowMemoryError:
            raise _too_much(self.path) from None
        except (pa.ArrowException, OSError, ValueError, KeyError) as error:
            raise CasesError(
                f"{self.path.name} is not a Parquet file, or is damaged ({type(error).__name__})", "Write it again."
            ) from None

    def _pieces(self) -> Iterator[pa.RecordBatch]:
        """Yield every row, in batches that stay small when their dictionaries are decoded."""
        with self._open() as file:
            for batch in _batches(file):
                heavy = sum(map(_weight, batch.columns)) > BATCH_SIZE
                for start in range(0, batch.num_rows, 1 if heavy else BATCH_ROWS):
                    yield batch.slice(start, 1 if heavy else BATCH_ROWS)

    def _row(self, number: int, batch: pa.RecordBatch, place: int, heavy: list[bool]) -> Row:
        cells: dict[str, str] = {}
        kinds: dict[str, str] = {}
        bad_cells: dict[str, str] = {}
        for column, array, weighed in zip(self.columns, batch.columns, heavy, strict=True):
            limit = CELL_LIMIT if pa.types.is_nested(array.type) else 4 * CELL_LIMIT
            if weighed and _weight(array.slice(place, 1)) > limit:
                bad_cells[column] = f"more than {CELL_LIMIT:,} characters"
                continue
            try:
                cells[column], kind = _text_and_kind(array[place])
                if kind:
                    kinds[column] = kind
            except (pa.ArrowException, ValueError, OverflowError, LookupError):
                bad_cells[column] = f"a value of type {array.type} that can't be written as text"
        return Row(number, number, cells, bad_cells=bad_cells, kinds=kinds)


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


def _weight(array: pa.Array) -> int:
    """Return about how many bytes the array takes once its dictionaries are decoded."""
    if pa.types.is_dictionary(array.type) and not pa.types.is_primitive(array.type.value_type):
        return pc.sum(pc.binary_length(array.dictionary).take(array.indices)).as_py() or 0
    if pa.types.is_map(array.type):
        # Unlike those of other arrays, a map's parts ignore that it is a slice.
        start, end = array.offsets[0].as_py(), array.offsets[-1].as_py()
        return sum(_weight(part.slice(start, end - start)) for part in (array.keys, array.items))
    if pa.types.is_struct(array.type):
        return sum(map(_weight, array.flatten()))
    return _weight(array.flatten()) if pa.types.is_nested(array.type) else int(array.nbytes)


def _batches(file: pq.ParquetFile) -> Iterator[pa.RecordBatch]:
    """Yield every row, with a few megabytes of them in memory at a time. Raises ArrowMemoryError."""
    batches = file.iter_batches(_batch_rows(file), use_threads=False)
    while True:
        with _limited_memory():
            batch = next(batches, None)
        if batch is None:
            return
        yield batch


def _too_much(path: Path) -> CasesError:
    return CasesError(f"{path.name} would unpack to far too much data", "Save it as CSV.")


def _batch_rows(file: pq.ParquetFile) -> int:
    """Return how many rows of the file make a batch of about BATCH_SIZE bytes."""
    groups = [file.metadata.row_group(place) for place in range(file.metadata.num_row_groups)]
    widest = max((group.total_byte_size / max(group.num_rows, 1) for group in groups), default=1.0)
    return int(min(max(BATCH_SIZE / max(widest, 1.0), 1), BATCH_ROWS))


def _text_and_kind(scalar: pa.Scalar) -> tuple[str, str]:
    try:
        value = scalar.as_py()
        return plain_text(value), cell_kind(value)
    except ValueError:
        # Python has no value for times finer than a microsecond.
        if not pa.types.is_temporal(scalar.type):
            raise
        return str(scalar.cast(pa.string()).as_py()), ""


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
    """Return a column of the type that holds all the values; of texts if none does."""
    kind = _arrow_type([value for value in values if value is not None])
    if kind is None:
        return pa.array([None if value is None else storable(_as_text(value)) for value in values], pa.string())
    if pa.types.is_temporal(kind):
        # The midnights of a column of points in time are read as dates.
        days = pa.types.is_timestamp(kind)
        return pa.array([datetime.combine(v, time()) if days and type(v) is date else v for v in values], kind)
    return pa.array([finite(value) for value in values], kind)


def _arrow_type(values: Sequence[CellValue]) -> pa.DataType | None:
    """Return the type of a column with these values; None if they are texts, mixed, or too large for a type."""
    kinds = {float if isinstance(value, float) else type(value) for value in values}
    aware = {bool(getattr(value, "tzinfo", None)) for value in values}
    if kinds == {bool}:
        return pa.bool_()
    largest = 2**53 if float in kinds else 2**63  # a float holds no larger integer exactly
    if kinds and kinds <= {int, float} and all(abs(value) < largest for value in values if isinstance(value, int)):
        return pa.float64() if float in kinds else pa.int64()
    if kinds == {list} and all(isinstance(item, str) for value in values if isinstance(value, list) for item in value):
        return pa.list_(pa.string())
    if kinds == {date}:
        return pa.date32()
    if kinds == {time} and aware == {False}:
        return pa.time64("us")
    if kinds == {datetime} and aware == {True}:
        return pa.timestamp("us", tz="UTC")
    return pa.timestamp("us") if kinds and kinds <= {date, datetime} and aware == {False} else None


def _as_text(value: CellValue) -> str:
    if isinstance(value, str):
        return value
    return plain_text(value) if isinstance(value, date | time) else json_text(value)


PARQUET = SheetKind(ParquetSheet, _write, ParquetSheet.copy, write_with_origin=_write)
