"""The sentences that begin `agreement`: can a judge stand in for people, which figure to quote, what would help."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from agreement_run import HELPFUL
from rated_run import add, cases, said

from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.agreement_tables import agree
from pathway_local.results.stand_in import stand_in
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import ratings_matrices
from pathway_local.scores.scores import Scores
from pathway_local.words.language import Language

SAY = Language("en")
COUNT = 200
RNG = np.random.default_rng(3)
TRUE = RNG.integers(1, 6, COUNT)
NOISE = {name: RNG.integers(-1, 2, COUNT) * (RNG.random(COUNT) < 0.4) for name in ("ann", "bob", "judge")}
GUESSED = {name: RNG.integers(1, 6, COUNT) for name in ("ann", "bob", "judge")}


def near(name: str, shift: int = 0) -> np.ndarray:
    return np.clip(TRUE + NOISE[name] + shift, 1, 5)


def answer(
    path: Path, given: dict[str, np.ndarray], against: str = "", count: int = COUNT, raters: Sequence[str] = ()
) -> str:
    ids = [f"c-{number}" for number in range(count)]
    with RunFile.create(path / "my.run") as run:
        for name, scores in given.items():
            kind = "judge" if name.startswith("judge") else "human"
            outcomes = said(*map(int, scores), ids=ids)
            add(run, name, outcomes, HELPFUL, kind, cases(HELPFUL, ids))
        (matrix,) = ratings_matrices(run, HELPFUL)
        found = ScoreAgreement(Scores(run), matrix, AgreementOptions(rater=tuple(raters), against=against))
    sentences = [*map(SAY.note, stand_in(found))]
    assert 1 <= len(sentences) <= 4
    return "\n".join(sentences)


PEOPLE, MODELS = {"ann": near("ann"), "bob": near("bob")}, {"judge": TRUE, "judge-2": near("judge")}


@pytest.mark.parametrize(
    ("judge", "told", "standing"),
    [
        (near("judge"), "judge can stand in for one of these people", "not worse"),
        (GUESSED["judge"], "judge can't stand in for these people", "worse"),
        (np.full(COUNT, 4), "judge can't stand in for a person: judge gave 4 every time.", None),
    ],
)
def test_a_judge_is_held_against_people(tmp_path: Path, judge: np.ndarray, told: str, standing: str | None) -> None:
    sentences = answer(tmp_path, {"judge": judge, **PEOPLE}).splitlines()
    assert sentences[0].startswith(told)
    assert any("mean of the other people (Spearman: 1 is fully, 0 is not at all): judge " in line for line in sentences)
    assert sentences[-1].startswith("These 2 people agree among themselves at 0.9")
    with RunFile.read(tmp_path / "my.run") as run:
        (table,) = (each for each in agree(Scores(run), AgreementOptions()) if each.key == "benchmark")
    assert [row["standing"] for row in table.rows] == [standing]


def test_what_a_correlation_hides_is_said(tmp_path: Path) -> None:
    told = answer(tmp_path, {"judge": near("judge", -1), **PEOPLE})
    assert "judge can stand in" in told and "On average judge scores lower than each of these people, by 0." in told


def test_few_cases_do_not_decide(tmp_path: Path) -> None:
    told = answer(tmp_path, {"judge": near("judge"), **PEOPLE}, count=12)
    assert "may or may not" in told


def test_people_who_disagree_come_first(tmp_path: Path) -> None:
    told = answer(tmp_path, GUESSED)
    assert "can stand in" not in told and "below 0.67 they do not" in told


@pytest.mark.parametrize(
    ("given", "against", "told"),
    [
        ({"judge": TRUE, "ann": near("ann")}, "", "only ann is compared"),
        ({"judge": TRUE, **PEOPLE}, "bob", "only bob is compared"),
        (MODELS, "", "No people have scored, so nothing here shows whether judge and j"),
        (PEOPLE, "", "No judge has scores here: these figures are about ann and bob alone."),
        ({"judge": TRUE, **PEOPLE}, "judge", "judge is a judge, so nothing here shows whether judges can stand in"),
        (MODELS, "judge", "judge is a judge, so nothing here shows whether judge-2 can stand in for people."),
    ],
)
def test_what_is_missing_is_said(tmp_path: Path, given: dict[str, np.ndarray], against: str, told: str) -> None:
    assert told in answer(tmp_path, given, against).splitlines()[0]


def test_people_that_judges_are_compared_with_need_not_be_named_twice(tmp_path: Path) -> None:
    given = {"judge": near("judge"), "judge-2": GUESSED["judge"], **PEOPLE}
    told = answer(tmp_path, given, "ann", 60, ("judge", "judge-2"))
    assert "only ann is compared" in told and "with the share of equal scores beside it: judge – ann" in told
    (tmp_path / "my.run").unlink()
    alone = answer(tmp_path, given, count=60, raters=("judge", "judge-2"))
    assert "No people are among the raters that you named" in alone


def test_people_who_were_asked_for_alone_are_not_told_of_judges(tmp_path: Path) -> None:
    told = answer(tmp_path, {"judge": TRUE, **PEOPLE}, raters=("ann", "bob"))
    assert told.startswith("These figures are about ann and bob alone.\nThese 2 people agree among themselves at")
    assert "judge" not in told
