"""A file that a command writes is there whole or not at all, and what a killed one has left can be found."""

import errno
import gc
import os
import signal
import stat
import subprocess
import sys
from io import BytesIO
from pathlib import Path

import pytest
from typing_extensions import Buffer

from pathway_local.errors import OutputExists
from pathway_local.sheets.kinds import Page
from pathway_local.sheets.workbook import WORKBOOK
from pathway_local.system import private_file as output

KILLED = """
import os, signal
from pathlib import Path
from pathway_local.sheets import pseudonyms
from pathway_local.system import private_file
from pathway_local.runs.run_file import RunFile

def kill(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

os.link = os.replace = kill
"""
"""Begins a program that is killed when it gives a file its name."""

WRITERS = (
    'pseudonyms.Pseudonyms.at(Path("key"), make=True)',
    'RunFile.create("may.run")',
    'with private_file.output_file(Path("t.csv"), force=True) as file: file.write(b"x")',
    'with private_file.output_file(Path("n" * 250)) as file: file.write(b"x")',
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def _killed(writer: str, folder: Path) -> None:
    program = [sys.executable, "-c", KILLED + writer]
    done = subprocess.run(program, cwd=folder, capture_output=True, text=True, timeout=60)
    assert done.returncode == -signal.SIGKILL, done.stderr


@pytest.mark.parametrize("writer", WRITERS)
def test_what_any_killed_writer_has_left_can_be_found(tmp_path: Path, writer: str) -> None:
    _killed(writer, tmp_path)
    [part] = output.left_parts(tmp_path)
    assert names(tmp_path) == [part.name]
    assert stat.S_IMODE(part.stat().st_mode) == 0o600


@pytest.mark.parametrize("force", [False, True])
def test_a_file_system_without_links_takes_a_file(tmp_path: Path, force: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object, **__: object) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refused)
    path = tmp_path / "t.csv"
    with output.output_file(path, force=force) as file:
        file.write(b"x")
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"x", 0o600)
    with pytest.raises(OutputExists), output.output_file(tmp_path / "u.csv"):
        (tmp_path / "u.csv").touch()
    assert names(tmp_path) == ["t.csv", "u.csv"]


@pytest.mark.parametrize("force", [False, True])
def test_a_file_that_is_being_written_has_another_name(tmp_path: Path, force: bool) -> None:
    path = tmp_path / "t.csv"
    with output.output_file(path, force=force) as file:
        file.write(b"x")
        [part] = output.left_parts(tmp_path)
        assert stat.S_IMODE(part.stat().st_mode) == 0o600
        path.write_text("theirs") if force else None
    assert names(tmp_path) == ["t.csv"] and path.read_text() == "x"
    with pytest.raises(KeyboardInterrupt), output.output_file(path, force=True):
        raise KeyboardInterrupt
    with pytest.raises(OutputExists), output.output_file(tmp_path / "u.csv"):
        (tmp_path / "u.csv").touch()
    assert names(tmp_path) == ["t.csv", "u.csv"]


class Full(BytesIO):
    """A file on a disk with room for 2,000 bytes."""

    def write(self, data: Buffer, /) -> int:
        if self.tell() + memoryview(data).nbytes > 2000:
            raise OSError(errno.ENOSPC, "full")
        return super().write(data)


def test_a_workbook_on_a_full_disk_leaves_nothing_that_complains_later(monkeypatch: pytest.MonkeyPatch) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", complaints.append)
    rows = [{"text": os.urandom(500).hex()} for _ in range(50)]
    with pytest.raises(OSError, match="full"):
        WORKBOOK.write(Full(), iter([Page("", ["text"], rows)]))
    gc.collect()
    assert complaints == []
