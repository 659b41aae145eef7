"""Downloads the wheels of a list of exact versions, also for Pythons that this machine lacks."""

import platform
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Sequence
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import parse_wheel_filename

from pathway_local.errors import UsageError

PYTHONS = ("3.11", "3.12", "3.13")
"""The Pythons that the lists in requirements/ were resolved for."""

_GLIBC = range(5, 40)
"""Minor versions of glibc 2 that wheels may need. pip prefers the first, so the oldest come first."""

_LEGACY = ("manylinux1", "manylinux2010", "manylinux2014", "linux")


def collect_wheels(listed: Path, pythons: Sequence[str], folder: Path) -> None:
    """Download every wheel of the list for each of these Pythons, and pip. Raises UsageError if one is missing."""
    for python in pythons:
        wanted = wanted_by(listed, python)
        print(f"collecting {len(wanted)} wheels for Python {python}", file=sys.stderr, flush=True)
        torch = next((line for line in wanted if line.startswith("torch==") and line.endswith("+cpu")), None)
        if torch:
            wanted.remove(torch)
            _download_torch(torch, python, folder)
        # pip as well: not every Python can make an environment with pip in it.
        if said := _download([*wanted, "pip"], python, folder):
            hint = f"Check the network and pip's settings, or name the Pythons that you need (--python {pythons[0]})."
            raise UsageError(f"Python {python}: {said}", hint)


def wanted_by(listed: Path, python: str) -> list[str]:
    """Return the lines of a list that hold for a Python on Linux, without their markers."""
    # pip would evaluate markers for the Python that runs it, not for --python-version.
    there = {"python_version": python, "python_full_version": f"{python}.0", "sys_platform": "linux"}
    lines = (line.partition(" #")[0].strip() for line in listed.read_text("utf-8").splitlines())
    each = [Requirement(line) for line in lines if line and not line.startswith("#")]
    return [f"{one.name}{one.specifier}" for one in each if one.marker is None or one.marker.evaluate(there)]


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
    done = _run("pip", "download", "--quiet", *options, *platforms, "--dest", str(folder), *wanted)
    errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    # pip's last error is its shortest: those before it may list every known version.
    return (errors[-1] if errors else f"pip ended with code {done.returncode}") if done.returncode else ""


def _download_torch(torch: str, python: str, folder: Path) -> None:
    """Download torch for the processor, by way of uv where pip's index lacks it: uv knows PyTorch's own."""
    said = _download([torch], python, folder)
    if not said:
        return
    _run("pip", "install", "--quiet", "uv")
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
    for url in _wheel_urls(done.stdout) if done.returncode == 0 else ():
        if not _download([url], python, folder):
            return
    hint = f"Python {python}'s may be missing while another is there: name the Pythons that you need (--python 3.11)."
    raise UsageError(f"{torch} for Python {python} is neither on pip's index nor on PyTorch's own", hint)


def _wheel_urls(lock: str) -> list[str]:
    """Return the addresses of the wheels in a lock file (pylock.toml), each with its hash, which pip checks."""
    wheels = [wheel for package in tomllib.loads(lock).get("packages", []) for wheel in package.get("wheels", [])]
    return [f"{wheel['url']}#sha256={wheel['hashes']['sha256']}" for wheel in wheels]


def _run(module: str, *arguments: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, input=entered, capture_output=True, text=True, check=False)
