"""Preferences: win rates and flips in `summary`, the columns of exports, and people's choices beside the judge's."""

import csv
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from compared_run import BOTS, CHOICES, compared_run
from rated_run import add, cases, said
from scipy import stats
from statsmodels.stats.proportion import proportion_confint
from typed_here import Run, notes, rows, sentences

from pathway_local.case import Case
from pathway_local.ratings.score_text import read_score
from pathway_local.rubrics.pair import verdict_of_orders
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Interval
from pathway_local.statistics.intervals import share
from pathway_local.verdict import Number, Score, Verdict

EXAMPLES = Path(__file__).parents[1] / "examples"


def test_the_win_rate_counts_ties_and_flips_as_half(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run").close()
    found = run("summary", "p.run")
    assert "12 5 4 3 0.58 0.31–0.81 3 12" in found.words
    assert "A is response_a, B is response_b." in found.out
    assert (
        "3 of 12 choices flipped with the order (25%, 95% interval 9% to 53%) and count as ties; "
        "2 of them favoured the response that was read first"
    ) in found.words
    [pairs] = rows(run("summary", "p.run", "--json").out, "choices")
    rate, flips = pairs["win_rate"], pairs["flip_rate"]
    assert (pairs["wins"], pairs["ties"], pairs["losses"], rate["value"]) == (5, 4, 3, pytest.approx(7 / 12))
    assert (rate["low"], rate["high"]) == pytest.approx(proportion_confint(7, 12, method="wilson"))
    assert (flips["low"], flips["high"]) == pytest.approx(proportion_confint(3, 12, method="wilson"))
    assert (pairs["both_orders"], pairs["flips"], pairs["read_first"]) == (12, 3, 2)


def test_a_win_rate_allows_for_cases_that_depend_on_each_other(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run").close()
    [pairs] = rows(run("summary", "p.run", "--cluster", "bot_a", "--json").out, "choices")
    choices = np.array([{1: 1.0, 0: 0.5, -1: 0.0}[one if one == -other else 0] for one, other in CHOICES])
    expected = share(choices, np.arange(1, len(choices) + 1) % 3)
    assert isinstance(expected.interval, Interval) and pairs["win_rate"]["value"] == expected.value
    assert (pairs["win_rate"]["low"], pairs["win_rate"]["high"]) == (expected.interval.low, expected.interval.high)
    assert pairs["flip_rate"]["value"] == 0.25 and pairs["flip_rate"]["low"] > 0
    assert "3 of 12 choices flipped with the order (25%" in run("summary", "p.run", "--cluster", "bot_a").words


def test_groups_and_people_have_rows_of_their_own(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run", people=[1, 1, 0, -1]).close()
    found = run("summary", "p.run", "--by", "bot_a", "--min-group", 1)
    assert "alpha" in found.out and "ann" in found.out
    assert "ann 4 2 1 1 0.63 0.21–0.91" in run("summary", "p.run").words


def test_a_run_with_both_kinds_of_rubrics_has_a_table_for_each(run: Run, tmp_path: Path) -> None:
    with compared_run(tmp_path / "p.run") as made:
        add(made, "judge", said(1, 4), rows=cases())
    found = run("summary", "p.run")
    assert "mean" in found.out and "A's wins" in found.out


def test_an_export_has_the_choices_of_both_orders(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run", people=[1]).close()
    assert run("export", "p.run", "--out", "p.csv").code == 0
    lines = list(csv.DictReader((tmp_path / "p.csv").open(newline="")))
    assert len(lines) == 13
    judged = {row["case"]: row for row in lines if row["rater"] == "judge"}
    first, flipped = judged["p-1"], judged["p-10"]
    assert (first["choice_ab"], first["choice_ba"], first["consistent"], first["a_better"]) == ("1", "1", "true", "0.8")
    assert first["swapped.comparison"] == "B or A."
    assert "preference_expected" not in first, "a scale without an order has no mean"
    assert (flipped["preference_label"], flipped["consistent"], flipped["marks"]) == ("tie", "false", "flipped")
    assert (flipped["choice_ab"], flipped["choice_ba"], flipped["a_better"]) == ("1", "-1", "0.45")


def ratings(tmp_path: Path, *said: str) -> None:
    rows = [f"p-{number},ann,{word}" for number, word in enumerate(said, 1)]
    (tmp_path / "people.csv").write_text("\n".join(["id,rater,preference", *rows]))


def test_people_write_letters_and_names_of_levels_in_any_case(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run").close()
    ratings(tmp_path, "A", "a", "Tie", "B is better", "1 – A is better", "-1 – B is better")
    assert run("import", "p.run", "people.csv", "--kind", "human", "--rater", "people").code == 0
    with RunFile.read(tmp_path / "p.run") as made:
        outcomes = [record.outcome for record in made.records("people/ann")]
    assert [each.scores["preference"].value for each in outcomes if isinstance(each, Verdict)] == [1, 1, 0, -1, 1, -1]
    table = run("agreement", "p.run", "--full")
    assert "kappa" in table.out and "alpha nominal" in table.out
    assert "kappa_quadratic" not in table.out


@pytest.mark.parametrize("word", ["0", "1", "-1", "1.0", "-1e0"])
def test_a_bare_number_is_no_preference(run: Run, tmp_path: Path, word: str) -> None:
    compared_run(tmp_path / "p.run").close()
    ratings(tmp_path, "A", word)
    found = run("import", "p.run", "people.csv", "--kind", "human", "--rater", "people")
    assert found.code != 0
    assert "a number does not tell which response is better: write one of A, tie, B" in found.err.replace("\n", " ")


def test_chatbots_are_compared_by_choices_between_two(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run", people=[1], times=4).close()
    out = run("compare", "p.run", "--pairs", "bot_a,bot_b", "--json").out
    found = [row for row in rows(out, "choices_compared") if row["rater"] == "judge"]
    held = [
        (*BOTS[at % 3], one if one == -other else 0, one == other != 0) for at, (one, other) in enumerate(CHOICES, 1)
    ]
    for row, pair in zip(found, combinations(("alpha", "beta", "gamma"), 2), strict=True):
        own = 4 * [(won if a == pair[0] else -won, flip) for a, b, won, flip in held if {a, b} == {*pair}]
        apart = np.array([won for won, _ in own], dtype=float)
        assert (row["first"], row["second"], row["pairs"], row["family"]) == (*pair, len(own), 3)
        assert [row[name] for name in ("wins", "ties", "losses")] == [np.sum(apart == each) for each in (1, 0, -1)]
        assert row["flips"] == sum(flip for _, flip in own) and row["shown"] == "not shown"
        assert row["difference"]["value"] == pytest.approx(apart.mean()) and stats.ttest_1samp(apart, 0).pvalue > 0.02
    order = [row for row in rows(out, "order") if row["rater"] == "judge"]
    rates = {row["chatbot"]: row["win_rate"]["value"] for row in order}
    assert rates == pytest.approx({"beta": 4.5 / 8, "gamma": 0.5, "alpha": 3.5 / 8}) and next(iter(rates)) == "beta"
    assert {(row["best"], row["worst"]) for row in order} == {(1, 3)}
    assert sentences(out) == [
        "By judge, the data do not show which comes first: alpha, beta or gamma.",
        "By ann, no order is shown, because under 10 choices are between them.",
    ]
    assert notes(out, "ties_count_half") and not notes(out, "unnamed")
    assert run("compare", "p.run", "--pairs", "bot_a,bot_b", "--out", "p.xlsx", "--cluster", "bot_a").code == 0


@pytest.mark.parametrize(
    ("last", "places", "said"),
    [
        ([], [(1, 2), (2, 2), (2, 3)], "the data do not show which comes first: alpha or gamma."),
        ([("alpha", "gamma")], [(1, 1), (2, 2), (3, 3)], "alpha comes first: judge prefers it to each of the others."),
        ([("gamma", "alpha")], [(1, 3)] * 3, "the data do not show which comes first: alpha, beta or gamma."),
    ],
)
def test_chatbots_that_never_met_have_no_order(
    run: Run, tmp_path: Path, last: list[tuple[str, str]], places: list[tuple[int, int]], said: str
) -> None:
    bots, choices = [("alpha", "beta"), ("beta", "gamma"), *last], 33 * [(1, -1)] + 3 * [(0, 0)]
    compared_run(tmp_path / "p.run", bots=bots, choices=choices, times=2).close()  # the first of two nearly always wins
    out = run("compare", "p.run", "--pairs", "bot_a,bot_b", "--json").out
    order = sorted(rows(out, "order"), key=lambda row: str(row["chatbot"]))
    assert [(row["best"], row["worst"]) for row in order] == places
    assert sentences(out) == [f"By judge, {said}"]


def test_under_a_rubric_without_ties_a_flip_is_one_and_a_special_level_no_choice(run: Run, tmp_path: Path) -> None:
    text = "---\nname: which\nkind: pair\nswap: {a: b}\ninputs: {a: {}, b: {}}\noutputs: {layout: '{better}', fields: "
    text += "{better: {type: score, scale: nominal, levels: {1: A, -1: B, 9: neither}, special: [9]}}}\n---\nuser:\n"
    which = parse_rubric(text + "{{ a }} or {{ b }}\n", "which")
    given = [Case(f"c-{at}", {"a": f"a {at}", "b": "b"}, {"one": "v1", "other": "v2"}, at + 1) for at in range(23)]
    assert which.pair
    chosen = {}
    for at, each in enumerate(given):  # a flip takes the first place's side, in each order
        first, second = (1, 1) if at < 9 else (1, -1) if at < 15 else (-1, 1) if at < 20 else (9, 9)
        orders = {"ab": Verdict({"better": Score(first)}), "ba": Verdict({"better": Score(second)})}
        chosen[each.id] = verdict_of_orders(orders, which.pair, which.format)  # type: ignore[arg-type]
    with RunFile.create(tmp_path / "p.run") as made:
        add(made, "judge", chosen, which, rows=given)
    [row] = rows(run("compare", "p.run", "--pairs", "one,other", "--json").out, "choices_compared")
    assert [row[name] for name in ("wins", "ties", "losses", "flips")] == [6, 9, 5, 9]
    assert row["difference"]["value"] == pytest.approx(1 / 20)


def test_two_chatbots_are_compared_in_a_sentence_with_ties_and_flips(run: Run, tmp_path: Path) -> None:
    compared_run(
        tmp_path / "p.run",
        bots=[("v1", "v2"), ("v2", "v1"), ("v2", "v2")],
        times=4,
        choices=[(-1, 1), (1, -1), (1, -1)] * 3 + [(1, 1), (0, 0), (0, 0)],
    ).close()
    out = run("compare", "p.run", "--pairs", "bot_a,bot_b", "--json").out
    assert sentences(out) == [
        "By judge, v1 won 75% of 32 choices between it and v2, tied 25% (4 of them flipped with the order) and lost 0%"
        " (95% interval of won less lost: 0.59 to 0.91): judge prefers v1."
    ]
    assert notes(out, "unnamed") == ["16 cases are left out: bot_a and bot_b do not name two different chatbots there."]
    alone = run("compare", "p.run", "--pairs", "bot_a,bot_b", "--min-group", "33").out
    assert "By judge, v1 and v2 can't be compared, because under 33 choices are between them." in alone


def test_columns_that_name_one_chatbot_alone_are_refused(run: Run, tmp_path: Path) -> None:
    compared_run(tmp_path / "p.run", bots=[("v1", "v1")]).close()
    found = run("compare", "p.run", "--pairs", "bot_a,bot_b")
    assert found.code == 2 and "no case names two different chatbots in bot_a and bot_b" in found.err


def test_an_interval_of_choices_stays_within_the_scale(run: Run, tmp_path: Path) -> None:
    choices: list[tuple[Number, Number]] = [(1, -1)] * 11 + [(0, 0)]
    compared_run(tmp_path / "p.run", bots=[("v1", "v2")], choices=choices).close()
    [row] = rows(run("compare", "p.run", "--pairs", "bot_a,bot_b", "--json").out, "choices_compared")
    assert row["difference"]["high"] == 1 and row["shown"] == "first"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--pairs", "bot_a"), "--pairs bot_a is not A,B"),
        (
            ("--pairs", "bot_a,bot_b", "--pair-by", "x"),
            "--pair-by pairs scores, and with --pairs there are choices between two",
        ),
        ((), "compare needs either --between or --pairs"),
        (("--pairs", "bot_a,bot_b", "--between", "bot_a"), "compare needs either --between or --pairs"),
        (("--pairs", "bot_a,bot_c"), "bot_c"),
    ],
)
def test_wrong_options_of_pairs(run: Run, tmp_path: Path, options: tuple[str, ...], said: str) -> None:
    compared_run(tmp_path / "p.run").close()
    found = run("compare", "p.run", *options)
    assert found.code == 2 and said in found.err.replace("\n", " ")


def test_the_sample_pairs_are_cases_with_a_preference_each() -> None:
    rubric = load_rubric("pair-answer")
    rows = list(cases_of(EXAMPLES / "pair-answer.csv", [rubric], None))
    assert len(rows) == 12
    for row in rows:
        assert isinstance(row, Case)
        assert rubric.inputs_of(row)["response_a"] and row.metadata["bot_a"] != row.metadata["bot_b"]
        assert read_score(row.metadata["meant_preference"], rubric.format.scores["preference"]) in (1, 0, -1)
