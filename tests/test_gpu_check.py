"""scripts/gpu-check: comparing verdicts, running parts within their time, and the report after each."""

import json
import os
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from demo_judge.samples import CASES
from gpu_check.__main__ import run_all
from gpu_check.findings import Findings, Table, load_findings
from gpu_check.part import FOUND, Part, run_part
from gpu_check.parts import PARTS
from gpu_check.processes import Process, alive, below, kill, process
from gpu_check.report import markdown
from gpu_check.samples import SAMPLES, of_others, stored
from gpu_check.verdicts import CLOSE, Difference, Scored, compare
from gpu_check.watched import Watched
from gpu_check.work import ROOT, environment
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import weights_hash
from pathway_local.rubrics.rubric_file import load_rubric

MACHINE = {"GPU": "none"}
SAVES = f"""
import os, pathlib
from gpu_check.findings import Findings
Findings(words=["so far so good"], figures={{"cases": 3}}).save(pathlib.Path(os.environ[{FOUND!r}]))
"""
LEAVES_ONE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, flush=True)
"""


def verdicts(**shares: float) -> dict[str, Scored]:
    """One case whose score is 4, with these probabilities of 3 and 4."""
    return {"case-1": {"score": {"value": 4.0, "3": shares["three"], "4": shares["four"]}}}


def part(name: str, code: str, limit: float = 30.0) -> Part:
    return Part(name, f"does {name}", [sys.executable, "-c", code], limit)


@pytest.fixture(autouse=True)
def importable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-in parts find the check as those of the command do."""
    paths = [str(ROOT / "scripts"), str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))


def test_the_same_verdicts_differ_in_nothing() -> None:
    kept = verdicts(three=0.1, four=0.9)
    found = compare(kept, kept, "small", Difference())
    assert (found.scores, found.equal, found.greatest, found.problems) == (1, 1, 0.0, [])


def test_a_probability_may_be_off_by_a_little() -> None:
    kept = verdicts(three=0.1, four=0.9)
    near = compare(kept, verdicts(three=0.1 + CLOSE / 2, four=0.9 - CLOSE / 2), "small", Difference())
    far = compare(kept, verdicts(three=0.1 + 2 * CLOSE, four=0.9 - 2 * CLOSE), "small", Difference())
    assert near.notes == near.problems == far.problems == []
    assert near.greatest == pytest.approx(CLOSE / 2)
    [note] = far.notes
    assert "small case-1 score" in note
    assert far.equal == 1


def test_another_score_is_told() -> None:
    other = verdicts(three=0.1, four=0.9)
    other["case-1"]["score"]["value"] = 3.0
    found = compare(verdicts(three=0.1, four=0.9), other, "small", Difference())
    assert found.notes == ["different scores: 1: small case-1 score (3, not 4)"]
    assert found.problems == ["only 0 of 1 scores are equal; at least 90% should be"]


@pytest.mark.parametrize("other, failed", [(2, False), (3, True)])
def test_few_different_scores_are_noted_and_more_than_a_tenth_is_a_problem(other: int, failed: bool) -> None:
    kept = {f"case-{number}": {"score": {"value": 4.0}} for number in range(20)}
    found = kept | {f"case-{number}": {"score": {"value": 3.0}} for number in range(other)}
    difference = compare(kept, found, "small", Difference())
    assert difference.notes[0].startswith(f"different scores: {other}: small case-0 score (3, not 4), ")
    assert bool(difference.problems) is failed


@pytest.mark.parametrize("kept, found", [({}, {"a": {}}), ({"a": {"score": {"value": 1.0}}}, {})])
def test_a_case_that_only_one_side_has_is_told(kept: dict[str, Scored], found: dict[str, Scored]) -> None:
    problem, *_ = compare(kept, found, "small", Difference()).problems
    assert problem.startswith("no verdict: 1: small a")


def test_a_value_that_only_one_side_has_counts_as_far() -> None:
    short = verdicts(three=0.1, four=0.9)
    del short["case-1"]["score"]["3"]
    assert compare(short, verdicts(three=0.1, four=0.9), "small", Difference()).far
    assert compare(verdicts(three=0.1, four=0.9), short, "small", Difference()).far


def test_the_stored_verdicts_are_of_the_judge_and_the_samples_that_are_shipped() -> None:
    kept = stored()
    assert kept.weights == weights_hash(weights_folder(load_registry().get("demo")))
    assert kept.rubrics == {name: load_rubric(name).sha256 for name in SAMPLES}
    assert kept.engine["device"] == "cpu"
    assert kept.failures == 0
    assert {name: len(each) for name, each in kept.verdicts.items()} == dict.fromkeys(SAMPLES, CASES)


def test_stored_verdicts_of_others_are_told() -> None:
    kept = stored()
    assert of_others(kept, kept) == []
    changed = stored()
    changed.rubrics["groundedness"] = "0" * 64
    changed.cases["gold-answer"] = "0" * 64
    assert of_others(kept, changed) == ["the rubric groundedness", "the sample cases of gold-answer"]


