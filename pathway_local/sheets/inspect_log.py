"""Logs of Inspect in its own format, a ZIP archive with a JSON file for each sample, as rows."""

import lzma
import re
import struct
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from pathway_local.errors import CasesError
from pathway_local.sheets.json_lines import JsonListSheet
from pathway_local.sheets.kinds import SheetKind
from pathway_local.sheets.lines import Encoding
from pathway_local.sheets.row import ROW_LIMIT, column_names

ZSTANDARD = 93
"""The way of packing that Inspect takes; Python's own library reads it from 3.14 on."""

_SAMPLE = re.compile(r"samples/.*\.json", re.DOTALL)

_LIMIT = 4 * ROW_LIMIT + 1
"""Bytes that always hold more characters than a row may have, as a character of UTF-8 takes at most four."""

_HEAD = 30
"""Bytes before the name of a part; the last four are the lengths of the name and of what follows it."""


class InspectLog(JsonListSheet):
    """An .eval file; its rows are the samples in the order of the archive."""

    unit = "sample"

    def __init__(self, path: Path) -> None:
        self.path = path
        self.encoding = Encoding("utf-8", "surrogateescape", bom=False)
        self.columns = column_names(path, self._keys())

    def _items(self) -> Iterator[str]:
        try:
            with zipfile.ZipFile(self.path) as archive:
                parts = [part for part in archive.infolist() if _SAMPLE.fullmatch(part.filename)]
                if not parts:
                    raise CasesError(f"{self.path.name} has no samples yet", "Judge it when its evaluation has ended.")
                for part in parts:
                    yield _unpacked(archive, part).decode(self.encoding.codec, self.encoding.errors)
        except (
            zipfile.BadZipFile,
            NotImplementedError,
            zlib.error,
            lzma.LZMAError,
            pa.ArrowException,
            struct.error,
            OSError,
            EOFError,
            ValueError,
        ) as error:
            said = f"{self.path.name} is not a log of Inspect, or is damaged ({type(error).__name__})"
            raise CasesError(said, "Convert it: inspect log convert LOG --to eval --output-dir FOLDER") from None


def _unpacked(archive: zipfile.ZipFile, part: zipfile.ZipInfo) -> bytes:
    """Return a part's bytes, up to the limit that makes its row too long. Raises what a damaged archive raises."""
    if part.flag_bits & 1:
        raise ValueError
    if part.compress_type != ZSTANDARD:
        with archive.open(part) as file:
            return file.read(_LIMIT)
    with Path(str(archive.filename)).open("rb") as packed:
        packed.seek(part.header_offset)
        packed.seek(sum(struct.unpack("<HH", packed.read(_HEAD)[-4:])), 1)
        stream = pa.CompressedInputStream(pa.BufferReader(packed.read(part.compress_size)), "zstd")
        read: bytes = stream.read(_LIMIT)
        return read


INSPECT_LOG = SheetKind(InspectLog)
