"""Bundles for a machine without internet: what they hold, and that their installer takes nothing else."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_bundle import PYTHON, Site, make_site, make_wheel, write_list

from bundling import __main__ as bundling
from bundling.__main__ import SUMS, put_judge
from pathway_local.errors import UsageError
from pathway_local.judges.weights import weights_hash


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def made(site: Site, tiny_judge: Path) -> Path:
    """A bundle with a judge."""
    return site.bundle("made", "--judge", shutil.copytree(tiny_judge, site.root / "mine"))


@pytest.fixture
def copied(made: Path, tmp_path: Path) -> Path:
    """A copy of that bundle, to be spoilt."""
    return shutil.copytree(made, tmp_path / "copied")


@pytest.fixture
def other(site: Site, tmp_path: Path) -> Iterator[Site]:
    """Another machine, on which nothing is installed."""
    (tmp_path / "home of the user").mkdir()
    shutil.copytree(site.root / "bin", tmp_path / "bin", symlinks=True)
    yield Site(tmp_path)


def _tool(other: Site, name: str, script: str) -> None:
    (other.root / "bin" / name).unlink()
    (other.root / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (other.root / "bin" / name).chmod(0o755)


def _refused(other: Site, bundle: Path, *said: str, **environment: str) -> None:
    done = other.install(bundle, **environment)
    assert done.returncode == 1, done.stderr
    assert all(words in done.stderr for words in said), done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("checking ")]
    assert len(lines) == 2 and lines[0].startswith("error: "), done.stderr
    assert not (other.home / "pathway_local").exists()


def test_a_bundle_installs_with_its_judge_and_once_only(made: Path, other: Site) -> None:
    done = other.install(made)
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.0"
    models = other.home / ".local/share/pathway-local/models"
    assert [path.name for path in models.iterdir()] == ["mine"]
    assert weights_hash(models / "mine") == weights_hash(made / "judges/mine")
    folder = other.home / "pathway_local"
    assert not (folder / ".incoming").exists()
    assert (folder / "scripts/setup").stat().st_mode & 0o111
    again = other.install(made)
    assert (again.returncode, "already installed" in again.stderr) == (0, True)
    shutil.rmtree(models)
    assert other.install(made).returncode == 0
    assert (models / "mine/model.safetensors").is_file()


@pytest.mark.soak
def test_an_update_brings_what_changed_and_leaves_judges_and_runs(site: Site, made: Path, other: Site) -> None:
    listed = (site.project / "requirements/cpu.txt").read_text()
    try:
        lines = listed.replace("tiny==1.0", "tiny==1.1").splitlines()[::2]
        write_list(site, *(line.removesuffix(" \\") for line in lines))
        (site.project / "docs/new.md").write_text("new\n")
        update = site.bundle("update")
    finally:
        (site.project / "requirements/cpu.txt").write_text(listed)
    assert other.install(made).returncode == 0
    (other.home / "pathway_local/runs").mkdir()
    done = other.install(update)
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.1"
    folder = other.home / "pathway_local"
    assert (folder / "docs/new.md").is_file()
    assert (folder / "runs").is_dir(), "what is not the project's stays"
    assert (other.home / ".local/share/pathway-local/models/mine/model.safetensors").is_file()
    assert (folder / ".previous/requirements/cpu.txt").read_text() == listed


@pytest.mark.parametrize("kind", ["wheels/pip-*", "judges/mine/model.safetensors", "about.txt", "project.tar.gz"])
def test_what_is_missing_or_changed_is_refused(copied: Path, other: Site, kind: str) -> None:
    file = next(copied.glob(kind))
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    _refused(other, copied, "damaged or changed", file.name)
    file.unlink()
    _refused(other, copied, "1 of ", "missing", file.name)
    (copied / SUMS).unlink()
    _refused(other, copied, "SHA256SUMS is missing")


@pytest.mark.soak
def test_what_the_list_does_not_name_is_not_installed(copied: Path, other: Site) -> None:
    make_wheel(copied / "wheels", "tiny", "1.0", {"tiny.py": "FOUND = 'foreign'\n"}, tags="9-py3-none-any")
    done = other.install(copied, PIP_FIND_LINKS=str(copied / "wheels"))
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.0"


def test_a_machine_that_does_not_suit_is_refused(copied: Path, other: Site) -> None:
    _refused(other, copied, f"needs Python {PYTHON}, and none was found", PYTHON="/no/python")
    _refused(other, copied, "can't be written", XDG_DATA_HOME="/dev/null")
    _tool(other, "uname", "echo riscv64")
    _refused(other, copied, "this machine is riscv64")
    about = copied / "about.txt"
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    _tool(other, "uname", f"echo {machine}")
    about.write_text(about.read_text().replace("glibc=2.", "glibc=2.9"))
    (copied / SUMS).unlink()
    bundling._write_sums(copied)
    _refused(other, copied, "needs glibc 2.9")


def test_a_folder_of_somebody_else_is_left_alone(made: Path, other: Site) -> None:
    kept = other.home / "pathway_local/docs/mine.txt"
    kept.parent.mkdir(parents=True)
    kept.write_text("mine")
    done = other.install(made)
    assert (done.returncode, "no bundle was installed there" in done.stderr) == (1, True)
    assert kept.read_text() == "mine"


def test_a_judge_of_the_hub_is_fetched_if_it_is_not_here(
    tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    here = tmp_path / "pathway-local/models/qwen3.8-27b-bf16"
    asked = list[str]()

    run = subprocess.run

    def fetched(command: list[str], **options: Any) -> "subprocess.CompletedProcess[Any]":
        if "fetch" not in command:
            return run(command, **options)
        asked.extend(command[1:])
        shutil.copytree(tiny_judge, here)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(subprocess, "run", fetched)
    put_judge("qwen3.8-27b-bf16", tmp_path / "judges")
    assert asked == ["judges", "fetch", "qwen3.8-27b-bf16"]
    assert weights_hash(tmp_path / "judges/qwen3.8-27b-bf16") == weights_hash(here)


def test_an_entry_that_the_bundle_does_not_bring_is_named(
    tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "pathway-local" / "models.yaml"
    own.parent.mkdir()
    own.write_text(f"mine: {{source: {tiny_judge}}}\n")
    put_judge("mine", tmp_path / "judges")
    assert f"'mine' has an entry in {own}" in capsys.readouterr().err


def test_a_list_is_read_for_the_python_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        "a==1 ; python_full_version < '3.12' \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"
        "a==2 ; python_version >= '3.12' \\\n    --hash=sha256:03\nb==3 \\\n    --hash=sha256:04\n"
    )
    both = "b==3 --hash=sha256:04"
    assert bundling.wanted_by(tmp_path / "list", "3.13") == ["a==2 --hash=sha256:03", both]
    first, last = bundling.wanted_by(tmp_path / "list", "3.11")
    assert (first.split(), last) == (["a==1", "--hash=sha256:01", "--hash=sha256:02"], both)


def test_the_oldest_library_that_all_wheels_run_with(tmp_path: Path) -> None:
    for name in ("a-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64", "b-1-py3-none-any"):
        (tmp_path / f"{name}.whl").touch()
    assert bundling.least_glibc(tmp_path) == "2.17"
    (tmp_path / "c-1-cp39-abi3-manylinux_2_27_x86_64.manylinux_2_31_x86_64.whl").touch()
    assert bundling.least_glibc(tmp_path) == "2.27"


def test_torch_comes_from_its_own_index_if_the_usual_lacks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, "torch", "2.13.0+cpu", {"torch.py": ""})
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    told = f'{{ url = "{wheel.as_uri()}", hashes = {{ sha256 = "{digest}" }} }}'
    foreign = f'{{ url = "{wheel.as_uri().replace("py3-none-any", "cp39-cp39-win32")}", hashes = {{ sha256 = "0" }} }}'
    lock = f'lock-version = "1.0"\n[[packages]]\nname = "torch"\nwheels = [{foreign}, {told}]\n'
    real, asked = bundling.run, list[tuple[str, ...]]()

    def run(*words: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
        asked.append(words)
        if words[0] == "uv":
            assert entered == "torch==2.13.0"
            return subprocess.CompletedProcess(words, 0, lock, "")
        return real(*words) if "download" in words else subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(bundling, "run", run)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "to").mkdir()
    wanted = ["torch==2.13.0+cpu --hash=sha256:" + "0" * 64]
    bundling.download_torch(wanted, PYTHON, tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == [wheel.name]
    assert ["uv", "pip", "compile"] in [list(words[:3]) for words in asked]
    lock = lock.replace(f"{foreign}, {told}", told.replace(digest, "0" * 64))
    shutil.rmtree(tmp_path / "to")
    with pytest.raises(UsageError, match="neither on pip's index nor on PyTorch's own"):
        bundling.download_torch(wanted, PYTHON, tmp_path / "to")


def test_a_bundle_that_fails_leaves_nothing(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        bundling.bundle(tmp_path / "out", python=["3.10"])
    assert (ended.value.code, "Python 3.10 is not supported" in capsys.readouterr().err) == (2, True)
    words = [sys.executable, "-m", "bundling", "--out", str(tmp_path / "out"), "--python", "3.12"]
    environment = {"PYTHONPATH": str(site.project / "scripts"), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "torch" in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())
