"""Bundles for a machine without internet: what they hold, and that their installer takes nothing else."""

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tiny_bundle import PYTHON, Site, make_site, make_wheel, write_list

from bundling import wheels
from bundling.__main__ import bundle
from bundling.judge_files import put_judge
from bundling.parts import SUMS, drop_unchanged, hash_files, put, read_size, read_sums, write_sums
from pathway_local.errors import EngineError, UsageError
from pathway_local.judges.weights import file_hashes, read_record

PART = 300_000


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return make_site(tmp_path_factory.mktemp("site"))


@pytest.fixture(scope="module")
def made(site: Site, tiny_judge: Path) -> Path:
    """A whole bundle with a judge, in parts."""
    return site.bundle("made", "--judge", _named(tiny_judge, site.root / "mine"), "--part-size", PART)


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


def _named(judge: Path, name: Path) -> Path:
    return shutil.copytree(judge, name)


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
    assert list(made.glob("judges/mine/model.safetensors.part-*")), "larger than a part"
    assert max(path.stat().st_size for path in made.rglob("*") if path.name != "project.tar.gz") <= PART
    done = other.install(made)
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.0"
    models = other.home / ".local/share/pathway-local/models"
    record = json.loads((models / "mine/fetched.json").read_text())
    assert (record["source"], sorted(path.name for path in models.iterdir())) == ("mine", ["mine"])
    for name, digest in record["files"].items():
        assert hashlib.sha256((models / "mine" / name).read_bytes()).hexdigest() == digest
    folder = other.home / "pathway_local"
    assert not (folder / ".incoming").exists()
    assert (folder / "scripts/setup").stat().st_mode & 0o111
    again = other.install(made)
    assert (again.returncode, "already installed" in again.stderr) == (0, True)
    shutil.rmtree(models)
    assert other.install(made).returncode == 0
    assert (models / "mine/model.safetensors").is_file()


@pytest.mark.soak
def test_an_update_brings_what_changed_and_needs_the_bundle_that_it_builds_on(
    site: Site, made: Path, other: Site
) -> None:
    listed = (site.project / "requirements/cpu.txt").read_text()
    try:
        lines = listed.replace("tiny==1.0", "tiny==1.1").splitlines()[::2]
        write_list(site, *(line.removesuffix(" \\") for line in lines))
        (site.project / "docs").mkdir(exist_ok=True)
        (site.project / "docs/new.md").write_text("new\n")
        update = site.bundle("update", "--judge", site.root / "mine", "--since", made / SUMS, "--part-size", PART)
    finally:
        (site.project / "requirements/cpu.txt").write_text(listed)
    assert not list(update.glob("judges/mine/model.safetensors*"))
    assert not list(update.glob("wheels/pip-*"))
    assert list(update.glob("wheels/tiny-1.1-*"))
    _refused(other, update, "holds only changes", "without --since")
    assert other.install(made).returncode == 0
    (other.home / "pathway_local/runs").mkdir()
    unchanged = other.home / ".local/share/pathway-local/models/mine/model.safetensors"
    right = unchanged.read_bytes()
    unchanged.write_bytes(b"x" + right[1:])
    done = other.install(update)
    assert (done.returncode, "mine are not those of the bundle" in done.stderr) == (1, True), done.stderr
    unchanged.write_bytes(right)
    done = other.install(update)
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.1"
    folder = other.home / "pathway_local"
    assert (folder / "docs/new.md").is_file()
    assert (folder / "runs").is_dir(), "what is not the project's stays"
    assert (folder / ".previous/requirements/cpu.txt").read_text() == listed


@pytest.mark.parametrize("kind", ["wheels/pip-*.part-0001", "judges/mine/*.part-0002", "about.txt", "project.tar.gz"])
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
    (copied / "wheels" / f"{next(copied.glob('wheels/pip-*.part-0000')).name[:-2]}99").write_bytes(b"more")
    done = other.install(copied, PIP_FIND_LINKS=str(copied / "wheels"))
    assert done.returncode == 0, done.stderr
    assert other.says() == "1.0"


