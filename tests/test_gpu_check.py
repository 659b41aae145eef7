"""scripts/gpu-check: comparing verdicts, running parts within their time, and the report after each."""

import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from demo_judge.samples import CASES
from gpu_check.findings import ROOT, Table, Work, environment
from gpu_check.processes import alive, below, kill, process
from gpu_check.report import Part, markdown
from gpu_check.samples import SAMPLES, of_others, stored
from gpu_check.verdicts import CLOSE, Difference, Scored, compare
from gpu_check.watched import Watched
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import weights_hash
from pathway_local.judging.progress import progress_line
from pathway_local.judging.recorder import Tally
from pathway_local.rubrics.rubric_file import load_rubric

LEAVES_ONE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, flush=True)
"""
PARTS = """
import subprocess, sys, time
import pytest
from gpu_check import conftest
from gpu_check.conftest import *

conftest.WHOLE, conftest.LEAST = 20.0, 14.0

@pytest.mark.timeout(2)
def test_doctor(work):
    '''Hangs. And leaves a process.'''
    work.words.append("so far so good")
    work.figures["cases"] = float("nan")
    subprocess.run([sys.executable, "-c", LEAVES_ONE + "time.sleep(60)"], stdout=open("pid", "w"))

@pytest.mark.timeout(30)
def test_demo(work):
    '''Breaks.'''
    print("no such thing", file=sys.stderr)
    raise ValueError("what it raises")

@pytest.mark.timeout(30)
def test_random(work):
    '''Is skipped.'''
    pytest.skip("no GPU")

@pytest.mark.timeout(30)
def test_kills(work):
    '''Has a problem.'''
    work.problems.append("one | case failed")

@pytest.mark.timeout(30)
def test_bench_8b(work):
    '''Works.'''
    assert "**Problem:** one | case failed" in (OUT / "gpu-check.md").read_text(), "the report is written after each"
    time.sleep(5)

@pytest.mark.timeout(30)
def test_bench_small(work):
    '''Comes too late.'''
"""


def verdicts(**shares: float) -> dict[str, Scored]:
    """One case whose score is 4, with these probabilities of 3 and 4."""
    return {"case-1": {"score": {"value": 4.0, "3": shares["three"], "4": shares["four"]}}}


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


def _stand_ins(folder: Path, parts: str) -> list[str]:
    folder.mkdir(exist_ok=True)
    own = f"from pathlib import Path\nLEAVES_ONE = {LEAVES_ONE!r}\nOUT = Path({str(folder)!r})\n"
    (folder / "conftest.py").write_text("from gpu_check.conftest import *\n")
    (folder / "test_parts.py").write_text(own + parts)
    return [sys.executable, "-m", "pytest", "-c", str(ROOT / "scripts/gpu_check/pytest.ini"), str(folder), "--out", "."]


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT / "scripts"), str(ROOT)])}


def test_each_part_runs_within_its_time_and_the_report_tells_how_it_ended(tmp_path: Path) -> None:
    done = subprocess.run(
        _stand_ins(tmp_path, PARTS), cwd=tmp_path, env=_environment(), capture_output=True, text=True, timeout=60
    )
    text = (tmp_path / "gpu-check.md").read_text()
    assert done.returncode == 1, done.stdout
    for told in (
        "**Problems found**",
        "| doctor | Hangs | failed |",
        "- Timeout (>2.0s) from pytest-timeout.\n- so far so good",
        "| cases | nan |",
        "| demo | Breaks | failed |",
        "- what it raises",
        "no such thing",
        "| kills | Has a problem | failed |",
        "| bench_8b | Works | ok |",
        "- no GPU",
        "- the parts before it used up the time",
    ):
        assert told in text, text
    assert process(int((tmp_path / "pid").read_text())) is None, "nothing that a part started is left"


HANGS = """
import subprocess, sys
import pytest
from gpu_check.conftest import *

@pytest.mark.timeout(60)
def test_doctor(work):
    '''Hangs.'''
    subprocess.run([sys.executable, "-c", LEAVES_ONE + "time.sleep(60)"], stdout=open("pid", "w"))
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_part_ends_with_the_check_and_so_does_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    running = subprocess.Popen(_stand_ins(tmp_path, HANGS), cwd=tmp_path, env=_environment(), stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 30
        while len(started := below(running.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(started) == 2
        running.send_signal(number)
        running.wait(20)
        assert alive(started) == []
    finally:
        kill(started)
        running.kill()


def test_nothing_wrong_is_told_and_a_bar_in_a_text_does_not_break_a_table(tmp_path: Path) -> None:
    work = Work(tmp_path, tmp_path, False, tables=[Table("t", ["x"], [["a | b"], [1.5], [None], [True]])])
    text = markdown({"GPU": "none"}, [Part("one", "does one", "ok", 2.0, work=work), Part("two", "does two")])
    assert "**No problems**. 2 seconds" in text
    assert "t:\n\n| x |\n| --- |\n| a \\| b |\n| 1.5 |\n|  |\n| yes |" in text
    assert "| two | does two | … to come |" in text


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
    kill(found)


def test_shown_cases_are_read_from_the_terminal() -> None:
    line = progress_line("demo", Tally(judged=12), 20, 12.0)
    with Watched([sys.executable, "-c", f"import sys; sys.stderr.write({line!r}); input()"]) as watched:
        watched.read_to_end()
    assert watched.shown == 12


def test_a_command_that_closed_its_terminal_is_awaited_without_spinning(monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[int] = []
    look = select.select
    monkeypatch.setattr(select, "select", lambda *given: looks.append(1) or look(*given))
    began = time.monotonic()
    with Watched([sys.executable, "-c", "import os, time; os.close(2); time.sleep(1)"]) as watched:
        assert watched.read_to_end() == 0
    assert len(looks) < 10 + 25 * (time.monotonic() - began)


def test_commands_get_the_environment_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "scripts"), "/elsewhere"]))
    assert environment()["PYTHONPATH"] == "/elsewhere"
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "scripts"))
    assert "PYTHONPATH" not in environment()
