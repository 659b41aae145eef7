"""Finding a rating's case, and cases handed out under random ids."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from rated_run import TINY, TWO, add, cases, judged_run, said

from pathway_local.case import Case, CaseRef, fingerprint
from pathway_local.ratings.known_cases import KnownCases
from pathway_local.ratings.rating_rows import Problem
from pathway_local.ratings.samples import find_handouts, hand_out, store_handouts
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.cases_file import CasesFile


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with judged_run(tmp_path / "may.run") as run:
        yield run


def text_hash(run: RunFile, case: Case) -> str:
    return fingerprint(run.key, TINY.texts_of(case))


def test_texts_that_changed_between_raters_must_be_told_apart(run: RunFile) -> None:
    new = Case("s-1", {**cases()[0].inputs, "answer": "new"}, row=1)
    add(run, "ann", said(5), kind="human", rows=[new])
    known = KnownCases(run, TINY)
    assert known.by_id("s-1", "") == Problem(
        "", "raters saw different texts of its case, and the file does not hold its texts"
    )
    found = known.by_id("s-1", text_hash(run, new))
    assert isinstance(found, CaseRef)
    assert found.hash == text_hash(run, new)
    assert isinstance(known.by_id("s-2", ""), CaseRef)


def test_handouts_come_back_whole(run: RunFile) -> None:
    store_rubric(run, TWO)
    made = [hand_out(run.key, TWO, case, "Ann") for case in cases(TWO)]
    store_handouts(run, run.jobs.begin(["x"], {}), made)
    found = find_handouts(run, [made[2].custom_id, "f" * 24, "s-1"])
    assert found == {made[2].custom_id: replace(made[2], job=1)}
    assert "s-3" not in made[2].custom_id


def test_an_id_that_lost_its_zeros_is_told(tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run", rows=cases(ids=["0042", "43"])) as run:
        known = KnownCases(run, TINY)
        assert "leading zeros" in str(known.by_id("42", ""))
        assert known.by_id("7", "") == Problem("", "its id matches no case of the run")
        assert isinstance(known.by_id("0042", ""), CaseRef)
        (tmp_path / "a.csv").write_text("id,question,answer\n0051,When?,Now.\n")
        known.add(CasesFile(tmp_path / "a.csv", {TINY.name: tuple(TINY.inputs)}), run.key)
        assert "leading zeros" in str(known.by_id("51", ""))