def test_a_machine_that_does_not_suit_is_refused(copied: Path, other: Site) -> None:
    _refused(other, copied, f"needs Python {PYTHON}, and none was found", PYTHON="/no/python")
    _refused(other, copied, "can't be written", XDG_DATA_HOME="/dev/null")
    _tool(other, "df", "echo Avail; echo 1000")
    _refused(other, copied, "has 0 MB free", "on another disk")
    _tool(other, "uname", "echo riscv64")
    _refused(other, copied, "this machine is riscv64")
    about = copied / "about.txt"
    machine = subprocess.run(["uname", "-m"], capture_output=True, text=True, check=True).stdout.strip()
    _tool(other, "uname", f"echo {machine}")
    about.write_text(about.read_text().replace("glibc=2.", "glibc=2.9"))
    write_sums(copied, {name: digest for name, digest in hash_files(copied).items() if name != SUMS})
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
    put_judge("qwen3.8-27b-bf16", tmp_path / "judges", None)
    assert asked == ["judges", "fetch", "qwen3.8-27b-bf16"]
    record = read_record(tmp_path / "judges/qwen3.8-27b-bf16")
    assert record
    assert (record.source, record.files) == ("Qwen/Qwen3.8-27B", file_hashes(here))
    asked.clear()
    (here / "fetched.json").write_bytes((tmp_path / "judges/qwen3.8-27b-bf16/fetched.json").read_bytes())
    (here / "chat_template.jinja").write_text("{{ messages }}")
    put_judge("qwen3.8-27b-bf16", tmp_path / "again", None)
    assert (tmp_path / "again/qwen3.8-27b-bf16/chat_template.jinja").is_file(), "written after the fetch"
    (here / "config.json").write_text("{}")
    with pytest.raises(EngineError, match=r"config\.json in .* has changed since it was fetched"):
        put_judge("qwen3.8-27b-bf16", tmp_path / "changed", None)
    assert not asked


def test_an_entry_that_the_bundle_does_not_bring_is_named(
    tiny_judge: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    own = tmp_path / "pathway-local" / "models.yaml"
    own.parent.mkdir()
    own.write_text(f"mine: {{source: {tiny_judge}}}\n")
    put_judge("mine", tmp_path / "judges", None)
    assert f"'mine' has an entry in {own}" in capsys.readouterr().err
    record = read_record(tmp_path / "judges/mine")
    assert record and record.source == "mine", "not a path of this machine"


@pytest.mark.parametrize("size", [0, 1, 9, 10, 11, 20, 31])
def test_parts_join_to_the_file(tmp_path: Path, size: int) -> None:
    source = tmp_path / "source"
    source.write_bytes(bytes(range(size)))
    put(source, tmp_path / "out" / "file", 10)
    parts = sorted((tmp_path / "out").iterdir())
    assert b"".join(part.read_bytes() for part in parts) == source.read_bytes()
    assert [part.stat().st_size for part in parts[:-1]] == [10] * (len(parts) - 1)
    assert (parts[0].name == "file") == (size <= 10)


def test_a_file_of_which_a_part_changed_stays_whole(tmp_path: Path) -> None:
    (tmp_path / "wheels").mkdir()
    for name in ("wheels/same", "wheels/changed", "project"):
        for part in range(2):
            (tmp_path / f"{name}.part-000{part}").write_bytes(bytes(1 << 20))
    (tmp_path / "wheels/small").write_bytes(b"same")
    older = hash_files(tmp_path)
    (tmp_path / "wheels/changed.part-0001").write_bytes(b"new")
    sums = hash_files(tmp_path)
    drop_unchanged(tmp_path, sums, older)
    assert sums == hash_files(tmp_path)
    changed = ["wheels/changed.part-0000", "wheels/changed.part-0001"]
    assert sorted(sums) == ["project.part-0000", "project.part-0001", *changed, "wheels/small"], "the project stays"


def test_sizes_and_lists_that_are_none(tmp_path: Path) -> None:
    assert [read_size(text) for text in ("700", "5k", "2G")] == [700, 5 << 10, 2 << 30]
    for text in ("", "0", "-1", "2 GB", "1.5G", "9" * 99):
        with pytest.raises(UsageError, match="is not a size"):
            read_size(text)
    for content in (b"", b"no list\n", b"\xff\xfe", b"0" * 63 + b"  name\n"):
        (tmp_path / "list").write_bytes(content)
        with pytest.raises(UsageError):
            read_sums(tmp_path / "list")
    with pytest.raises(UsageError, match="can't be read"):
        read_sums(tmp_path / "gone")


def test_a_list_is_read_for_the_python_that_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "list").write_text(
        "a==1 ; python_full_version < '3.12' \\\n    --hash=sha256:01 \\\n    --hash=sha256:02\n"
        "a==2 ; python_version >= '3.12' \\\n    --hash=sha256:03\nb==3 \\\n    --hash=sha256:04\n"
    )
    both = "b==3 --hash=sha256:04"
    assert wheels.wanted_by(tmp_path / "list", "3.13") == ["a==2 --hash=sha256:03", both]
    first, last = wheels.wanted_by(tmp_path / "list", "3.11")
    assert (first.split(), last) == (["a==1", "--hash=sha256:01", "--hash=sha256:02"], both)


