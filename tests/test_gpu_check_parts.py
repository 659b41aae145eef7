"""The parts of scripts/gpu-check: what each takes for wrong. No test here loads an engine."""

from dataclasses import replace
from pathlib import Path

import pytest
from sample_run import case

from gpu_check.findings import Work
from gpu_check.samples import stored
from gpu_check.test_demo import compare_judged
from gpu_check.test_kills import RUBRIC, compare_runs
from gpu_check.test_random import complaints
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sealing.seal import Seal
from pathway_local.verdict import Failure, Outcome, Score, Verdict

EVEN = dict.fromkeys(range(1, 6), 0.2)
GOOD = Verdict({"score": Score(3, EVEN)}, {"analysis": "a", "justification": "b"})


@pytest.fixture
def work(tmp_path: Path) -> Work:
    return Work(tmp_path, tmp_path, on_gpu=False)


def run_of(path: Path, outcomes: dict[str, Outcome]) -> Path:
    with RunFile.create(path) as run:
        store_rubric(run, load_rubric(RUBRIC))
        rater = run.add_rater(Rater("demo", "judge", RUBRIC, {}))
        for row, (name, outcome) in enumerate(outcomes.items()):
            run.put(rater, case(name, row, hash=f"{row:032}"), outcome)
    return path


@pytest.mark.parametrize(
    "verdict, said",
    [
        (GOOD, []),
        (Verdict({}, GOOD.fields), ["no score score"]),
        (Verdict({"score": Score(9, EVEN)}, GOOD.fields), ["score is 9, which is not on its scale"]),
        (Verdict({"score": Score(3)}, GOOD.fields), ["the probabilities of score are not those of its scale"]),
        (
            Verdict({"score": Score(3, EVEN | {5: 0.3})}, GOOD.fields),
            ["the probabilities of score do not sum to 1"],
        ),
        (Verdict(GOOD.scores, {"analysis": "a"}), ["no field justification"]),
    ],
)
def test_a_reply_is_broken_where_it_lacks_something_or_has_what_its_rubric_does_not_allow(
    verdict: Verdict, said: list[str]
) -> None:
    assert list(complaints(load_rubric(RUBRIC), verdict)) == said


def test_a_resumed_run_is_compared_with_an_undisturbed_one(work: Work, tmp_path: Path) -> None:
    whole = run_of(tmp_path / "whole.run", {"a": GOOD, "b": GOOD})
    compare_runs(work, run_of(tmp_path / "killed.run", {"a": GOOD, "b": GOOD}), whole, 2)
    assert work.problems == []
    assert work.words == ["2 of 2 cases were judged, 0 twice, 0 failed; 2 of 2 scores equal the undisturbed run's"]


def test_a_lost_and_a_failed_case_are_told(work: Work, tmp_path: Path) -> None:
    whole = run_of(tmp_path / "whole.run", {"a": GOOD, "b": GOOD, "c": GOOD})
    compare_runs(work, run_of(tmp_path / "killed.run", {"a": GOOD, "b": Failure("engine", "It died.")}), whole, 3)
    assert work.problems == [
        "2 of 3 cases were judged, 0 twice",
        "1 cases failed",
        "only 1 of 3 scores equal the undisturbed run's",
    ]


def test_a_case_that_was_judged_twice_is_told(work: Work, tmp_path: Path) -> None:
    whole, killed = (run_of(tmp_path / name, {"a": GOOD}) for name in ("whole.run", "killed.run"))
    with RunFile.open(killed) as run:
        [(rater, _)] = run.raters()
        run.put(rater, case("a", hash="1" * 32), GOOD)
    compare_runs(work, killed, whole, 1)
    assert work.problems == ["1 of 1 cases were judged, 1 twice"]


def test_the_samples_judged_as_on_a_processor_are_fine(work: Work) -> None:
    kept = stored()
    compare_judged(work, kept, kept)
    assert work.problems == []
    assert "100 of 100 scores equal the processor's" in work.words[0]


def test_an_engine_without_a_seal_failures_and_other_weights_are_problems(work: Work) -> None:
    kept = stored()
    found = replace(
        kept, weights="0" * 64, engine={**kept.engine, "seal": {"namespace": True, "filter": True}}, failures=2
    )
    compare_judged(work, found, kept)
    assert work.problems == [
        "the stored verdicts are out of date (the demo judge's weights): scripts/gpu-check --store",
        "2 cases failed",
        "the engine was not sealed wholly: " + Seal(namespace=True, filter=True).missing,
    ]


def test_a_rubric_without_verdicts_is_told(work: Work) -> None:
    kept = stored()
    others = {name: verdicts for name, verdicts in kept.verdicts.items() if name != "groundedness"}
    compare_judged(work, replace(kept, verdicts=others), kept)
    problem, *_ = work.problems
    assert problem.startswith("no verdict: 20: groundedness ")
