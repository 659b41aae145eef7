"""The demo judge as it is shipped, in real vLLM: its card tells the truth, and right answers outrank wrong ones."""

from itertools import product
from math import sqrt
from pathlib import Path

import pytest

from demo_judge.card import ScoreFigures, read_figures
from demo_judge.figures import Trial, figures
from demo_judge.world import Split
from pathway_local.runs.run_file import RunFile
from pathway_local.system.shipped import packaged_folder
from pathway_local.verdict import Verdict

pytestmark = pytest.mark.soak  # the quickstart judges with it each time, and the tests of figures read its card

RUBRIC, SEED = "pathway-answer", 1
SAMPLE = 60


def on_the_card() -> ScoreFigures:
    """The card's first line."""
    stated = read_figures(packaged_folder("demo/weights"))
    (known,) = [each for each in stated if each.rubric == RUBRIC and each.split == Split.VALUES]
    assert known.cases == known.read >= SAMPLE
    return known


def judged(folder: Path, cases: int) -> tuple[Path, ScoreFigures, ScoreFigures]:
    """The first cases of the card's first line judged anew; the run, its figures, and the card's."""
    known = on_the_card()
    run = Trial(folder, cases, SEED).judged(RUBRIC, Split.VALUES)
    (found,) = figures(run, RUBRIC, Split.VALUES)
    assert found.cases == found.read == cases
    return run, found, known


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ScoreFigures, ScoreFigures]:
    return judged(tmp_path_factory.mktemp("demo"), SAMPLE)


def test_a_sample_comes_out_as_the_card_says(sample: tuple[Path, ScoreFigures, ScoreFigures]) -> None:
    _, found, known = sample
    for share in ("exact", "within_one", "named"):
        expected = getattr(known, share)
        chance = sqrt(expected * (1 - expected) / SAMPLE)
        assert getattr(found, share) == pytest.approx(expected, abs=4 * chance)


def test_the_cards_figures_come_out_again(tmp_path: Path) -> None:
    _, found, known = judged(tmp_path, on_the_card().cases)
    # Near ties fall one way or the other with the cases that share a batch.
    assert found.exact == pytest.approx(known.exact, abs=0.02)
    assert found.within_one == pytest.approx(known.within_one, abs=0.02)
    assert found.kappa == pytest.approx(known.kappa, abs=0.03)
    assert found.named == pytest.approx(known.named, abs=0.02)


def test_paraphrases_outrank_contradictions(sample: tuple[Path, ScoreFigures, ScoreFigures]) -> None:
    expected: dict[str, list[float]] = {"1": [], "5": []}
    with RunFile.read(sample[0]) as opened:
        for record in opened.records(rubric=RUBRIC):
            if record.metadata["meant_score"] in expected and isinstance(record.outcome, Verdict):
                score = record.outcome.scores["score"].expected()
                assert score is not None
                expected[record.metadata["meant_score"]].append(score)
    pairs = list(product(expected["5"], expected["1"]))
    assert len(pairs) > 80
    assert sum(right > wrong for right, wrong in pairs) / len(pairs) >= 0.9
