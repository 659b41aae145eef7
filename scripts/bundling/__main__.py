"""Collects what a machine without internet needs into one folder: wheels, the project, judges, hashes, an installer."""

import hashlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer
from packaging.requirements import Requirement

import pathway_local
from pathway_local.cli.terminal import complain
from pathway_local.errors import EngineError, OutputExists, PathwayError, UsageError, WeightsMissing
from pathway_local.judges.engine_settings import checked_hash
from pathway_local.judges.judge_spec import FOLDER, JudgeSpec
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import PACKAGE, is_hub_id, read_files
from pathway_local.system.private_process import INTERRUPTED
from pathway_local.system.shipped import shipped

ROOT = Path(__file__).parents[2]
LISTS = ROOT / "requirements"
INSTALLER = "install.sh"
ABOUT, SUMS = "about.txt", "SHA256SUMS"
"""Facts that the installer reads, a line `key=value` each; and all files' hashes, as `sha256sum --check` reads them."""

PYTHONS = ("3.11", "3.12", "3.13")
"""The Pythons that the lists in requirements/ were resolved for."""

_GLIBC = range(5, 40)
"""Minor versions of glibc 2 that wheels may need. pip prefers the first, so the oldest come first."""

_LEGACY = ("manylinux1", "manylinux2010", "manylinux2014", "linux")
_NAME = re.compile(r"\w[\w.+-]*", re.ASCII)


def bundle(
    out: Annotated[Path, typer.Option(help="The folder to make.")],
    gpu: Annotated[bool, typer.Option("--gpu", help="Collect vLLM for NVIDIA GPUs.")] = False,
    judge: Annotated[list[str], typer.Option(help="Also this judge: a name, or a folder with a model.")] = [],  # noqa: B006
    python: Annotated[list[str], typer.Option(help=f"Only for this Python; default: {', '.join(PYTHONS)}.")] = [],  # noqa: B006
) -> None:
    """Collect everything that a machine without internet needs into one folder. See docs/offline.md."""
    try:
        made = make(out, gpu, judge, python or PYTHONS)
    except PathwayError as error:
        complain(error)
        sys.exit(error.exit_code)
    except OSError as error:
        said = f"{error.filename or out}: {error.strerror}"
        complain(UsageError(said, "Check permissions and the free space on the disk."))
        sys.exit(UsageError.exit_code)
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
    gigabytes = sum(path.stat().st_size for path in out.rglob("*") if path.is_file()) / 1e9
    print(f"made {out}, {gigabytes:.1f} GB. On the other machine, in {out.name}, compare the hash below, then install:")
    print(f"sha256sum {SUMS}; sha256sum --check --quiet {SUMS} && bash {INSTALLER}")
    print(f"{made}  {SUMS}")


def make(out: Path, gpu: bool, judges: Sequence[str], pythons: Sequence[str]) -> str:
    """Make the bundle beside `out` and give it that name when it is complete; return the hash of its list of hashes."""
    if unknown := [python for python in pythons if python not in PYTHONS]:
        raise UsageError(f"Python {unknown[0]} is not supported", f"Choose from {', '.join(PYTHONS)}.")
    if out.exists():
        raise OutputExists(out)
    out = out.absolute()  # packing the project runs in another folder
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{out.name}.", dir=out.parent) as work:
        folder = Path(work, "bundle")
        wheels = folder / "wheels"
        wheels.mkdir(parents=True)
        collect_wheels(pythons, wheels, gpu=gpu)
        _put_project(folder)
        for name in judges:
            put_judge(name, folder / "judges")
        shutil.copyfile(Path(__file__).with_name(INSTALLER), folder / INSTALLER)
        about = {
            "version": pathway_local.__version__,
            "environment": ".venv-gpu" if gpu else ".venv",
            "machine": platform.machine(),
            "glibc": least_glibc(wheels),
            "pythons": " ".join(pythons),
        }
        (folder / ABOUT).write_text("".join(f"{key}={value}\n" for key, value in about.items()), "utf-8")
        made = _write_sums(folder)
        folder.rename(out)
    return made


def _write_sums(folder: Path) -> str:
    """Write the hashes of all files; return the list's own, which stands for the whole bundle."""
    lines = []
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        lines.append(f"{digest}  {path.relative_to(folder).as_posix()}\n")
    text = "".join(lines).encode()
    (folder / SUMS).write_bytes(text)
    return hashlib.sha256(text).hexdigest()


