"""scripts/gpu-check: the report after each part, what is left of a part, and what each part takes for wrong."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from sample_run import case

from benchmark.processes import below, kill
from demo_judge.cases import SAMPLES
from gpu_check.processes import ROOT, environment
from gpu_check.samples import CLOSE, Scored, compare, shipped, stored
from gpu_check.test_kills import RUBRIC
from gpu_check.test_kills import problems as problems_of_kills
from gpu_check.test_parts import complaints
from gpu_check.test_parts import problems as problems_of_demo
from judge_samples import RUBRICS
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sealing.seal import Seal
from pathway_local.verdict import Failure, Outcome, Score, Verdict

PARTS = """
import subprocess, sys
from pathlib import Path
import pytest

LEAVES_ONE = '''
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(60)
'''

@pytest.mark.timeout(2)
def test_doctor():
    print("so far so good")
    subprocess.run([sys.executable, "-c", LEAVES_ONE], stdout=open("pid", "w"))

@pytest.mark.timeout(30)
def test_demo():
    print("no such thing", file=sys.stderr)
    raise ValueError("what it raises")

@pytest.mark.timeout(30)
def test_random():
    pytest.skip("no GPU")

@pytest.mark.timeout(30)
def test_kills():
    assert "- demo: failed, " in Path("gpu-check.md").read_text(), "the report is written after each"
    print("it works")

@pytest.mark.timeout(60)
def test_bench():
    subprocess.run([sys.executable, "-c", LEAVES_ONE], stdout=open("pid", "w"))
