"""Labels of cases that somebody picked stay apart from those of a random sample."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from agreement_run import HELPFUL
from rated_run import TINY, add, cases, said, store_draw
from typed_here import Run, notes, rows, sentences

from pathway_local.case import Case
from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.label_design import design_weights, label_designs, picked_labels, uneven_strata
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.statistics.agreement import pair_agreement, reliability
from pathway_local.statistics.figure import Interval
from pathway_local.verdict import Score, Verdict

SIZE, DRAWN = 100, range(0, 40)
PICKED = (*range(30, 40), *range(60, 90))
"""Rated from another file than the sheet: ten of these are drawn, too."""

SCALE = (1.0, 2.0, 3.0, 4.0, 5.0)
ROWS = cases(ids=[f"s-{number:03}" for number in range(SIZE)])


def truth(place: int) -> int:
    return 1 if place in PICKED else (4, 5, 5, 2)[place % 4]


@pytest.fixture
def made(tmp_path: Path) -> Iterator[RunFile]:
    with RunFile.create(tmp_path / "picked.run") as run:
        add(run, "demo", said(*([4, 5] * (SIZE // 2)), ids=[case.id for case in ROWS]), rows=ROWS)
        label(run, PICKED)
        store_draw(run, ROWS, DRAWN)
        yield run


def label(run: RunFile, places: Iterable[int], *, sheet: bool = False) -> None:
    given = {ROWS[place].id: Verdict({"score": Score(truth(place))}) for place in places}
    add(run, "ann", given, kind="human", rows=ROWS, imported=True, sheet=sheet)


def test_labels_from_another_file_are_not_the_samples(run: Run, made: RunFile) -> None:
    shown = run("agreement", made.path)
    assert shown.code == 0 and "would give" not in shown.words
    assert "No rating by ann came from a sheet or page of the sample with seed 7" in shown.words


def test_picked_labels_correct_nothing(run: Run, made: RunFile) -> None:
    """Ten of the drawn cases were picked before, and are not among the labels of the sheet: they count as missing."""
    label(made, [place for place in DRAWN if place not in PICKED], sheet=True)
    found = run("agreement", made.path, "--json").out
    (row,) = rows(found, "corrected")
    assert row["labels_only"]["value"] == pytest.approx(
        np.mean([truth(place) for place in DRAWN if place not in PICKED])
    )
    assert (row["labelled"], row["cases"]) == (30, SIZE)
    assert "30 of ann's 70 labels (sample with seed 7)" in " ".join(sentences(found))


def test_labels_by_one_person_are_said_to_leave_out_what_a_second_would_give(run: Run, made: RunFile) -> None:
    once = "the interval of the corrected mean is about the labels that {} gave"
    label(made, [place for place in DRAWN if place not in PICKED], sheet=True)
    assert once.format("ann") in run("agreement", made.path).words
    for person, count, wave in (("ann", len(DRAWN), (4, 5)), ("bob", 20, (5, 5, 4))):
        given = {ROWS[place].id: Verdict({"score": Score(wave[place % len(wave)])}) for place in [*DRAWN][:count]}
        add(made, f"team/{person}", given, kind="human", rows=ROWS, imported=True, sheet=True)
    team = run("agreement", made.path, "--against", "team", "--json")
    (row,) = rows(team.out, "corrected")
    assert row["corrected"]["low"] < row["corrected"]["value"] < row["corrected"]["high"]
    assert once.format("team") not in run("agreement", made.path, "--against", "team").words


def test_agreement_leaves_picked_labels_out(run: Run, made: RunFile) -> None:
    before = run("agreement", made.path, "--json").out
    assert {row["cases"] for row in rows(before, "pairs")} == {len(PICKED)}
    assert "ann worked on no sample" in notes(before, "worked_on_no_sample")[0]
    label(made, [place for place in DRAWN if place not in PICKED], sheet=True)
    out = run("agreement", made.path, "--json").out
    assert {row["cases"] for row in rows(out, "pairs")} == {30}
    assert "30 of ann's 70 ratings count" in notes(out, "picked_left_out")[0]
    assert [(each["scored"], each["rated"]) for each in rows(out, "raters") if each["rater"] == "ann"] == [(30, 70)]
    assert "ann human 30 70" in run("agreement", made.path).words
    (matrix,) = ratings_matrices(made, TINY)
    (ann,) = matrix.columns("ann")
    picked = picked_labels(matrix, ann)
    assert picked is not None and tuple(np.flatnonzero(picked)) == PICKED
    assert label_designs(matrix, [ann])[0].random.sum() == 30


def test_a_comparison_says_why_labels_do_not_correct_it(run: Run, made: RunFile) -> None:
    bots = [
        Case(each.id, each.inputs, {"bot": "ab"[n % 2], "question": f"q{n // 2}"}, each.row)
        for n, each in enumerate(ROWS)
    ]
    with RunFile.create(made.path.with_name("bots.run")) as other:
        add(other, "demo", said(*([4, 5] * (SIZE // 2)), ids=[case.id for case in bots]), rows=bots)
        add(other, "ann", said(*([4, 4] * 10), ids=[case.id for case in bots]), kind="human", rows=bots[:20])
    compare = ("compare", other.path, "--between", "bot=a,b", "--pair-by", "question", "--rater", "demo")
    found = [row["corrected"]["reason"] for row in rows(run(*compare, "--json").out, "compare")]
    assert found == ["people labelled no random sample of the answers"]
    assert "People's ratings can't correct the judge's scores here, because people labelled" in run(*compare).words


def test_labels_of_uneven_strata_weigh_by_their_share(tmp_path: Path) -> None:
    """The judge is right in the first half of the cases, of which a tenth was drawn, and wrong in half of the other."""
    ids = [case.id for case in ROWS]
    people = [4 if place < 50 or place % 2 else 5 for place in range(SIZE)]
    drawn = [place for place in range(SIZE) if place % 10 == 0 or place >= 50]
    with RunFile.create(tmp_path / "strata.run") as run:
        add(run, "demo", said(*([4] * SIZE), ids=ids), rows=ROWS)
        store_draw(run, ROWS, drawn, strata=[place // 50 for place in range(SIZE)])
        given = {ids[place]: Verdict({"score": Score(people[place])}) for place in drawn}
        add(run, "ann", given, kind="human", rows=ROWS, imported=True, sheet=True)
        [matrix] = ratings_matrices(run, TINY)
        weights, scored = design_weights(matrix, [0, 1]), np.isfinite(matrix.given)
        assert weights is not None
        assert set(weights(scored.all(axis=1))[drawn[:5]]) == {10.0} and set(weights(scored.all(axis=1))[50:]) == {1.0}
        assert set(weights(scored.any(axis=1))) == {1.0}, "the judge scored every case"
        assert design_weights(matrix, [0]) is None
        found = ScoreAgreement(run, matrix, AgreementOptions())
    assert found.pairs[0].agreement.figures["exact"].value == pytest.approx(0.75)
    assert found.sets[0].found.shared == 55 and any(uneven_strata(matrix))
    assert "uneven_strata" in [note.key for note in found.notices]


def test_weights_are_those_of_the_cases_of_a_figure(tmp_path: Path) -> None:
    """Two judges score every case. Ann labels half of the cases on which they disagree, and a tenth of the others."""
    rng = np.random.default_rng(3)
    half = np.arange(400) < 100
    true = rng.integers(1, 6, 400)
    given = [np.clip(true + half * rng.integers(-2, 3, 400), 1, 5).astype(float) for _ in range(3)]
    drawn = np.flatnonzero(np.where(half, np.arange(400) % 2 == 0, np.arange(400) % 10 == 0))
    rows = cases(ids=[f"s-{number:03}" for number in range(400)])
    ids = [case.id for case in rows]
    with RunFile.create(tmp_path / "sets.run") as run:
        for name, scores in zip(("demo", "gpt"), given, strict=False):
            add(run, name, said(*map(int, scores), ids=ids), HELPFUL, rows=rows)
        store_draw(run, rows, drawn, HELPFUL, strata=[int(each) for each in half])
        labels = {ids[at]: Verdict({"score": Score(int(given[2][at]))}) for at in drawn}
        add(run, "ann", labels, HELPFUL, "human", rows, imported=True, sheet=True)
        [matrix] = ratings_matrices(run, HELPFUL)
        found = ScoreAgreement(run, matrix, AgreementOptions())
        plain = reliability(matrix.on_scale, SCALE).figures
    together = found.sets[0].found.figures
    whole = reliability(np.stack(given, axis=1), SCALE).figures
    # Alpha and AC rest on all cases, ICC on Ann's, of which those with disagreement are too many.
    for name in ("alpha_ordinal", "ac2_quadratic"):
        assert together[name].value == plain[name].value
    for name in ("alpha_ordinal", "ac2_quadratic", "icc_2_1"):
        assert together[name].value == pytest.approx(whole[name].value, abs=0.04), name
    assert abs(float(str(plain["icc_2_1"].value)) - float(str(whole["icc_2_1"].value))) > 0.15
    # So does the comparison of both judges with Ann: unweighted, they would seem to agree less with her than they do.
    _, two = found.people.two_judges(0, 1)
    for judge, side in zip(given, (two.first, two.second), strict=False):
        whole_kappa, picked = (
            pair_agreement(judge[places], given[2][places], SCALE).figures["kappa_quadratic"].value
            for places in (slice(None), drawn)
        )
        assert side.value == pytest.approx(whole_kappa, abs=0.04)
        assert isinstance(picked, float) and isinstance(side.value, float) and picked < side.value - 0.1


def test_a_weight_counts_as_so_many_cases() -> None:
    rng = np.random.default_rng(1)
    first = rng.integers(1, 6, 60).astype(float)
    second = np.clip(first + rng.integers(-1, 2, 60), 1, 5)
    weights = rng.integers(1, 4, 60)
    copied = (np.repeat(each, weights) for each in (first, second))
    heavy = pair_agreement(first, second, SCALE, weights=weights.astype(float)).figures
    for name, plain in pair_agreement(*copied, SCALE).figures.items():
        assert heavy[name].value == pytest.approx(plain.value), name


def test_weighted_agreement_is_covered_as_often_as_it_says() -> None:
    """A tenth and a half of two strata are labelled, and raters agree on 90% and 50% of their cases."""
    covered = 0
    for seed in range(200):
        rng = np.random.default_rng(seed)
        stratum = np.repeat([0, 1], [60, 60])
        same = rng.random(120) < np.array([0.9, 0.5])[stratum]
        first = rng.integers(1, 3, 120).astype(float)
        second = np.where(same, first, 3 - first)
        weights = np.array([10.0, 2.0])[stratum]
        found = pair_agreement(first, second, (1.0, 2.0), nominal=True, weights=weights)
        interval = found.figures["exact"].interval
        assert isinstance(interval, Interval)
        covered += interval.low <= (10 * 0.9 + 2 * 0.5) / 12 <= interval.high
    assert 0.91 <= covered / 200 <= 0.99
