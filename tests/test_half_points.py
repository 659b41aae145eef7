"""Numbers between levels are no levels: figures that need levels leave them out, and a sentence says what to quote."""

from collections.abc import Sequence
from pathlib import Path

import krippendorff
import numpy as np
import pytest
from rated_run import add, cases, scored
from sklearn.metrics import cohen_kappa_score
from typed_here import Run, notes, rows, sentences

from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

IDS = [f"s-{number}" for number in range(24)]
JUDGE = [1, 2, 3, 4, 5, 4] * 4
ANN = [1, 2.5, 3, 4, 4.5, 3.5, 1.5, 2, 3, 4.5, 5, 4] * 2
BOB = [1, 2, 3.5, 4, 5, 4, 1, 2.5, 2.5, 4, 5, 3] * 2


def store(path: Path, rubric: Rubric, **people: Sequence[float]) -> Path:
    rated = cases(rubric, IDS)
    with RunFile.create(path) as made:
        for name, given in {"demo": JUDGE, **people}.items():
            verdicts = {case.id: Verdict({"score": Score(value)}) for case, value in zip(rated, given, strict=True)}
            add(made, name, verdicts, rubric, "judge" if name == "demo" else "human", rated)
    return path


def test_half_points_on_a_scale_that_has_them_have_kappa_and_alpha(run: Run, tmp_path: Path) -> None:
    field = "min: 1, max: 5, step: 0.5"
    out = run("agreement", store(tmp_path / "may.run", scored("plain", field), ann=ANN, bob=BOB), "--json").out
    pairs = {(each["first"], each["second"]): each for each in rows(out, "pairs")}
    for (one, other), given in {("demo", "ann"): (JUDGE, ANN), ("ann", "bob"): (ANN, BOB)}.items():
        places = [(np.array(each) * 2).astype(int) for each in given]
        for name, weights in (("kappa", None), ("kappa_quadratic", "quadratic")):
            expected = cohen_kappa_score(*places, weights=weights, labels=range(2, 11))
            assert pairs[one, other][name]["value"] == pytest.approx(expected)
    together = {each["raters"]: each for each in rows(out, "together")}
    found = krippendorff.alpha([JUDGE, ANN, BOB], level_of_measurement="ordinal", value_domain=np.arange(1, 5.5, 0.5))
    assert together["all 3 raters"]["alpha_ordinal"]["value"] == pytest.approx(found)
    assert not notes(out, "between_levels")


@pytest.mark.parametrize(
    ("field", "odd"),
    [("min: 1, max: 5", 3.5), ("levels: {1: a, 2: b, 4: c, 5: d}", 4.5), ("min: 1, max: 5", 3.25)],
)
def test_for_other_numbers_one_sentence_says_what_to_quote(run: Run, tmp_path: Path, field: str, odd: float) -> None:
    judge = [2 if "levels" in field and value == 3 else value for value in JUDGE]
    ann = [odd, *judge[1:]]
    rubric = scored("plain", field)
    rated = cases(rubric, IDS)
    with RunFile.create(tmp_path / "may.run") as made:
        for name, given in {"demo": judge, "gpt": judge[::-1], "ann": ann, "bob": ann}.items():
            verdicts = {case.id: Verdict({"score": Score(value)}) for case, value in zip(rated, given, strict=True)}
            add(made, name, verdicts, rubric, "human" if name in ("ann", "bob") else "judge", rated)
    out = run("agreement", tmp_path / "may.run", "--rater", "demo", "--rater", "ann", "--rater", "bob", "--json").out
    (told,) = notes(out, "between_levels")
    assert told.startswith("ann and bob gave scores between the levels, so figures")
    assert "quote Spearman" in told and "(Spearman: 1 is fully" in " ".join(sentences(out))
    (of_judge, *_) = rows(out, "pairs")
    assert "kappa" not in of_judge and of_judge["spearman"]["value"] > 0.8
    assert "These 2 people agree among themselves at 1.00 (Krippendorff's alpha" in " ".join(sentences(out))
    for options in ((), ("--full",)):
        shown = run("agreement", tmp_path / "may.run", "--rater", "demo", "--rater", "ann", "--rater", "bob", *options)
        assert "scores between the levels of the scale" not in shown.words
    assert "plain score by ann: scores between levels count in the mean alone (1)." in run("summary", "may.run").words
    # Two judges are then compared by Spearman unasked.
    (judges,) = rows(run("agreement", tmp_path / "may.run", "--json").out, "judges")
    assert judges["coefficient"] == "spearman" and judges["difference"]["value"] is not None


def test_one_half_point_changes_no_other_pair(run: Run, tmp_path: Path) -> None:
    ann = [1, 2, 3, 3, 5, 5, 1, 2, 3, 4, 4, 2] * 2
    bob = [2, 2, 3, 5, 5, 3] * 4
    found = []
    for name, own in (("whole", bob), ("half", [2.5, *bob[1:]])):
        out = run(
            "agreement", store(tmp_path / f"{name}.run", scored("plain", "min: 1, max: 5"), ann=ann, bob=own), "--json"
        ).out
        pairs = {(each["first"], each["second"]): each for each in rows(out, "pairs")}
        found.append((pairs["demo", "ann"], "kappa" in pairs["demo", "bob"]))
    assert found[0][0] == found[1][0] and (found[0][1], found[1][1]) == (True, True)
    assert pairs["demo", "bob"]["kappa"]["value"] is None and pairs["demo", "bob"]["spearman"]["value"] > 0
