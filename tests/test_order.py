"""Several chatbots in one comparison: one family of tests, and an order with the places that it leaves open."""

from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest
from rated_run import BOTS, several_run
from scipy import stats
from typed_here import Run, notes, rows, sentences

from pathway_local.results.ranking import places
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.intervals import tailed_freedom
from pathway_local.verdict import Verdict


def test_places_are_those_that_the_differences_leave_open() -> None:
    assert places("abc", [("a", "c")]) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert places("abc", [("a", "b"), ("b", "c")]) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert places("abc", [("a", "b"), ("b", "c"), ("c", "a")]) == dict.fromkeys("abc", (1, 3))
    many = [str(number) for number in range(300)]  # a chain: each is above the next alone
    assert places(many, [*pairwise(many)]) == {each: (int(each) + 1,) * 2 for each in many}


def test_all_values_of_a_column_are_one_family(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run")
    printed = run("compare", tmp_path / "may.run", "--between", "bot", "--json").out
    found = rows(printed, "compare")
    with RunFile.read(tmp_path / "may.run") as read:
        given = {
            each.case_id: each.outcome.scores["score"].value
            for each in read.records()
            if isinstance(each.outcome, Verdict)
        }
    scores = {bot: np.array([given.get(f"{bot}-{at}", np.nan) for at in range(30)], dtype=float) for bot in BOTS}
    pairs = list(combinations(BOTS, 2))
    assert [(each["first"], each["second"]) for each in found] == pairs
    apart = [scores[one] - scores[other] for one, other in pairs]
    apart = [each[np.isfinite(each)] for each in apart]
    laws = [stats.t(tailed_freedom(each), each.mean(), stats.sem(each)) for each in apart]
    chances = [2 * min(law.cdf(0), law.sf(0)) for law in laws]
    # Holm by hand: the smallest of three p-values is held to a third of the error, the next to half of it.
    order = np.argsort(chances)
    assert [chances[place] < 0.05 / (3 - step) for step, place in enumerate(order)] == [True, True, False]
    for step, place in enumerate(order):
        ends = laws[place].interval(1 - 0.05 / (3 - step))
        each = found[place]["difference"]
        assert (each["low"], each["high"]) == pytest.approx(tuple(ends))
        assert found[place]["family"] == 3
    assert [each["shown"] for each in found] == ["not shown", "first", "first"]
    ranked = rows(printed, "order")
    assert [(each["chatbot"], each["best"], each["worst"]) for each in ranked] == [
        *((name, 1, 2) for name in sorted(BOTS, key=lambda name: -np.mean(scores[name]))[:2]), ("Gama", 3, 3),
    ]  # fmt: skip
    assert ranked[2]["mean"]["value"] == pytest.approx(scores["Gama"].mean()) and "corrected_best" not in ranked[2]
    assert sentences(printed) == ["By demo, the data do not show which comes first: Alfa or Beta."]
    assert notes(printed, "paired")[0].startswith("Alfa, Beta and Gama answered the same questions")
    shown = run("compare", tmp_path / "may.run", "--between", "bot").words
    assert "best place worst place" in shown and "(by question: 30 of 30 in common)" in shown
    assert run("report", tmp_path / "may.run", "--between", "bot", "--out", "may.html").code == 0
    assert "best place" in (tmp_path / "may.html").read_text()


def test_a_level_that_all_intervals_share_is_said_once(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", {"Alfa": 0, "Beta": 0, "Gama": 0})
    shown = run("compare", tmp_path / "may.run", "--between", "bot").out
    assert "98.3% interval" in shown and "(98.3%)" not in shown
    assert "not shown" in shown and "higher: not shown" not in shown, "what is shown of each pair stands in its row"


def test_named_values_and_a_column_of_two_are_the_same_comparison(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run")
    three = run("compare", tmp_path / "may.run", "--between", "bot=Gama,Beta,Alfa", "--json").out
    assert [(each["first"], each["second"]) for each in rows(three, "compare")] == [
        ("Gama", "Beta"), ("Gama", "Alfa"), ("Beta", "Alfa"),
    ]  # fmt: skip
    assert sentences(three) == ["By demo, the data do not show which comes first: Beta or Alfa."]
    several_run(tmp_path / "two.run", {"Alfa": 0, "Gama": -1.5})
    whole, named = (
        run("compare", tmp_path / "two.run", "--between", given, "--json").out for given in ("bot", "bot=Alfa,Gama")
    )
    assert whole == named and sentences(whole)[0].endswith("demo scores Alfa higher.")
    assert run("plan", tmp_path / "two.run", "--between", "bot", "--detect", "0.3").code == 0
    assert (
        "one difference of two values" in run("plan", tmp_path / "may.run", "--between", "bot", "--detect", "0.3").words
    )


def test_labels_of_people_correct_every_difference(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", labelled=True)
    printed = run("compare", tmp_path / "may.run", "--between", "bot", "--rater", "demo", "--json").out
    corrected = rows(printed, "corrected_differences")
    assert len(corrected) == 3 and {each["family"] for each in corrected} == {3}
    assert [each["corrected_shown"] for each in rows(printed, "compare")] == [
        "not shown", "first", "first",
    ]  # fmt: skip
    shown = run("compare", tmp_path / "may.run", "--between", "bot", "--full").out
    assert {*combinations(BOTS, 2)} <= {tuple(line.split()[:2]) for line in shown.splitlines()}
    last = rows(printed, "order")[2]
    assert (last["chatbot"], last["corrected_best"], last["corrected_worst"]) == ("Gama", 3, 3)
    assert "By demo, corrected by people's ratings, the data do not show which comes first: Alfa or Beta." in sentences(
        printed
    )


def test_values_that_can_not_be_compared_are_told(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "one.run", {"Alfa": 0})
    assert (
        "needs two values of bot, each once, and has Alfa"
        in run("compare", tmp_path / "one.run", "--between", "bot").err
    )
    many = {f"bot {at}": 0.0 for at in range(30)}
    several_run(tmp_path / "many.run", many, questions=12)
    found = run("compare", tmp_path / "many.run", "--between", "bot")
    assert found.code == 2 and "bot has 30 values in the run, which make 435 pairs" in found.err
    named = run("compare", tmp_path / "many.run", "--between", f"bot={','.join(many)}", "--json")
    assert len(rows(named.out, "compare")) == 435
    odd = {"v1": 0.0, "a=b": 0.0, "": 0.0, "v2": 0.0, "v1,beta": 0.0}
    several_run(tmp_path / "odd.run", odd, questions=12)
    for given, pairs in (
        ("bot", 6), ("bot=v1, v2", 1), ("bot=a=b, v1 ,v2", 3),
    ):  # fmt: skip
        printed = run("compare", tmp_path / "odd.run", "--between", given, "--json").out
        assert len(rows(printed, "compare")) == pairs
        left_out = ["12 cases have no bot and are left out."] if given == "bot" else []
        assert notes(printed, "without_value") == left_out
    refused = run("compare", tmp_path / "odd.run", "--between", "bot=v1,beta,v2")
    assert refused.code == 2 and "no value of bot is called 'beta'" in refused.err


def test_a_chatbot_of_few_scores_is_left_out_of_the_order(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run")
    with RunFile.open(tmp_path / "may.run") as made:
        few = "case_id LIKE 'Gama-_' OR case_id LIKE 'Gama-1_' OR case_id = 'Gama-20'"  # leaves 9 of 30
        made.database.execute(f"DELETE FROM outcomes WHERE case_key IN (SELECT key FROM cases WHERE {few})", ())
    printed = run("compare", tmp_path / "may.run", "--between", "bot", "--json").out
    assert {each["chatbot"] for each in rows(printed, "order")} == {"Alfa", "Beta"}
    (said,) = sentences(printed)
    assert said.endswith("Alfa or Beta. This order is among those with at least 10 scores, without Gama.")
    assert rows(printed, "compare")[1]["difference"]["value"] is None