def test_findings_are_read_as_they_were_saved(tmp_path: Path) -> None:
    found = Findings(["wrong"], "", ["word"], {"a": 1}, [Table("t", ["x"], [[1.5]])], ["command"])
    found.save(tmp_path / "found.json")
    assert load_findings(tmp_path / "found.json") == found
    assert load_findings(tmp_path / "none.json") == Findings()
    assert [path.name for path in tmp_path.iterdir()] == ["found.json"]


def test_a_figure_that_is_no_number_loses_no_findings(tmp_path: Path) -> None:
    found = run_part(part("divides", SAVES.replace('": 3', '": float("nan")')), tmp_path)
    assert found.status == "ok"
    assert found.findings.words == ["so far so good"]
    assert "| cases | nan |" in markdown(MACHINE, [found], [], 0.0)


@pytest.mark.parametrize("text", ["{", '{"problems": 1}'])
def test_findings_that_cannot_be_read_are_a_problem_of_their_part(tmp_path: Path, text: str) -> None:
    saves = f"import os, pathlib\npathlib.Path(os.environ[{FOUND!r}]).write_text({text!r})"
    found = run_part(part("scribbles", saves), tmp_path)
    assert found.status == "failed"
    assert "its findings can't be read" in found.findings.problems[0]


def test_a_part_that_hangs_is_ended_at_its_limit_and_the_next_runs(tmp_path: Path) -> None:
    began = time.monotonic()
    hangs = part("hangs", f"{SAVES}\n{LEAVES_ONE}\ntime.sleep(60)", 2.0)
    code = run_all([hangs, part("goes on", SAVES)], tmp_path, MACHINE)
    assert time.monotonic() - began < 30
    told = json.loads((tmp_path / "gpu-check.json").read_text())
    assert [(each["name"], each["status"]) for each in told["parts"]] == [("hangs", "timed out"), ("goes on", "ok")]
    assert told["parts"][0]["figures"] == {"cases": 3}, "what it had found before is kept"
    assert code == 1


@pytest.mark.parametrize(("ending", "limit"), [("time.sleep(60)", 1.5), ("time.sleep(1.5); child = None", 9.0)])
def test_nothing_that_a_part_started_is_left(tmp_path: Path, ending: str, limit: float) -> None:
    run_part(part("leaves", f"{LEAVES_ONE}\n{ending}", limit), tmp_path)
    assert process(int((tmp_path / "leaves.log").read_text())) is None