"""
EVEN = dict.fromkeys(range(1, 6), 0.2)
GOOD = Verdict({"score": Score(3, EVEN)}, {"analysis": "a", "justification": "b"})


def check_of(folder: Path, parts: str) -> subprocess.Popen[bytes]:
    (folder / "conftest.py").write_text("from gpu_check.conftest import *\n")
    (folder / "test_parts.py").write_text(PARTS)
    command = [sys.executable, "-m", "pytest", "-c", str(ROOT / "scripts/gpu_check/pytest.ini"), str(folder)]
    path = os.pathsep.join([str(ROOT / "scripts"), str(ROOT)])
    return subprocess.Popen(
        [*command, "--out", ".", "-k", parts],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": path},
        stdout=subprocess.DEVNULL,
    )


def test_the_report_tells_how_each_part_ended(tmp_path: Path) -> None:
    assert check_of(tmp_path, "not bench").wait(60) == 1
    text = (tmp_path / "gpu-check.md").read_text()
    for told in (
        "**Problems found**",
        "- doctor: failed, 2 s\n- demo: failed, 0 s\n- random: not run, 0 s\n- kills: ok, 0 s",
        "Timeout (>2.0s) from pytest-timeout.\n\n```\nso far so good\n```",
        "what it raises\n\n```\nno such thing\n```",
        "no GPU",
        "it works",
    ):
        assert told in text, text
    assert not psutil.pid_exists(int((tmp_path / "pid").read_text())), "nothing that a part started is left"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_part_ends_with_the_check_and_so_does_all_that_it_started(tmp_path: Path, number: signal.Signals) -> None:
    running = check_of(tmp_path, "bench")
    try:
        until = time.monotonic() + 30
        while len(started := below(running.pid)) < 2 and time.monotonic() < until:
            time.sleep(0.05)
        assert len(started) == 2
        running.send_signal(number)
        running.wait(20)
        assert not any(each.is_running() for each in started)
        assert "- bench: … to come" in (tmp_path / "gpu-check.md").read_text()
    finally:
        kill(started)
        running.kill()


def verdicts(count: int = 1, value: float = 4.0, **shares: float) -> Scored:
    return {f"small case-{number} score": {"value": value, "4": 0.9} | shares for number in range(count)}


def test_the_same_verdicts_differ_in_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(verdicts(), verdicts()) == []
    assert capsys.readouterr().out.strip() == "1 of 1 scores are equal; probabilities differ by at most 0.0000"


@pytest.mark.parametrize("off, told", [(CLOSE / 2, False), (2 * CLOSE, True)])
def test_a_probability_may_be_off_by_a_little(off: float, told: bool, capsys: pytest.CaptureFixture[str]) -> None:
    assert compare(verdicts(), verdicts(**{"3": off})) == compare(verdicts(**{"3": off}), verdicts()) == []
    assert ("probabilities differ by 0.040: small case-0 score" in capsys.readouterr().out) is told


@pytest.mark.parametrize("other, failed", [(2, False), (3, True)])
def test_few_different_scores_are_told_and_more_than_a_tenth_is_a_problem(
    other: int, failed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    problems = compare(verdicts(20), {**verdicts(20), **verdicts(other, 3.0)})
    assert "small case-0 score is 3, not 4\n" in capsys.readouterr().out
    assert problems == (["only 17 of 20 scores are equal; at least 90% should be"] if failed else [])


@pytest.mark.parametrize("kept, found", [({}, verdicts()), (verdicts(), {})])
def test_a_case_that_only_one_side_has_is_told(kept: Scored, found: Scored) -> None:
    assert compare(kept, found)[0] == "no verdict on one side: small case-0 score"


def test_the_stored_verdicts_are_of_the_judge_and_the_samples_that_are_shipped() -> None:
    kept, of = stored()
    assert of == shipped()
    assert (kept.engine["device"], kept.failures) == ("cpu", 0)
    assert len({name.rpartition(" ")[0] for name in kept.verdicts}) == SAMPLES * len(RUBRICS)


def test_the_samples_judged_as_on_a_processor_are_fine_but_not_without_a_seal_or_with_failures() -> None:
    kept, _ = stored()
    assert problems_of_demo(kept, kept) == []
    half = Seal(namespace=True, filter=True)
    found = replace(kept, engine={**kept.engine, "seal": {"namespace": True, "filter": True}}, failures=2)
    assert problems_of_demo(found, kept) == ["2 cases failed", f"the engine was not sealed wholly: {half.missing}"]


@pytest.mark.parametrize(
    "outcome, said",
    [
        (GOOD, []),
        (Failure("engine", "It died."), ["engine: It died."]),
        (Verdict({}, GOOD.fields), ["score is missing or not on its scale"]),
        (Verdict({"score": Score(9, EVEN)}, GOOD.fields), ["score is missing or not on its scale"]),
        (Verdict({"score": Score(3)}, GOOD.fields), ["the probabilities of score are not those of its scale"]),
        (Verdict({"score": Score(3, EVEN | {5: 0.3})}, GOOD.fields), ["the probabilities of score do not sum to 1"]),
        (Verdict(GOOD.scores, {"analysis": "a"}), ["no field justification"]),
    ],
)
def test_a_reply_is_broken_where_it_lacks_something_or_has_what_its_rubric_does_not_allow(
    outcome: Outcome, said: list[str]
) -> None:
    assert list(complaints(load_rubric(RUBRIC), outcome)) == said


def run_of(path: Path, outcomes: dict[str, Outcome], again: str = "") -> Path:
    with RunFile.create(path) as run:
        store_rubric(run, load_rubric(RUBRIC))
        rater = run.add_rater(Rater("demo", "judge", RUBRIC, {}))
        for row, (name, outcome) in enumerate(outcomes.items()):
            run.put(rater, case(name, row, hash=f"{row:032}"), outcome)
        if again:
            run.put(rater, case(again, hash="1" * 32), GOOD)
    return path


def test_a_run_that_went_on_after_kills_is_compared_with_an_undisturbed_one(tmp_path: Path) -> None:
    whole = run_of(tmp_path / "whole.run", {"a": GOOD, "b": GOOD, "c": GOOD})
    assert problems_of_kills(whole, whole, 3) == []
    lost = run_of(tmp_path / "lost.run", {"a": GOOD, "b": Failure("engine", "It died.")})
    assert problems_of_kills(lost, whole, 3) == [
        "2 of 3 cases were judged, 0 of them twice, and 1 failed",
        f"no verdict on one side: {RUBRIC} b score",
        f"no verdict on one side: {RUBRIC} c score",
        "only 1 of 3 scores are equal; at least 90% should be",
    ]
    twice = run_of(tmp_path / "twice.run", {"a": GOOD, "b": GOOD, "c": GOOD}, again="a")
    assert problems_of_kills(twice, whole, 3) == ["3 of 3 cases were judged, 1 of them twice, and 0 failed"]


def test_commands_get_the_environment_of_a_user(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "scripts"), "/elsewhere"]))
    assert environment()["PYTHONPATH"] == "/elsewhere"
