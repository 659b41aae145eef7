"""The demo judge as it is shipped, in real vLLM: its card tells the truth, and right answers outrank wrong ones."""

import json
from itertools import product
from pathlib import Path

import pytest

from pathway_local.demo.figures import Trial, figures
from pathway_local.demo.train import WEIGHTS
from pathway_local.demo.world import Split
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

RUBRIC, CASES, SEED = "pathway-answer", 500, 1


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The very cases of the card's first line, judged anew."""
    trial = Trial("demo", None, tmp_path_factory.mktemp("demo"), CASES, SEED)
    return trial.judged(RUBRIC, Split.VALUES)


def test_the_cards_figures_come_out_again(run: Path) -> None:
    stated = json.loads((WEIGHTS / "figures.json").read_text())
    (known,) = [each for each in stated if each["rubric"] == RUBRIC and each["split"] == Split.VALUES]
    (found,) = figures(run, RUBRIC, Split.VALUES)
    assert (found.cases, found.read) == (known["cases"], known["read"]) == (CASES, CASES)
    # Near ties fall one way or the other with the cases that share a batch.
    assert found.exact == pytest.approx(known["exact"], abs=0.02)
    assert found.within_one == pytest.approx(known["within_one"], abs=0.02)
    assert found.kappa == pytest.approx(known["kappa"], abs=0.03)
    assert found.named == pytest.approx(known["named"], abs=0.02)


def test_paraphrases_outrank_contradictions(run: Path) -> None:
    expected: dict[str, list[float]] = {"1": [], "5": []}
    with RunFile.read(run) as opened:
        for record in opened.records(rubric=RUBRIC):
            if record.metadata["true_score"] in expected and isinstance(record.outcome, Verdict):
                score = record.outcome.scores["score"].expected()
                assert score is not None
                expected[record.metadata["true_score"]].append(score)
    pairs = list(product(expected["5"], expected["1"]))
    assert len(pairs) > 5000
    assert sum(right > wrong for right, wrong in pairs) / len(pairs) >= 0.9
