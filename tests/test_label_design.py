"""Labels of cases that somebody picked stay apart from those of a random sample."""

from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from rated_run import TINY, add, cases, said, store_draw
from typed_here import Run, notes, rows, sentences

from pathway_local.case import Case
from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.label_design import label_designs, uneven_strata, without_picked
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.scores.scores import Scores
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
    add(run, "ann", given, kind="human", rows=ROWS, sheet=sheet)


def test_labels_from_another_file_are_not_the_samples(run: Run, made: RunFile) -> None:
    shown = run("agreement", made.path)
    assert shown.code == 0 and "would give" not in shown.words
    assert "No rating by ann came from a sheet or page of the sample with seed 7" in shown.words


def test_agreement_leaves_picked_labels_out(run: Run, made: RunFile) -> None:
    before = run("agreement", made.path, "--json").out
    assert {row["cases"] for row in rows(before, "pairs")} == {len(PICKED)}
    assert "Less than half of any sample came back from ann" in notes(before, "worked_on_no_sample")[0]
    label(made, [place for place in DRAWN if place not in PICKED], sheet=True)
    out = run("agreement", made.path, "--json").out
    (row,) = rows(out, "corrected")
    mean = np.mean([truth(place) for place in DRAWN if place not in PICKED])
    assert (row["labels_only"]["value"], row["labelled"], row["cases"]) == (pytest.approx(mean), 30, SIZE)
    assert "30 of ann's 70 labels (sample with seed 7)" in " ".join(sentences(out))
    assert {row["cases"] for row in rows(out, "pairs")} == {30}
    assert "30 of ann's 70 ratings count" in notes(out, "picked_left_out")[0]
    assert [(each["scored"], each["rated"]) for each in rows(out, "raters") if each["rater"] == "ann"] == [(30, 70)]
    assert "ann person 30 70" in run("agreement", made.path).words
    (matrix,) = ratings_matrices(made, TINY)
    (ann,), (demo,) = matrix.columns("ann"), matrix.columns("demo")
    assert label_designs(matrix, [demo])[0].random.sum() == len(DRAWN), "a judge has no sheet, but drawn cases"
    left = without_picked(matrix)[0].given[:, ann]
    assert tuple(np.flatnonzero(np.isfinite(matrix.given[:, ann]) & np.isnan(left))) == PICKED
    assert label_designs(matrix, [ann])[0].random.sum() == 30
    wide = rows(out, "corrected")[0]["labels_only"]
    add(made, "bob", said(4, 4, ids=[ROWS[0].id]), kind="human", rows=ROWS, sheet=True)
    [both] = ratings_matrices(made, TINY)
    assert label_designs(both, both.of_kind("human"))[0].by_all == pytest.approx(1 / 30)
    again = rows(run("agreement", made.path, "--json").out, "corrected")[0]["labels_only"]
    assert again["high"] - again["low"] > 1.15 * (wide["high"] - wide["low"])


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
    assert "People's labels can't correct demo, because people labelled" in run(*compare).words


def test_labels_of_uneven_strata_count_each_case_once_and_a_note_says_so(tmp_path: Path) -> None:
    """The judge is right in the first half of the cases, of which a tenth was drawn, and wrong in half of the other."""
    ids = [case.id for case in ROWS]
    people = [4 if place < 50 or place % 2 else 5 for place in range(SIZE)]
    drawn = [place for place in range(SIZE) if place % 10 == 0 or place >= 50]
    with RunFile.create(tmp_path / "strata.run") as run:
        add(run, "demo", said(*([4] * SIZE), ids=ids), rows=ROWS)
        store_draw(run, ROWS, drawn, strata=[place // 50 for place in range(SIZE)])
        given = {ids[place]: Verdict({"score": Score(people[place])}) for place in drawn}
        add(run, "ann", given, kind="human", rows=ROWS, sheet=True)
        [matrix] = ratings_matrices(run, TINY)
        found = ScoreAgreement(Scores(run), matrix, AgreementOptions())
    assert found.pairs[0]["exact"].value == pytest.approx(30 / 55)
    assert found.sets[0]["shared"] == 55 and any(uneven_strata(matrix))
    assert "uneven_strata" in [note.key for note in found.notices]


def test_of_a_person_who_rated_every_case_nothing_is_said_of_labelled_cases(run: Run, made: RunFile) -> None:
    label(made, [place for place in range(SIZE) if place not in PICKED])
    assert not notes(run("agreement", made.path, "--json").out, "worked_on_no_sample")