def _put_project(folder: Path) -> None:
    """Put the project's folder into a bundle, as the archive that its build backend makes."""
    build = "import sys; from hatchling.build import build_sdist; build_sdist(sys.argv[1])"
    command = [sys.executable, "-c", build, str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr.strip().splitlines() or ["no reason given"])[-1]
        raise UsageError(f"the project can't be packed: {said}", "Run ./scripts/check.")
    next(folder.glob("*.tar.gz")).rename(folder / "project.tar.gz")


def put_judge(name: str, judges: Path) -> None:
    """Put a judge's files into a folder of `judges` of the name by which it is found.

    Fetches them if they are not on this disk. Raises PathwayError, also for files that are not the registry's.
    """
    spec = load_registry().get(name)
    if spec.source.startswith(PACKAGE):
        print(f"note: judge {spec.name!r} comes with the installation", file=sys.stderr)
        return
    folder = _weights(spec)
    print(f"copying judge {spec.name!r} from {folder}", file=sys.stderr, flush=True)
    checked_hash(spec, folder)
    target = judges / spec.name
    target.mkdir(parents=True)
    for file in read_files(folder):
        if not _NAME.fullmatch(file.name):
            said = f"judge {name!r}: {folder} holds a file {ascii(file.name)[:80]}"
            raise UsageError(said, "Rename it: use a-z, 0-9 . - _")
        shutil.copyfile(file, target / file.name)
    if spec.origin not in (FOLDER, str(shipped("models.yaml"))):
        print(f"note: {spec.name!r} has an entry in {spec.origin}: copy that, too", file=sys.stderr)


def _weights(spec: JudgeSpec) -> Path:
    try:
        return weights_folder(spec)
    except WeightsMissing:
        if not is_hub_id(spec.source):
            raise
    command = [str(Path(sys.executable).with_name("pathway-local")), "judges", "fetch", spec.name]
    if code := subprocess.run(command, stdout=sys.stderr, check=False).returncode:
        raise EngineError(f"judge {spec.name!r} could not be fetched (exit code {code})", "The message above says why.")
    return weights_folder(spec)


def collect_wheels(pythons: Sequence[str], folder: Path, *, gpu: bool) -> None:
    """Download every wheel of the lists for each of these Pythons, and pip. Raises UsageError if one is missing."""
    for python in pythons:
        # pip as well: not every Python can make an environment with pip in it.
        wanted = wanted_by(LISTS / ("gpu.txt" if gpu else "cpu.txt"), python) + wanted_by(LISTS / "tools.txt", python)
        print(f"collecting {len(wanted)} wheels for Python {python}", file=sys.stderr, flush=True)
        if not gpu:
            download_torch(wanted_by(LISTS / "torch-cpu.txt", python), python, folder)
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
    named = (re.findall(r"manylinux_2_(\d+)_", path.name) for path in folder.glob("*.whl"))
    return f"2.{max((min(map(int, found)) for found in named if found), default=_GLIBC[0])}"


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
        done = run("pip", "download", "--quiet", *options, *platforms, "--dest", str(folder), *taken)
    errors = [line.removeprefix("ERROR: ") for line in done.stderr.splitlines() if line.startswith("ERROR: ")]
    # pip's last error is its shortest: those before it may list every known version.
    return (errors[-1] if errors else f"pip ended with code {done.returncode}") if done.returncode else ""


def download_torch(wanted: Sequence[str], python: str, folder: Path) -> None:
    """Download torch for the processor, by way of uv where pip's index lacks it: uv knows PyTorch's own."""
    if not _download(wanted, python, folder):
        return
    run("pip", "install", "--quiet", "--require-hashes", "--requirement", str(LISTS / "tools.txt"))
    torch = wanted[0].partition(" ")[0]
    lock = ["--quiet", "--no-deps", "--no-header", "--format", "pylock.toml", "--torch-backend", "cpu"]
    target = ["--python-version", python, "--python-platform", f"{platform.machine()}-unknown-linux-gnu"]
    done = run("uv", "pip", "compile", "-", *lock, *target, entered=torch.removesuffix("+cpu"))
    packages = tomllib.loads(done.stdout).get("packages", []) if done.returncode == 0 else []
    for wheel in (wheel for package in packages for wheel in package.get("wheels", [])):
        if not _download([f"torch @ {wheel['url']} --hash=sha256:{wheel['hashes']['sha256']}"], python, folder):
            return
    hint = f"Python {python}'s may be missing while another is there: name the Pythons that you need (--python 3.11)."
    raise UsageError(f"{torch} for Python {python} is neither on pip's index nor on PyTorch's own", hint)


def run(module: str, *arguments: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
    """Run a module of this Python."""
    command = [sys.executable, "-m", module, *arguments]
    return subprocess.run(command, input=entered, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    typer.run(bundle)
