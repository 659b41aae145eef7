"""The matrix of cases and raters: every score in its place, what is missing NaN, and nothing from other texts."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from rated_run import IDS, TINY, TWO, add, cases, judged_run, said

from pathway_local.case import Case, fingerprint
from pathway_local.errors import UnknownName, UsageError
from pathway_local.ratings.samples import Inclusion, store_sample
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.scores.matrix import RatingsMatrix, ratings_matrices
from pathway_local.verdict import Score, Verdict

NAN = float("nan")


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    rows = cases(audience="staff")[:2] + cases(audience="student")[2:]
    with judged_run(tmp_path / "may.run", rows=rows) as run:
        add(run, "people/ann", said(1, 4, 3, 0), kind="human", rows=rows)
        add(run, "people/bob", said(2, 0, 5), kind="human", rows=rows)
        yield run


def matrix(run: RunFile) -> RatingsMatrix:
    (found,) = ratings_matrices(run, TINY)
    return found


def test_scores_are_in_their_places(run: RunFile) -> None:
    found = matrix(run)
    assert (found.rubric, found.score, found.nominal) == ("tiny", "score", False)
    assert (found.levels, found.special) == ((1, 2, 4, 5), (3,))
    assert found.case_ids == IDS
    np.testing.assert_array_equal(found.given, [[4, 1, 2], [4, 4, NAN], [4, 3, 5], [4, NAN, NAN]])
    np.testing.assert_array_equal(found.on_scale[2], [4, NAN, 5])
    demo, ann, bob = found.raters
    assert (demo.name, demo.kind, demo.on_scale, demo.verdicts, demo.failures) == ("demo", "judge", True, 4, 0)
    assert (ann.kind, ann.verdicts, ann.failures) == ("human", 3, 1)
    assert (bob.verdicts, bob.failures) == (2, 1)
    assert found.designs == ()


def test_raters_by_name_group_and_kind(run: RunFile) -> None:
    found = matrix(run)
    assert (found.columns("demo"), found.columns("people"), found.columns("people/bob")) == ([0], [1, 2], [2])
    assert (found.of_kind("human"), found.of_kind("judge", "hosted")) == ([1, 2], [0])
    with pytest.raises(UnknownName):
        found.columns("peop")


def test_clusters_come_from_metadata_that_the_run_keeps(run: RunFile) -> None:
    codes, names = matrix(run).codes("audience")
    assert (codes.tolist(), names) == ([0, 0, 1, 1], ("staff", "student"))
    with pytest.raises(UsageError, match="does not keep the column 'faculty'"):
        matrix(run).codes("faculty")


def test_a_case_without_the_column_is_taken_as_empty(tmp_path: Path) -> None:
    rows = [*cases(bot="v1")[:1], *cases()[1:3], *cases(bot="v2")[3:]]
    with judged_run(tmp_path / "part.run", rows=rows[:2]) as run:
        add(run, "ann", said(0, 0, 0, 5), kind="human", rows=rows)
        codes, names = matrix(run).codes("bot")
        assert (codes.tolist(), names) == ([0, 1, -1, 2], ("v1", "", "v2"))
        assert len(set(matrix(run).clusters("bot").tolist())) == 4


def test_verdicts_on_other_texts_are_left_out_and_counted(run: RunFile) -> None:
    changed = [Case(case.id, {**case.inputs, "answer": "new"}, case.metadata, case.row) for case in cases()[:1]]
    add(run, "demo", said(5), rows=changed)
    found = matrix(run)
    np.testing.assert_array_equal(found.given[0], [5, NAN, NAN])
    assert [rater.other_texts for rater in found.raters] == [0, 1, 1]


def test_ratings_that_come_back_about_earlier_texts_do_not_displace_the_judges(run: RunFile) -> None:
    old = [Case(case.id, {**case.inputs, "answer": "old"}, case.metadata, case.row) for case in cases()[:1]]
    add(run, "people/cy", said(1), kind="human", rows=old)
    found = matrix(run)
    np.testing.assert_array_equal(found.given[0], [4, 1, 2, NAN])
    assert [rater.other_texts for rater in found.raters] == [0, 0, 0, 1]


def test_expected_scores_and_numbers_between_levels(run: RunFile) -> None:
    sure = {
        "s-1": Verdict({"score": Score(4, {2: 0.25, 3: 0.5, 4: 0.25})}),
        "s-2": Verdict({"score": Score(3, {3: 1.0})}),
    }
    add(run, "soft", sure)
    add(run, "half", {"s-1": Verdict({"score": Score(2.5)}), "s-2": Verdict({"score": Score(4)})}, kind="human")
    found = matrix(run)
    soft, half = (found.columns(name)[0] for name in ("soft", "half"))
    np.testing.assert_array_equal(found.expected[:, soft], [3, NAN, NAN, NAN])
    np.testing.assert_array_equal(found.given[:, half], [2.5, 4, NAN, NAN])
    assert [found.raters[place].on_scale for place in (soft, half)] == [True, False]


def test_the_design_of_the_latest_sample(run: RunFile) -> None:
    every = [
        Inclusion(case.id, fingerprint(run.key, TINY.texts_of(case)), case.row, stratum, chance, drawn)
        for case, stratum, chance, drawn in zip(
            cases(ids=[*IDS, "s-5"])[1:], (0, 1, 1, 0), (0.5, 1.0, 1.0, 0.5), (True, True, True, False), strict=True
        )
    ]
    job = run.jobs.begin(["sample"], {})
    store_sample(run, job, "tiny", 1, "", every[::-1])
    found = matrix(run)
    assert found.case_ids == (*IDS, "s-5")
    (design,) = found.designs
    assert design.probability.tolist() == [0, 0.5, 1, 1, 0.5]
    assert design.drawn.tolist() == [False, True, True, True, False]
    assert design.strata.tolist() == [-1, 0, 1, 1, 0]
    assert np.isnan(found.given[4]).all()


def test_one_matrix_for_each_score(tmp_path: Path) -> None:
    with judged_run(tmp_path / "two.run", TWO) as run:
        add(run, "ann", {"s-2": Verdict({"right": Score(1)})}, TWO, rows=cases(TWO))
        clear, right = ratings_matrices(run, TWO)
        assert (clear.score, right.score) == ("clear", "right")
        assert np.isnan(clear.given[:, 1]).all()
        np.testing.assert_array_equal(right.given[:, 1], [NAN, 1, NAN, NAN])
        assert [rater.verdicts for rater in right.raters] == [4, 1]


def test_a_run_without_raters(tmp_path: Path) -> None:
    with RunFile.create(tmp_path / "empty.run") as run:
        store_rubric(run, TINY)
        found = matrix(run)
        assert (found.raters, found.case_ids, found.given.shape) == ((), (), (0, 0))
