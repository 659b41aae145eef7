"""`plan` says how many labels or questions a figure needs."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement_run import answers_run
from rated_run import add, cases, judged_run
from rated_run import said as given
from typed_here import Run, Said, typing_in

BOTS = ("--between", "chatbot=v1,v2", "--pair-by", "question_id")
MEAN = ("--against", "committee", "--half-width", "0.1")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("answers") / "answers.run"
    answers_run(path)
    return path


@pytest.fixture
def run(whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    shutil.copy(whole, tmp_path / "a.run")
    return typing_in(tmp_path, monkeypatch, capsys)


def ok(said: Said) -> Any:
    assert said.code == 0, said
    return json.loads(said.out) if said.out.startswith(("[", "{")) else said.words


def planned(run: Run, *options: str) -> list[dict[str, Any]]:
    """The rows of a plan, each with what all of them share."""
    [table] = ok(run("plan", "a.run", *options, "--json"))
    return [{**table, **row} for row in table["rows"]]


def test_a_plan_says_how_to_go_on_and_changes_nothing_in_the_run(run: Run, tmp_path: Path) -> None:
    before = (tmp_path / "a.run").read_bytes()
    said = ok(run("plan", "a.run", *MEAN))
    assert re.search(r"Go on until there are \d+ cases rated by people, \d+ more. Look once, at the end", said)
    students = ok(run("plan", "a.run", *BOTS, "--cluster", "student", "--rater", "demo", "--detect", "0.1"))
    assert re.search(r"\d+ values of student, \d+ more", students)
    assert (tmp_path / "a.run").read_bytes() == before


def test_without_a_local_judge_the_hosted_one_is_planned(run: Run) -> None:
    assert [row["rater"] for row in planned(run, *MEAN)] == ["demo"]
    assert run("runs", "remove-rater", "a.run", "demo", "--yes").code == 0
    assert [row["rater"] for row in planned(run, *MEAN)] == ["gpt"]


def test_figures_of_one_plan_share_the_error(run: Run) -> None:
    alone = planned(run, *BOTS, "--rater", "demo", "--half-width", "0.1")
    found = planned(run, *BOTS, "--half-width", "0.1")
    assert [each["alpha"] for each in (*found, *alone)] == pytest.approx([0.025, 0.025, 0.05])
    assert alone[0]["planned"] < found[0]["planned"] == max(each["needed"] for each in found)
    assert "2 figures are planned together, so each needs more" in ok(
        run("plan", "a.run", *BOTS, "--half-width", "0.1")
    )


def test_without_labels_the_judge_s_spread_serves(run: Run) -> None:
    [found] = planned(run, "--against", "nobody yet", "--half-width", "0.2")
    [known] = planned(run, "--against", "committee", "--half-width", "0.2")
    assert found["spread_from"] == "judge's scores" and known["spread_from"] == "labels"
    assert found["now"] == 0 and known["planned"] < found["planned"] < 2.5 * known["planned"]
    words = ok(run("plan", "a.run", "--against", "nobody yet", "--half-width", "0.2"))
    good, none = map(int, re.search(r"With 0.8 the number would be (\d+), with 0 (\d+)", words).groups())  # type: ignore[union-attr]
    assert good < found["planned"] < none
    words = ok(run("plan", "a.run", *BOTS, "--half-width", "0.01", "--labels"))
    assert "even labels of all" in words and "an interval of at most 0.01 points" in words
    assert "can't be reached. Name more points, or judge more cases." in words


@pytest.mark.parametrize("labels", [(), ("--labels",)])
def test_without_enough_cases_plan_asks_for_more(labels: tuple[str, ...], run: Run, tmp_path: Path) -> None:
    rows = [*cases(bot="v1"), *cases(ids=[f"t-{n}" for n in range(4)], bot="v2")]
    judged_run(tmp_path / "few.run", rows=rows).close()
    words = ok(run("plan", "few.run", "--between", "bot=v1,v2", "--detect", "0.5", *labels))
    why = "Nothing is planned, because under 10 cases of one side got a score. Judge more cases, or name another"
    assert why in words and "can't be reached" not in words and "--min-group" not in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (MEAN[:2], "plan needs one aim"),
        ((*MEAN, "--detect", "1"), "plan needs one aim"),
        (("--half-width", "0.2"), "either --against or --between"),
        ((*BOTS, *MEAN), "either --against or --between"),
        ((*BOTS[2:], *MEAN), "--pair-by does not go with --against"),
        (("--cluster", "student", *MEAN), "--cluster does not go with --against"),
        ((*BOTS, "--detect", "0"), "should be greater than 0"),
        ((*BOTS, "--detect", "nan"), "nan"),
        (("--against", "committee", "--detect", "1"), "--detect does not go with --against"),
        ((*MEAN, "--within", "1"), "--within does not go with --against"),
        ((*MEAN, "--labels"), "--labels does not go with --against"),
        (("--stand-in", *MEAN), "--half-width does not go with --stand-in"),
        (("--stand-in", "--against", "committee", "--error", "0.1"), "--error does not go with --stand-in"),
    ],
)
def test_what_makes_no_plan_is_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = run("plan", "a.run", *arguments)
    assert refused.code == 2 and said in refused.err, refused


def agreed_run(path: Path, people: int, noise: float) -> None:
    """A run of 60 cases that a judge and so many people scored, who see the same with such errors of their own."""
    rng, ids = np.random.default_rng(6), [f"s-{number}" for number in range(1, 61)]
    quality = rng.normal(1.5, 1.2, 60)
    with judged_run(path, rows=cases(ids=ids)) as made:
        for name in ("demo", "ann", "bob", "cy")[: people + 1]:
            places = np.clip(np.round(quality + rng.normal(0, noise, 60)), 0, 3).astype(int).tolist()
            outcomes = given(*([1, 2, 4, 5][place] for place in places), ids=ids)
            add(made, name, outcomes, rows=cases(ids=ids), kind="judge" if name == "demo" else "human")


def test_plan_says_how_many_cases_and_people_show_that_a_judge_can_stand_in(run: Run, tmp_path: Path) -> None:
    agreed_run(tmp_path / "agreed.run", 3, 0.4)
    [table] = ok(run("plan", "agreed.run", "--stand-in", "--json"))
    assert (table["cases"], table["margin"]) == (60, 0.05)
    assert [row["people"] for row in table["rows"]] == [2, 3, 5, 10]
    needed, chances = ([row[key] for row in table["rows"]] for key in ("needed", "chance"))
    assert needed == sorted(needed, reverse=True) and chances == sorted(chances)
    assert all((chance >= 0.8) == (cases <= 60) for chance, cases in zip(chances, needed, strict=True))
    words = ok(run("plan", "agreed.run", "--stand-in"))
    assert re.search(
        r"In \d+ of 100 such evaluations, the 60 cases that 3 people rated show that a judge as good", words
    )
    assert f"chance of about 80% it takes, if everybody rates all of them, {needed[0]} cases with 2 people" in words
    assert f", {needed[1]} cases with 3 people" in words and "No number of cases" not in words
    [wider] = ok(run("plan", "agreed.run", "--stand-in", "--margin", "0.15", "--json"))
    assert wider["rows"][1]["needed"] < needed[1]
    [two] = ok(run("plan", "agreed.run", "--stand-in", "--against", "ann", "--json"))
    assert [note["key"] for note in two["notes"]] == ["stand_in_needed", "stand_in_assumed"]
    assert "No number of cases gives a chance of 80%" in ok(
        run("plan", "agreed.run", "--stand-in", "--margin", "0.0001")
    )
    refused = run("plan", "agreed.run", "--stand-in", "--against", "demo")
    assert refused.code == 2 and "demo is a judge: --against names people who rate" in refused.err


def test_plan_says_that_few_ratings_show_nothing_yet_of_how_far_people_agree(run: Run, tmp_path: Path) -> None:
    rows = cases(ids=[f"s-{place}" for place in range(6)])
    ids = [case.id for case in rows]
    with judged_run(tmp_path / "few.run", rows=rows) as made:
        add(made, "demo", given(1, 2, 4, 5, 4, 2, ids=ids), rows=rows)
        for name, scores in (("ann", (1, 2, 4, 5, 5, 1)), ("bob", (2, 1, 5, 4, 2, 2)), ("cy", (4, 1, 5, 4, 2, 5))):
            add(made, name, given(*scores, ids=ids), kind="human", rows=rows)
        add(made, "alone", given(4, ids=["s-0"]), kind="human", rows=rows)
    words = ok(run("plan", "few.run", "--stand-in"))
    assert "Too few ratings show how far people agree" in words and "No number" not in words


def test_plan_says_that_no_number_of_cases_is_enough_where_people_disagree(run: Run) -> None:
    words = ok(run("plan", "a.run", "--stand-in"))
    assert "No number of cases or people is enough: the people agree too little among themselves (alpha 0.5" in words
    assert "cases for 80%" not in words


def test_plan_says_what_it_assumes_where_nobody_has_rated(run: Run, tmp_path: Path) -> None:
    agreed_run(tmp_path / "alone.run", 0, 0.4)
    words = ok(run("plan", "alone.run", "--stand-in"))
    assert "we assume a rank correlation of 0.70" in words and "show in" not in words
    assert re.search(
        r"it takes, if everybody rates all of them, \d+ cases with 2 people, \d+ cases with 3 people", words
    )
