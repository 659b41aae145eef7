import json
from pathlib import Path

import pytest
import yaml
from stored_judge import BY_NAME, store_judge
from typed_here import Run, Said, typing_in

from pathway_local.cli import judges
from pathway_local.cli.terminal import Screen
from pathway_local.judges import placement
from pathway_local.judges.registry import load_registry
from pathway_local.system.machine import Device, Machine

GB = 10**9
LLAMA = BY_NAME["llama"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """The command line, in homes of its own, on a wide terminal and a machine without a GPU."""
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "HF_HUB_CACHE"):
        monkeypatch.setenv(name, str(tmp_path / name))
    monkeypatch.setattr(judges, "data", Screen(markup=False, emoji=False, highlight=False, width=300))
    monkeypatch.setattr(judges, "this_machine", lambda: Machine((), 16 * GB))

    typed = typing_in(tmp_path, monkeypatch, capsys)
    return lambda *arguments: typed("judges", *arguments)


@pytest.fixture
def gpu(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine((Device("NVIDIA L4", 24 * GB, 24 * GB),), 64 * GB)
    monkeypatch.setattr(judges, "this_machine", lambda: machine)
    monkeypatch.setattr(placement, "uses_gpu", lambda: True)


def _row(said: Said, name: str) -> list[str]:
    line = next(line for line in said.out.splitlines() if line.strip().startswith(f"{name} "))
    return [cell.strip() for cell in line.split("  ") if cell.strip()]


def test_list_tells_what_is_here_and_what_fits(run: Run) -> None:
    said = run("list")
    assert said.code == 0
    assert _row(said, "qwen3-8b") == ["qwen3-8b", "Apache-2.0", "can", "–", "no GPU", "16.4"]
    assert _row(said, "qwen3-0.6b")[4] == "yes"
    assert _row(said, "llama-3.3-70b")[1:3] == ["Llama 3.3 Community License, gated", "never"]
    assert "no GPU, 16.0 GB of free memory" in said.err


def test_a_terminal_of_80_columns_shows_each_judge_s_name_whole(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(judges, "data", Screen(markup=False, emoji=False, highlight=False, width=80))
    lines = run("list").out.splitlines()
    assert {spec.name for spec in load_registry(None).specs.values()} <= {
        line.split()[0] for line in lines if line.strip()
    }
    assert max(map(len, lines)) <= 80


@pytest.mark.usefixtures("gpu")
def test_list_on_a_machine_with_a_gpu(run: Run) -> None:
    said = run("list")
    assert _row(said, "qwen3-8b")[4] == "yes"
    assert _row(said, "gemma-4-31b")[4] == "no"
    assert "1 x NVIDIA L4 of 24.0 GB" in said.err


def test_list_finds_weights_and_survives_a_broken_folder(run: Run, tmp_path: Path) -> None:
    store_judge(tmp_path / "XDG_DATA_HOME" / "pathway-local" / "models" / "qwen3-8b")
    broken = store_judge(tmp_path / "broken")
    (broken / "config.json").write_text("{")
    registry = tmp_path / "mine.yaml"
    registry.write_text("mine: {source: ./broken}\n")
    said = run("list", "--models", registry)
    assert said.code == 0
    assert _row(said, "qwen3-8b")[3] == "yes"
    assert _row(said, "mine")[1:3] == ["not stated", "not known"]


def test_show_prints_the_whole_entry(run: Run) -> None:
    said = run("show", "gemma-4-12b")
    assert said.code == 0
    for text in (
        "google/gemma-4-12B-it-qat-w4a16-ct",
        "1d2c2d7f2466070e69d6fb3fd5ce9a7d75f2f6ee",
        "    off_by:\n      enable_thinking: false\n",
        "Trained for its 4-bit weights.",
        "Weights: not on this disk",
        "On this machine: judge 'gemma-4-12b' needs a GPU of 15 GB, and this machine has none.",
    ):
        assert text in said.out, text
    entry = yaml.safe_load(said.out.partition("\nWeights:")[0])["gemma-4-12b"]
    assert entry["thinking"]["start"] == "<|channel>thought\n"
    assert "label: a demonstration judge" in run("show", "demo").out
    assert "Gated: before" in run("show", "llama-3.3-70b").out


def test_show_tells_what_was_read_from_a_folder(run: Run, tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "my judge", LLAMA)
    said = run("show", folder)
    assert said.out.startswith("my-judge:") and "context: 16384" in said.out
    assert f"Weights: {folder}" in said.out
    assert "On this machine: it runs without a GPU" in said.out


def test_check_passes_a_sound_judge_and_shows_its_prompt(run: Run, tmp_path: Path) -> None:
    folder = store_judge(tmp_path / "sound", LLAMA)
    said = run("check", folder)
    assert said.code == 0, said.out
    assert "PROBLEM" not in said.out and "note    weights: " in said.out, "an entry without a hash"
    assert "<|start_header_id|>assistant<|end_header_id|>" in said.out
    assert "(the case's question)" in said.out or "(the case's user_question)" in said.out


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """A registry with a judge whose entry denies what its chat template shows."""
    store_judge(tmp_path / "gemma", BY_NAME["gemma"])
    (tmp_path / "mine.yaml").write_text("mine: {source: ./gemma, system: native}\n")
    return tmp_path / "mine.yaml"


def test_check_ends_with_5_on_a_problem_and_says_the_fix(run: Run, refused: Path) -> None:
    said = run("check", "mine", "--models", refused)
    assert said.code == 5
    assert "PROBLEM system turn: " in said.out
    assert "Put `mine: {system: fold}` into your models.yaml" in said.out
    found = json.loads(run("check", "mine", "--models", refused, "--json").out)
    assert {"name": "engine settings", "status": "ok", "found": "only the defaults", "fix": ""} in found["checks"]
    assert {check["status"] for check in found["checks"]} >= {"ok", "problem"}
    assert run("check", refused.parent / "gemma").code == 0


@pytest.mark.parametrize("command", ["check", "fetch", "show"])
def test_an_unknown_judge_is_told_with_the_nearest(run: Run, command: str) -> None:
    said = run(command, "qwen3-8")
    assert said.code == 2
    assert said.err.splitlines()[0] == "error: no judge is called 'qwen3-8'"
    assert "qwen3-8b" in said.err.splitlines()[1].split(",")[0]
    away = run(command, "qwen3-8b") if command == "check" else None
    assert away is None or (away.code, "judges fetch qwen3-8b" in away.err) == (5, True)


def test_a_wrong_registry_is_one_line_and_a_hint(run: Run, tmp_path: Path) -> None:
    registry = tmp_path / "mine.yaml"
    registry.write_text("mine:\n  source: a/b\n  contxt: 3\n")
    for command in (["list"], ["show", "mine"], ["check", "mine"]):
        said = run(*command, "--models", registry)
        assert (said.code, said.out) == (2, "")
        assert "line 3, column 3: mine.contxt: no such key" in said.err


def test_what_is_missing_is_told_and_not_fetched(run: Run, tmp_path: Path) -> None:
    for command, fix in (
        (("check", "qwen3-8b"), "judges fetch qwen3-8b"),
        (("show", tmp_path), "holds no config.json"),
    ):
        said = run(*command)
        assert (said.code, said.out, fix in said.err) == (5, "", True)
