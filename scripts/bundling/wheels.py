"""Downloads the wheels of a list of exact versions, also for Pythons that this machine lacks."""

import platform
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from pathway_local.errors import UsageError

PYTHONS = ("3.11", "3.12", "3.13")
"""The Pythons that the lists in requirements/ were resolved for."""

LISTS = Path(__file__).parents[2] / "requirements"

_GLIBC = range(5, 40)
"""Minor versions of glibc 2 that wheels may need. pip prefers the first, so the oldest come first."""

_LEGACY = ("manylinux1", "manylinux2010", "manylinux2014", "linux")


def collect_wheels(pythons: Sequence[str], folder: Path, *, gpu: bool) -> None:
    """Download every wheel of the lists for each of these Pythons, and pip. Raises UsageError if one is missing."""
    for python in pythons:
        # pip as well: not every Python can make an environment with pip in it.
        wanted = wanted_by(LISTS / ("gpu.txt" if gpu else "cpu.txt"), python) + wanted_by(LISTS / "tools.txt", python)
        print(f"collecting {len(wanted)} wheels for Python {python}", file=sys.stderr, flush=True)
        if not gpu:
            _download_torch(wanted_by(LISTS / "torch-cpu.txt", python), python, folder)
        if said := _download(wanted, python, folder):
            hint = f"Check the network and pip's settings, or name the Pythons that you need (--python {pythons[0]})."
            raise UsageError(f"Python {python}: {said}", hint)


def wanted_by(listed: Path, python: str) -> list[str]:
    """Return the lines of a list that hold for a Python on Linux, with their hashes and without their markers."""
    # pip would evaluate markers for the Python that runs it, not for --python-version.
    there = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    lines = listed.read_text("utf-8").replace("\\\n", " ").splitlines()
    split = [line.partition(" --hash=") for line in lines if line]
    each = [(Requirement(line), f"{sign}{hashes}") for line, sign, hashes in split]
    held = [(one, hashes) for one, hashes in each if one.marker is None or one.marker.evaluate(there)]
    return [f"{one.name}{one.specifier}{hashes}" for one, hashes in held]


def least_glibc(folder: Path) -> str:
    """Return the oldest glibc on which all these wheels run."""
    least = [
        min(int(minor) for minor in found)
        for path in folder.glob("*.whl")
        if (found := re.findall(r"manylinux_2_(\d+)_", path.name))
    ]
    return f"2.{max(least, default=_GLIBC[0])}"


def unpacked_bytes(folder: Path) -> int:
    """Return the bytes that one Python's share of these wheels takes when installed, or a little more."""
    largest = dict[str, int]()
    for path in folder.glob("*.whl"):
        name = parse_wheel_filename(path.name)[0]
        with zipfile.ZipFile(path) as wheel:
            size = sum(member.file_size for member in wheel.infolist())
        largest[name] = max(size, largest.get(name, 0))
    return sum(largest.values())


def _download(wanted: Sequence[str], python: str, folder: Path) -> str:
    """Download wheels; the reason if pip could not."""
    machine = platform.machine()
    tags = [f"manylinux_2_{minor}_{machine}" for minor in _GLIBC] + [f"{name}_{machine}" for name in _LEGACY]
    options = ["--no-deps", "--only-binary=:all:", "--implementation", "cp", "--python-version", python]
    platforms = [word for tag in tags for word in ("--platform", tag)]
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listed:
        listed.write("".join(f"{line}\n" for line in wanted))
        listed.flush()
        taken = ["--require-hashes", "--requirement", listed.name]
        done = _run("pip", "download", "--quiet", *options, *platforms, "--dest", str(folder), *taken)
    errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    # pip's last error is its shortest: those before it may list every known version.
    return (errors[-1] if errors else f"pip ended with code {done.returncode}") if done.returncode else ""


def _download_torch(wanted: Sequence[str], python: str, folder: Path) -> None:
    """Download torch for the processor, by way of uv where pip's index lacks it: uv knows PyTorch's own."""
    if not _download(wanted, python, folder):
        return
    _run("pip", "install", "--quiet", "--require-hashes", "--requirement", str(LISTS / "tools.txt"))
    torch = wanted[0].partition(" ")[0]
    target = [
        "--torch-backend",
        "cpu",
        "--python-version",
        python,
        "--python-platform",
        f"{platform.machine()}-unknown-linux-gnu",
    ]
    lock = ["--quiet", "--no-deps", "--no-header", "--format", "pylock.toml", "--torch-backend", "cpu"]
    done = _run("uv", "pip", "compile", "-", *lock, *target, entered=torch.removesuffix("+cpu"))
    for line in _lines_of(done.stdout) if done.returncode == 0 else ():
        if not _download([line], python, folder):
            return
    hint = f"Python {python}'s may be missing while another is there: name the Pythons that you need (--python 3.11)."
    raise UsageError(f"{torch} for Python {python} is neither on pip's index nor on PyTorch's own", hint)


def _lines_of(lock: str) -> list[str]:
    """Return a line for each wheel of torch in a lock file (pylock.toml), with its hash, which pip checks."""
    wheels = [wheel for package in tomllib.loads(lock).get("packages", []) for wheel in package.get("wheels", [])]
    return [f"torch @ {wheel['url']} --hash=sha256:{wheel['hashes']['sha256']}" for wheel in wheels]


def _run(module: str, *arguments: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, input=entered, capture_output=True, text=True, check=False)
