"""Labels of cases that somebody picked stay apart from those of a random sample."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rated_run import TINY, add, cases, said
from typed_here import Run, typing_in

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater
from pathway_local.ratings.samples import Inclusion, Sample, store_sample
from pathway_local.results.label_design import own_design, picked_labels
from pathway_local.results.ratings_matrix import ratings_matrices
from pathway_local.results.sampled_labels import _noise
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

SIZE, DRAWN = 100, range(0, 40)
PICKED = (*range(30, 40), *range(60, 90))
"""Labelled before the draw: ten of these are drawn later."""

ROWS = cases(ids=[f"s-{number:03}" for number in range(SIZE)])


def truth(place: int) -> int:
    return 1 if place in PICKED else (4, 5, 5, 2)[place % 4]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return typing_in(tmp_path, monkeypatch, capsys)


@pytest.fixture
def made(tmp_path: Path) -> Iterator[RunFile]:
    with RunFile.create(tmp_path / "picked.run") as run:
        add(run, "demo", said(*([4, 5] * (SIZE // 2)), ids=[case.id for case in ROWS]), rows=ROWS)
        label(run, PICKED)
        every = [
            Inclusion(case.id, hash_of(run, case), case.row, False, 0, len(DRAWN) / SIZE, place in DRAWN)
            for place, case in enumerate(ROWS)
        ]
        store_sample(run, run.jobs.begin(["sample"], {}), Sample(0, "tiny", 7, "", SIZE, len(DRAWN)), every)
        yield run


def hash_of(run: RunFile, case: Case) -> str:
    return fingerprint(run.key, TINY.texts_of(case))


def label(run: RunFile, places: Iterable[int]) -> None:
    rater, job = run.add_rater(Rater("ann", "human", "tiny", {})), run.jobs.begin(["import"], {})
    for place in places:
        case = ROWS[place]
        run.put(rater, case.ref(hash_of(run, case)), Verdict({"score": Score(truth(place))}), keep=None, job=job)
    run.commit()


def test_labels_that_are_older_than_the_sample_are_not_its_labels(run: Run, made: RunFile) -> None:
    refused = run("calibrate", made.path, "--against", "ann")
    assert refused.code == 2
    assert "ann labelled no case of the sample with seed 7 after it was drawn" in refused.words


def test_picked_labels_count_for_their_own_cases_alone(run: Run, made: RunFile) -> None:
    label(made, [place for place in DRAWN if place not in PICKED])
    (found,) = json.loads(run("calibrate", made.path, "--against", "ann", "--json").out)
    rows = {row["figure"]: row for row in found["figures"] if row["table"] == "calibration"}
    rest = [truth(place) for place in DRAWN if place not in PICKED]
    # 40 of the 100 cases are known, the 30 other labels stand for the 60 other cases.
    expected = (sum(map(truth, PICKED)) + (SIZE - len(PICKED)) * np.mean(rest)) / SIZE
    assert rows["labels_only"]["value"] == pytest.approx(expected)
    assert "40 cases had a label before the sample was drawn" in " ".join(found["notices"])


def test_agreement_leaves_picked_labels_out(run: Run, made: RunFile) -> None:
    before = run("agreement", made.path, "--json")
    (found,) = json.loads(before.out)
    assert {row["cases"] for row in found["figures"] if row["table"] == "pairs"} == {len(PICKED)}
    assert "ann worked on no sample" in " ".join(found["notices"])
    label(made, [place for place in DRAWN if place not in PICKED])
    (found,) = json.loads(run("agreement", made.path, "--json").out)
    assert {row["cases"] for row in found["figures"] if row["table"] == "pairs"} == {30}
    assert "ann: 40 labels are left out" in " ".join(found["notices"])
    (matrix,) = ratings_matrices(made, TINY)
    (ann,) = matrix.columns("ann")
    picked = picked_labels(matrix, ann)
    assert picked is not None and tuple(np.flatnonzero(picked)) == PICKED
    assert own_design(matrix, [ann], "ann", None).open.sum() == 30


def test_the_noise_of_labels_is_what_is_left_of_persons_and_cases() -> None:
    rng = np.random.default_rng(4)
    scores = rng.normal(3, 1, (4000, 1)) + np.array([0.0, 0.5, -0.3]) + rng.normal(0, 0.6, (4000, 3))
    assert _noise(scores) == pytest.approx(0.36 / 3, rel=0.05)
    scores[:, 2] = np.nan
    assert _noise(scores) == pytest.approx(0.36 / 2, rel=0.05)
    assert _noise(scores[:, :1]) == 0


def test_a_comparison_says_why_labels_do_not_correct_it(run: Run, made: RunFile) -> None:
    bots = [
        Case(each.id, each.inputs, {"bot": "ab"[n % 2], "question": f"q{n // 2}"}, each.row)
        for n, each in enumerate(ROWS)
    ]
    with RunFile.create(made.path.with_name("bots.run")) as other:
        add(other, "demo", said(*([4, 5] * (SIZE // 2)), ids=[case.id for case in bots]), rows=bots)
        add(other, "ann", said(*([4, 4] * 10), ids=[case.id for case in bots]), kind="human", rows=bots[:20])
    compare = ("compare", other.path, "--between", "bot=a,b", "--pair-by", "question", "--rater", "demo")
    found = json.loads(run(*compare, "--json").out)[0]["corrected"]
    assert [each["reason"] for each in found] == [
        "not defined, because people labelled no random sample of the answers"
    ]
    assert "People's labels can't correct this, because people labelled no random sample" in run(*compare).words
