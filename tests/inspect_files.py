"""Logs of Inspect as it writes them: an archive with a JSON file for each sample."""

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa

from pathway_local.sheets import inspect_log

SAMPLES: list[dict[str, Any]] = [
    {"id": 1, "epoch": epoch, "uuid": f"u{epoch}", "input": "May I?", "target": ["Yes", "On weekdays"]}
    | {"output": {"choices": [{"message": {"content": f"Yes {epoch}"}}], "completion": f"Yes {epoch}"}, "events": [{}]}
    for epoch in (1, 2)
]


def log(path: Path, packing: int, parts: list[bytes] | None = None) -> Path:
    """Write an archive as Inspect does. Python 3.11 can't pack with Zstandard, so the headers are corrected."""
    told = [json.dumps(each).encode() for each in SAMPLES] if parts is None else parts
    zstd = packing == inspect_log.ZSTANDARD
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if zstd else packing) as archive:
        archive.writestr("header.json", "{}")
        for number, text in enumerate(told):
            data = bytes(pa.compress(text, "zstd", asbytes=True)) if zstd else text
            archive.writestr(f"samples/{number}_epoch_1.json", data)
    if zstd:
        whole = bytearray(path.read_bytes())
        for mark, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
            at = whole.find(mark)
            while at >= 0:
                whole[at + place : at + place + 2] = struct.pack("<H", packing)
                at = whole.find(mark, at + 1)
        path.write_bytes(whole)
    return path