def test_the_oldest_library_that_all_wheels_run_with(tmp_path: Path) -> None:
    for name in ("a-1-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64", "b-1-py3-none-any"):
        (tmp_path / f"{name}.whl").touch()
    assert wheels.least_glibc(tmp_path) == "2.17"
    (tmp_path / "c-1-cp39-abi3-manylinux_2_27_x86_64.manylinux_2_31_x86_64.whl").touch()
    assert wheels.least_glibc(tmp_path) == "2.27"


def test_torch_comes_from_its_own_index_if_the_usual_lacks_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wheel = make_wheel(tmp_path, "torch", "2.13.0+cpu", {"torch.py": ""})
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    told = f'{{ url = "{wheel.as_uri()}", hashes = {{ sha256 = "{digest}" }} }}'
    foreign = f'{{ url = "{wheel.as_uri().replace("py3-none-any", "cp39-cp39-win32")}", hashes = {{ sha256 = "0" }} }}'
    lock = f'lock-version = "1.0"\n[[packages]]\nname = "torch"\nwheels = [{foreign}, {told}]\n'
    real, asked = wheels._run, list[tuple[str, ...]]()

    def run(*words: str, entered: str = "") -> "subprocess.CompletedProcess[str]":
        asked.append(words)
        if words[0] == "uv":
            assert entered == "torch==2.13.0"
            return subprocess.CompletedProcess(words, 0, lock, "")
        return real(*words) if "download" in words else subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(wheels, "_run", run)
    for name, value in {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": "/dev/null"}.items():
        monkeypatch.setenv(name, value)
    (tmp_path / "to").mkdir()
    wanted = ["torch==2.13.0+cpu --hash=sha256:" + "0" * 64]
    wheels._download_torch(wanted, PYTHON, tmp_path / "to")
    assert [path.name for path in (tmp_path / "to").iterdir()] == [wheel.name]
    assert ["uv", "pip", "compile"] in [list(words[:3]) for words in asked]
    lock = lock.replace(f"{foreign}, {told}", told.replace(digest, "0" * 64))
    shutil.rmtree(tmp_path / "to")
    with pytest.raises(UsageError, match="neither on pip's index nor on PyTorch's own"):
        wheels._download_torch(wanted, PYTHON, tmp_path / "to")


def test_a_bundle_that_fails_leaves_nothing(site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = {"Python 3.10 is not supported": {"python": ["3.10"]}, "is not a size": {"part_size": "big"}}
    for said, given in wrong.items():
        with pytest.raises(SystemExit) as ended:
            bundle(tmp_path / "out", **given)
        assert (ended.value.code, said in capsys.readouterr().err) == (2, True)
    words = [sys.executable, "-m", "bundling", "--out", str(tmp_path / "out"), "--python", "3.12"]
    environment = {"PYTHONPATH": str(site.project / "scripts"), "PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": "/dev/null"}
    done = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "torch" in done.stderr) == (2, True), done.stderr
    assert not list(tmp_path.iterdir())