@pytest.mark.parametrize(
    "number",
    [
        signal.SIGTERM,
        signal.SIGKILL,
        *(pytest.param(each, marks=pytest.mark.soak) for each in (signal.SIGINT, signal.SIGHUP)),
    ],
)
def test_a_part_ends_with_the_check_and_so_does_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    """As in a real part: its engine has its own session, and only the part can tell that the check is gone."""
    stand_in = f"from gpu_check.processes import *; end_below_on_signals()\n{LEAVES_ONE}\ntime.sleep(60)"
    check = f"""
import sys
from pathlib import Path
from gpu_check.__main__ import run_all
from gpu_check.part import Part
from gpu_check.processes import end_below_on_signals
end_below_on_signals()
run_all([Part("stand-in", "", [sys.executable, "-c", {stand_in!r}], 60.0)], Path({str(tmp_path)!r}), {{}})
"""
    log = tmp_path / "logs" / "stand-in.log"
    started: list[Process] = []
    running = subprocess.Popen([sys.executable, "-c", check], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while not (log.exists() and log.read_text().endswith("\n")) and time.monotonic() < until:
            time.sleep(0.05)
        started = below(running.pid)
        assert len(started) == 2
        running.send_signal(number)
        assert running.wait(20) == (-number if number == signal.SIGKILL else 128 + number)
        while alive(started) and time.monotonic() < until:
            time.sleep(0.05)
        assert alive(started) == []
    finally:
        kill(started)
        running.kill()


def test_what_a_failed_part_printed_is_in_the_report(tmp_path: Path) -> None:
    code = run_all([part("breaks", "raise SystemExit('no such thing')"), part("works", SAVES)], tmp_path, MACHINE)
    text = (tmp_path / "gpu-check.md").read_text()
    assert code == 1
    assert "| breaks | does breaks | **failed** |" in text
    assert "no such thing" in text
    assert "| works | does works | ok |" in text


def test_a_part_that_dies_by_a_signal_says_so(tmp_path: Path) -> None:
    outcome = run_part(part("dies", "import os; os.kill(os.getpid(), 9)"), tmp_path)
    assert outcome.status == "failed"
    assert outcome.findings.problems == ["it ended by SIGKILL"]


def test_a_part_that_is_no_program_fails_alone(tmp_path: Path) -> None:
    missing = Part("missing", "is not there", [str(tmp_path / "nothing")], 5.0)
    assert run_all([missing, part("works", SAVES)], tmp_path, MACHINE) == 1
    told = json.loads((tmp_path / "gpu-check.json").read_text())
    assert [each["status"] for each in told["parts"]] == ["failed", "ok"]


def test_nothing_wrong_is_exit_code_0_also_with_a_part_that_can_not_be_run(tmp_path: Path) -> None:
    skipped = SAVES.replace('words=["so far so good"]', 'not_run="no GPU"')
    assert run_all([part("works", SAVES), part("skipped", skipped)], tmp_path, MACHINE) == 0
    text = (tmp_path / "gpu-check.md").read_text()
    assert "**No problems**: 1 ok, 1 not run." in text
    assert "- Not run: no GPU" in text


def test_the_report_is_written_before_the_first_part_and_after_each(tmp_path: Path) -> None:
    reads = f"""
import json, os, pathlib
from gpu_check.findings import Findings
told = json.loads((pathlib.Path({str(tmp_path)!r}) / "gpu-check.json").read_text())
names = [each["name"] for each in told["parts"]]
Findings(words=[" ".join([*names, "then", *told["left"]])]).save(pathlib.Path(os.environ[{FOUND!r}]))
"""
    run_all([part("one", reads), part("two", reads)], tmp_path, MACHINE)
    told = json.loads((tmp_path / "gpu-check.json").read_text())
    assert [each["words"] for each in told["parts"]] == [["then one two"], ["one then two"]]


def test_a_part_gets_no_more_than_the_time_that_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpu_check.__main__.LEAST", 1.0)
    parts = [part("long", "import time; time.sleep(60)"), part("late", SAVES)]
    run_all(parts, tmp_path, MACHINE, whole=1.5)
    told = json.loads((tmp_path / "gpu-check.json").read_text())
    assert [each["status"] for each in told["parts"]] == ["timed out", "not run"]


def test_a_bar_in_a_text_does_not_break_a_table() -> None:
    text = markdown({"GPU": "a | b"}, [], [part("one", "")], 0.0)
    assert "| GPU | a \\| b |" in text
    assert "| one | does one | … to come |" in text


def test_processes_below_another_are_found_and_killed(tmp_path: Path) -> None:
    with Watched([sys.executable, "-c", f"{LEAVES_ONE}\nchild.wait()"]) as watched:
        until = time.monotonic() + 20
        while not (found := below(watched.process.pid)) and time.monotonic() < until:
            time.sleep(0.05)
        assert len(alive(found)) == 1
        kill(found)
        assert watched.read_to_end() == 0
        assert alive(found) == []


def test_a_killed_command_leaves_what_it_started_to_be_looked_for() -> None:
    with Watched([sys.executable, "-c", f"{LEAVES_ONE}\nchild.wait()"]) as watched:
        watched.read_for(1.0)
        found = watched.kill_command()
        assert watched.process.returncode == -9
        assert len(alive(found)) == 1, "its child stands in a session of its own"
    assert alive(found) == [], "leaving ends it"


def test_shown_cases_are_read_from_the_terminal() -> None:
    with Watched([sys.executable, "-c", "import sys; sys.stderr.write('demo 12/20 1.0 cases/s'); input()"]) as watched:
        watched.read_to_end()
    assert watched.shown == 12


def test_a_command_that_closed_its_terminal_is_awaited_without_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    monkeypatch.setattr("gpu_check.watched.below", lambda pid: looks.append(pid) or [])
    began = time.monotonic()
    with Watched([sys.executable, "-c", "import os, time; os.close(2); time.sleep(1)"]) as watched:
        assert watched.read_to_end() == 0
    assert len(looks) < 10 + 25 * (time.monotonic() - began)


def test_every_part_has_its_function() -> None:
    for kind in PARTS.values():
        module, _, function = kind.function.partition(":")
        assert callable(getattr(import_module(f"gpu_check.parts.{module}"), function))


def test_commands_get_the_environment_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "scripts"), "/elsewhere"]))
    assert environment()["PYTHONPATH"] == "/elsewhere"
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "scripts"))
    assert "PYTHONPATH" not in environment()


def test_the_command_refuses_a_part_that_is_none(tmp_path: Path) -> None:
    told = _command("--only", "nothing", "--out", tmp_path)
    assert told.returncode == 2
    assert "no part is called nothing" in " ".join(told.stderr.split())


def test_the_command_runs_one_part(tmp_path: Path) -> None:
    told = _command("--only", "doctor", "--out", tmp_path / "new")
    text = (tmp_path / "new" / "gpu-check.md").read_text()
    assert "## doctor: " in text
    assert "| weights |" in text
    assert told.returncode == int("**failed**" in text)


def _command(*arguments: object) -> Any:
    command = [str(ROOT / "scripts" / "gpu-check"), *map(str, arguments)]
    variables = os.environ | {"PYTHON": sys.executable, "COLUMNS": "200"}
    return subprocess.run(command, env=variables, capture_output=True, text=True, timeout=120, check=False)
