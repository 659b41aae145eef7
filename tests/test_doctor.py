"""The doctor finds what is wrong, says how to mend it, and exits with 5."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from test_audit import without_triggers
from typed import HERE, Desk

from pathway_local.check import Check
from pathway_local.checks import doctor
from pathway_local.sealing.seal import WHOLE, Seal
from pathway_local.system.machine import Device, Machine
from pathway_local.system.private_file import exposed_to

GB = 10**9
FORBIDDING = [sys.executable, str(HERE / "without_namespaces.py")]


@pytest.fixture
def desk(tmp_path: Path, tiny_judge: Path) -> Desk:
    judge = shutil.copytree(tiny_judge, tmp_path / "judge")
    return Desk(tmp_path / "d", judge)


def _told(desk: Desk, *arguments: object, code: int = 0, before: list[str] | None = None) -> dict[str, dict[str, str]]:
    done = desk.typed("doctor", *arguments, "--models", "models.yaml", "--json", code=code, before=before or [])
    return {each["name"]: each for each in json.loads(done.stdout)}


def _problems(told: dict[str, dict[str, str]]) -> list[str]:
    for name, each in told.items():
        assert each["fix"] or each["status"] != "problem", name
    return [name for name, each in told.items() if each["status"] == "problem"]


def test_a_healthy_machine_judge_and_run(desk: Desk) -> None:
    cases = desk.cases(3)
    desk.typed(*desk.judging(cases))
    told = _told(desk, "may.run", "--judge", "tiny")
    assert _problems(told) == []
    assert told["seal"]["found"].startswith("namespace+filter+files")
    assert told["run"]["status"] == told["judge scripted"]["status"] == "ok"
    assert (told["weights"]["status"], "no hash to compare" in told["weights"]["found"]) == ("note", True)
    assert "3 outcomes by 1 commands" in told["run"]["found"]
    printed = desk.typed("doctor", cases.name)
    assert "no problem was found" in printed.stderr
    assert len([line for line in printed.stdout.splitlines() if line.startswith("ok")]) >= 8


def test_a_kernel_without_namespaces_is_told_with_the_way_out(desk: Desk) -> None:
    told = _told(desk, before=FORBIDDING)
    assert told["seal"]["status"] == "note"
    assert "--network none" in told["seal"]["fix"]


def test_what_is_wrong_with_a_run(desk: Desk) -> None:
    desk.typed(*desk.judging(desk.cases(3)))
    run, weights = desk.work / "may.run", desk.judge / "config.json"
    weights.write_text(weights.read_text() + " ")
    with without_triggers(run) as db:
        db.execute("UPDATE audit SET entry = entry || ' ' WHERE id = 2")
        db.execute("UPDATE jobs SET ended = NULL")
    _let_others_in(desk)
    desk.work.chmod(0o707)
    told = _told(desk, "may.run", code=5)
    assert _problems(told) == ["run folder, permissions", "audit trail", "judge scripted"]
    folder = told["run folder, permissions"]
    assert "other users of this machine can replace files in it" in folder["found"]
    assert folder["fix"].startswith(f"Run `chmod go-w {desk.work}`")
    assert told["run"]["status"] == "note"
    assert "did not end" in told["run"]["found"]


@pytest.mark.parametrize("damage", [b"", b"no run at all" * 900, b"SQLite format 3\0" + b"x" * 9000])
def test_a_file_that_is_no_run_any_more(desk: Desk, damage: bytes) -> None:
    (desk.work / "may.run").write_bytes(damage)
    (desk.work / "may.run").chmod(0o600)
    assert _problems(_told(desk, "may.run", code=5)) == ["run", "audit trail"]


KINDS = [("nfs", "note"), ("smb2", "note"), ("ext2/ext3", "ok"), ("fuseblk", "ok")]


@pytest.mark.parametrize(("kind", "status"), KINDS)
def test_a_run_on_a_network_file_system(
    tmp_path: Path, kind: str, status: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert doctor._file_system(tmp_path).found not in ("", "unknown")
    (tmp_path / "stat").write_text(f"#!/bin/sh\necho {kind}\n")
    (tmp_path / "stat").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = doctor._file_system(tmp_path)
    assert (found.status, kind in found.found) == (status, True)


def test_a_missing_file_judge_or_folder_is_a_problem_too(desk: Desk) -> None:
    told = _told(desk, "nothing.csv", "--judge", "/no/where", code=5)
    assert "no such file" in told["file"]["found"].lower()
    assert "there is no folder" in told["judge"]["found"]


def _let_others_in(desk: Desk) -> None:
    """Open the working folder and those above it for everybody."""
    for folder in (desk.work, *desk.work.parents):
        if os.access(folder, os.W_OK) and folder.is_relative_to("/tmp") and folder != Path("/tmp"):
            folder.chmod(folder.stat().st_mode | 0o055)
    models = desk.work / "models.yaml"
    models.chmod(0o644)
    if not exposed_to(models):
        pytest.skip("a folder above the temporary one keeps others out")


def test_a_cases_file_that_others_can_read(desk: Desk) -> None:
    cases = desk.cases(1)
    _let_others_in(desk)
    cases.chmod(0o644)
    told = _told(desk, cases.name, code=5)
    assert told["cases file, permissions"]["fix"] == f"chmod 600 {cases.name}"


def test_a_machine_without_an_engine_is_told_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    assert [check.status for check in doctor.version_checks()] == ["ok"]
    monkeypatch.setattr(doctor, "ENGINES", [])
    versions, engine = doctor.version_checks()
    assert (versions.status, engine.status) == ("ok", "problem")


H200 = Machine((Device("NVIDIA H200", 141 * GB, 140 * GB),), 8 * GB)


def _gpu(machine_: Machine, uses_gpu: bool, monkeypatch: pytest.MonkeyPatch, files: tuple[str, ...] = ()) -> Check:
    monkeypatch.setattr(doctor, "uses_gpu", lambda: uses_gpu)
    monkeypatch.setattr(doctor, "_GPU_FILES", files)
    return doctor._gpu(machine_)


def test_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    none = Machine((), 8 * GB)
    assert _gpu(none, False, monkeypatch).status == "ok"
    assert "float32" in _gpu(Machine((), 8 * GB, bf16=False), False, monkeypatch).found
    assert _gpu(none, True, monkeypatch).status == "problem"
    assert _gpu(H200, False, monkeypatch).status == "note"
    assert _gpu(H200, True, monkeypatch).status == "ok"
    absent = _gpu(H200, True, monkeypatch, ("/dev/no-such-gpu-file",))
    assert (absent.status, "nvidia-modprobe" in absent.fix) == ("problem", True)
    assert doctor._cuda("no: torch finds no GPU that it can use").status == "problem"
    assert doctor._cuda("NVIDIA H200").status == "ok"


def test_levels() -> None:
    less = {Seal(namespace=True): "note", Seal(filter=True, files=True): "note", Seal(files=True): "problem"}
    for seal, status in ({WHOLE: "ok"} | less).items():
        found = doctor._seal(seal)
        assert (found.status, found.found.partition(":")[0]) == (status, str(seal))


def test_a_sheet_of_one_column_is_flagged_and_the_header_s_row_is_told(desk: Desk) -> None:
    (desk.work / "a.csv").write_text("Inquérito 2026\n\nPergunta;Resposta\nOnde?;Aqui.\nQuando?;Já.\n")
    (desk.work / "b.csv").write_text("Inquérito 2026\nOnde?|Aqui.\nQuando?|Já.\n")
    for name in "ab":
        (desk.work / f"{name}.csv").chmod(0o600)
    told = _told(desk, "a.csv", code=5)
    assert "row 1 fills 1 of about 2 columns" in told["cases"]["found"] and "--header-row 3" in told["cases"]["fix"]
    told = _told(desk, "b.csv", code=5)
    assert _problems(told) == ["cases"]
    assert told["cases"]["found"].startswith("only one column named in row 1: Inquérito 2026;")
    assert "--header-row" in told["cases"]["fix"]
