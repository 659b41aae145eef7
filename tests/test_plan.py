"""`plan` says how many labels or questions a figure needs."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from agreement_run import answers_run
from rated_run import add, cases, judged_run, said, store_draw
from typed_here import Run, Said, typing_in

BOTS = ("--between", "chatbot=v1,v2", "--pair-by", "question_id")
MEAN = ("--against", "committee", "--half-width", "0.05")


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


def test_differences_of_one_plan_share_the_error_and_means_do_not(run: Run) -> None:
    alone = planned(run, *BOTS, "--rater", "demo", "--detect", "0.1")
    found = planned(run, *BOTS, "--detect", "0.1")
    assert alone[0]["needed"] < next(each["needed"] for each in found if each["rater"] == "demo")
    words = ok(run("plan", "a.run", *BOTS, "--detect", "0.1"))
    assert "2 differences are planned together, so each needs more" in words
    assert run("plan", "a.run", *MEAN).out.count("planned together") == 0


def test_without_labels_the_judge_s_spread_serves(run: Run) -> None:
    [found] = planned(run, "--against", "nobody yet", "--half-width", "0.2")
    [known] = planned(run, "--against", "committee", "--half-width", "0.1")
    assert found["spread_from"] == "judge's scores" and known["spread_from"] == "labels"
    assert found["now"] == 0 and 20 < found["needed"] < 120
    words = ok(run("plan", "a.run", "--against", "nobody yet", "--half-width", "0.2"))
    assert "we assume a correlation of 0.6" in words
    assert planned(run, *MEAN[:3], "0.0001")[0]["needed"] == 320, "labels of all cases leave no doubt"


@pytest.mark.parametrize("alike", [False, True])
def test_what_the_labels_of_a_sample_can_not_reach_is_not_planned(run: Run, tmp_path: Path, alike: bool) -> None:
    ids = [f"s-{number}" for number in range(60)]
    every, values = cases(ids=ids), said(*([4] if alike else [1, 2, 2, 4, 5, 5]) * 60, ids=ids)
    with judged_run(tmp_path / "shared.run", rows=every) as made:
        store_draw(made, every, range(40))
        for person, own in (("ann", ids[:40:2]), ("bob", ids[1:40:2])):
            add(made, f"team/{person}", {each: values[each] for each in own}, kind="human", rows=every, sheet=True)
    words = ok(run("plan", "shared.run", "--against", "team", "--half-width", "0.01"))
    reason = (
        "the rater's scores do not vary" if alike else "labels that people share out do not reach it, even of all cases"
    )
    assert f"Nothing is planned for demo on tiny score, because {reason}" in words
    assert "did not come back" not in words and "Go on until" not in words


def test_without_enough_cases_plan_asks_for_more(run: Run, tmp_path: Path) -> None:
    rows = [*cases(bot="v1"), *cases(ids=[f"t-{n}" for n in range(4)], bot="v2")]
    judged_run(tmp_path / "few.run", rows=rows).close()
    words = ok(run("plan", "few.run", "--between", "bot=v1,v2", "--detect", "0.5"))
    assert "because under 10 cases of one side got a score. Name more points or judge more cases." in words
    assert "--min-group" not in words


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (MEAN[:2], "--against needs --half-width"),
        ((*MEAN, "--detect", "1"), "--detect does not go with --against"),
        (("--half-width", "0.2"), "Give --against the person or group whose labels count"),
        ((*BOTS, *MEAN), "either --against or --between"),
        ((*BOTS, "--half-width", "0.2"), "--between needs --detect"),
        ((*BOTS, "--detect", "1", "--half-width", "0.2"), "--half-width does not go with --between"),
        ((*BOTS[2:], *MEAN), "--pair-by does not go with --against"),
        (("--cluster", "student", *MEAN), "--cluster does not go with --against"),
        ((*BOTS, "--detect", "0"), "must be above 0"),
        ((*BOTS, "--detect", "nan"), "nan"),
    ],
)
def test_what_makes_no_plan_is_refused(run: Run, arguments: tuple[str, ...], said: str) -> None:
    refused = run("plan", "a.run", *arguments)
    assert refused.code == 2 and said in refused.err, refused
