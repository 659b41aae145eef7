"""Collects what a machine without internet needs into one folder: wheels, the project, judges, hashes, an installer."""

import hashlib
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

import pathway_local
from bundling.judge_files import put_judge
from bundling.parts import drop_unchanged, hash_files, put, read_size, read_sums, write_sums
from bundling.wheels import PYTHONS, collect_wheels, least_glibc, unpacked_bytes
from pathway_local.cli.terminal import complain
from pathway_local.errors import OutputExists, PathwayError, UsageError
from pathway_local.system.private_process import INTERRUPTED

ROOT = Path(__file__).parents[2]
INSTALLER = "install.sh"
ABOUT = "about.txt"
"""Facts that the installer reads, a line `key=value` each."""

_PROJECT_BYTES = 50 << 20
"""The space for the project's own folder and for the files that it writes."""


def bundle(
    out: Annotated[Path, typer.Option(help="The folder to make.")],
    gpu: Annotated[bool, typer.Option("--gpu", help="Collect vLLM for NVIDIA GPUs.")] = False,
    judge: Annotated[list[str], typer.Option(help="Also this judge: a name, or a folder with a model.")] = [],  # noqa: B006
    python: Annotated[list[str], typer.Option(help=f"Only for this Python; default: {', '.join(PYTHONS)}.")] = [],  # noqa: B006
    part_size: Annotated[str, typer.Option(help="Cut larger files into parts of this size, such as 2G.")] = "",
    since: Annotated[Path | None, typer.Option(help="Leave out what the bundle with this SHA256SUMS holds.")] = None,
) -> None:
    """Collect everything that a machine without internet needs into one folder. See docs/offline.md."""
    try:
        made = _make(out, gpu, judge, python or PYTHONS, read_size(part_size) if part_size else None, since)
    except PathwayError as error:
        complain(error)
        sys.exit(error.exit_code)
    except OSError as error:
        complain(
            UsageError(
                f"{error.filename or out}: {error.strerror}", "Check permissions and the free space on the disk."
            )
        )
        sys.exit(UsageError.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    gigabytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e9
    print(f"made {out}, {gigabytes:.1f} GB. On the other machine, in {out.name}, compare the hash below, then install:")
    print(f"sha256sum SHA256SUMS; sha256sum --check --quiet SHA256SUMS && bash {INSTALLER}")
    print(f"{made}  SHA256SUMS")


def _make(
    out: Path, gpu: bool, judges: Sequence[str], pythons: Sequence[str], part_bytes: int | None, since: Path | None
) -> str:
    """Make the bundle beside `out` and give it that name when it is complete; return the hash of its list of hashes."""
    if unknown := [python for python in pythons if python not in PYTHONS]:
        raise UsageError(f"Python {unknown[0]} is not supported", f"Choose from {', '.join(PYTHONS)}.")
    if out.exists():
        raise OutputExists(out)
    out = out.absolute()  # packing the project runs in another folder
    older = read_sums(since) if since else {}
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as work:
        wheels, folder = Path(work, "wheels"), Path(work, "bundle")
        wheels.mkdir()
        collect_wheels(pythons, wheels, gpu=gpu)
        # A wheel in parts is joined beside the environment before it is installed.
        joined = sum(size for path in wheels.iterdir() if (size := path.stat().st_size) > (part_bytes or size))
        about = {
            "version": pathway_local.__version__,
            "environment": ".venv-gpu" if gpu else ".venv",
            "machine": platform.machine(),
            "glibc": least_glibc(wheels),
            "pythons": " ".join(pythons),
            "kilobytes": (unpacked_bytes(wheels) + joined + _PROJECT_BYTES) >> 10,
            "since": hashlib.sha256(since.read_bytes()).hexdigest() if since else "",
        }
        for wheel in sorted(wheels.iterdir()):
            put(wheel, folder / "wheels" / wheel.name, part_bytes)
            wheel.unlink()
        _put_project(folder)
        for name in judges:
            put_judge(name, folder / "judges", part_bytes)
        shutil.copyfile(Path(__file__).with_name(INSTALLER), folder / INSTALLER)
        (folder / ABOUT).write_text("".join(f"{key}={value}\n" for key, value in about.items()), "utf-8")
        sums = hash_files(folder)
        drop_unchanged(folder, sums, older)
        made = write_sums(folder, sums)
        folder.rename(out)
    return made


def _put_project(folder: Path) -> None:
    """Put the project's folder into a bundle, as the archive that its build backend makes."""
    build = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", build, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UsageError(f"the project can't be packed: {said}", "Run ./scripts/check.")
    next(folder.glob("*.tar.gz")).rename(folder / "project.tar.gz")


if __name__ == "__main__":
    typer.run(bundle)
