"""The demo judge's figures are counted from verdicts, and its card states them: those that real vLLM gives (soak)."""

import json
import shutil
from itertools import product
from math import sqrt
from pathlib import Path

import pytest

from demo_judge.figures import (
    FIGURES,
    ScoreFigures,
    figures,
    judged,
    read_figures,
    rubrics_digest,
    write_card,
    write_figures,
)
from demo_judge.world import Split
from pathway_local.case import Case
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.system.shipped import packaged_folder
from pathway_local.verdict import Failure, Outcome, Score, Verdict


def stored(path: Path, outcomes: list[tuple[int, Outcome]]) -> Path:
    """A run of the groundedness rubric: each right score with what the judge said."""
    rubric = load_rubric("groundedness")
    with RunFile.create(path) as run:
        store_rubric(run, rubric)
        rater = run.add_rater(Rater("demo", "judge", rubric.name, {}))
        for number, (right, outcome) in enumerate(outcomes):
            case = Case(
                f"made-{number}", {}, {"meant_score": str(right), "decisive": "context May 3: wrong"}, number + 1
            )
            run.put(rater, case.ref(f"{number:032x}"), outcome, keep=None)
    return path


def said(score: int, thoughts: str = "On it: response May 4, context May 3: wrong.") -> Verdict:
    return Verdict({"score": Score(score)}, {"thoughts": thoughts, "explanation": "x"})


def test_figures_count_verdicts_and_take_failures_as_wrong(tmp_path: Path) -> None:
    outcomes = [(1, said(1)), (2, said(4, "no")), (4, said(5)), (5, said(5)), (3, said(3)), (5, Failure("cut", "x"))]
    (found,) = figures(stored(tmp_path / "a.run", outcomes), "groundedness", Split.VALUES)
    assert (found.cases, found.read) == (6, 5)
    assert found.exact == pytest.approx(3 / 6)
    assert found.named == pytest.approx(4 / 6)
    # The 3, "nothing to be grounded", has no place on the scale.
    assert found.within_one == pytest.approx(3 / 4)
    # At places 0-0, 1-2, 2-3 and 3-3 of the four levels: squared distances 2 in all, 12 if paired by chance.
    assert found.kappa == pytest.approx(1 - 2 / 12)


def test_the_card_states_figures_size_and_that_the_scores_mean_nothing(tmp_path: Path) -> None:
    config = {"num_hidden_layers": 5, "hidden_size": 192, "vocab_size": 3008, "max_position_embeddings": 8192}
    (tmp_path / "config.json").write_text(json.dumps(config))
    first = {"seed": 0, "easy": 300, "short": 1200, "whole": 1650, "rate": 0.005, "batch": 32, "rubrics": "of old"}
    second = first | {"seed": 7, "short": 0, "whole": 240, "rate": 0.002, "rubrics": rubrics_digest()}
    (tmp_path / "training.json").write_text(json.dumps({"stages": [first, second]}))
    (tmp_path / "model.safetensors").write_bytes(b"0" * 6_100_000)
    values = ScoreFigures("groundedness", "heldout-values", "score", 500, 499, 0.914, 0.968, 0.9012, 0.871)
    kinds = ScoreFigures("groundedness", "heldout-kinds", "score", 500, 500, 0.5, 0.75, None, 0.25)
    by_hand = ScoreFigures("gold-answer", "hand-written", "correctness_score", 16, 16, 0.3125, 0.5, 0.1, 0.0)
    write_figures(tmp_path, [values, kinds, by_hand])
    write_card(tmp_path)
    card = (tmp_path / "README.md").read_text()
    assert "| groundedness | score | 91.4% | 96.8% | 0.90 | 87.1% |" in card
    assert "| groundedness | score | 50.0% | 75.0% | undefined | 25.0% |" in card
    assert "6.1 MB" in card and "500 made-up cases" in card
    assert "on your own data its scores mean nothing" in " ".join(card.split())
    assert "### New wordings" not in card
    training = " ".join(card.split())
    assert (
        "1. 1,200 steps with the rubrics' names alone, then 1,650 under texts that they had before; 32 cases"
        in training
    )
    assert "2. From those weights, with new optimizers, 240 steps under their present texts; 32 cases" in training
    assert "--seed 8\n" in card
    assert "- 5 of 16 under `gold-answer` (`correctness_score`)" in card
    assert "| gold-answer |" not in card


def test_the_shipped_card_states_what_was_measured_under_the_present_rubrics(tmp_path: Path) -> None:
    shipped = packaged_folder("demo/weights")
    assert json.loads((shipped / FIGURES).read_text())["rubrics"] == rubrics_digest(), (
        "measure again: demo_judge.figures"
    )
    again = shutil.copytree(shipped, tmp_path / "weights")
    write_card(again)
    assert (again / "README.md").read_text() == (shipped / "README.md").read_text()


RUBRIC, SEED = "pathway-answer", 1
SAMPLE = 60


def on_the_card() -> ScoreFigures:
    """The card's first line."""
    stated = read_figures(packaged_folder("demo/weights"))
    (known,) = [each for each in stated if each.rubric == RUBRIC and each.split == Split.VALUES]
    assert known.cases == known.read >= SAMPLE
    return known


def judged_anew(folder: Path, cases: int) -> tuple[Path, ScoreFigures, ScoreFigures]:
    """The first cases of the card's first line judged anew; the run, its figures, and the card's."""
    known = on_the_card()
    run = judged(folder, RUBRIC, Split.VALUES, cases, SEED)
    (found,) = figures(run, RUBRIC, Split.VALUES)
    assert found.cases == found.read == cases
    return run, found, known


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, ScoreFigures, ScoreFigures]:
    return judged_anew(tmp_path_factory.mktemp("demo"), SAMPLE)


@pytest.mark.soak
def test_a_sample_comes_out_as_the_card_says(sample: tuple[Path, ScoreFigures, ScoreFigures]) -> None:
    _, found, known = sample
    for share in ("exact", "within_one", "named"):
        expected = getattr(known, share)
        chance = sqrt(expected * (1 - expected) / SAMPLE)
        assert getattr(found, share) == pytest.approx(expected, abs=4 * chance)


@pytest.mark.soak
def test_the_cards_figures_come_out_again(tmp_path: Path) -> None:
    _, found, known = judged_anew(tmp_path, on_the_card().cases)
    # Near ties fall one way or the other with the cases that share a batch.
    assert found.exact == pytest.approx(known.exact, abs=0.02)
    assert found.within_one == pytest.approx(known.within_one, abs=0.02)
    assert found.kappa == pytest.approx(known.kappa, abs=0.03)
    assert found.named == pytest.approx(known.named, abs=0.02)


@pytest.mark.soak
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
