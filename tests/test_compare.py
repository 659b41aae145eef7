"""`compare`: answers paired by their question, differences of two, and the order of several as one family of tests."""

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement_run import answers_run
from rated_run import BOTS, add, judged_run, scored, several_run, store_draw
from scipy import stats
from typed_here import Run, notes, rows, sentences

from pathway_local.case import Case
from pathway_local.results.compare import places, sentences_on
from pathway_local.results.comparison import Comparison, ComparisonPlan, Side, paired_difference
from pathway_local.results.pairing import Pairing
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.figure import Interval, Undefined
from pathway_local.statistics.intervals import tailed_freedom
from pathway_local.verdict import Score, Verdict
from pathway_local.words.language import Language

BETWEEN = ("--between", "bot=Alfa,Gama")


def rubric(*inputs: str, name: str = "mine") -> Rubric:
    return scored(name, "min: 1, max: 5", *inputs)


def store(path: Path, texts: Sequence[dict[str, str]], *, judged_under: Rubric, **kept: str) -> None:
    """A run of two chatbots, whose cases have these texts in turn; their answers differ, and Gama's score higher."""
    rows = [
        Case(f"c-{at}", {**own, "answer": f"answer {at}"}, {"bot": ("Alfa", "Gama")[at % 2], **kept}, at + 1)
        for at, own in enumerate(texts)
    ]
    with judged_run(path, judged_under, rows=rows) as made:
        scores = {row.id: Verdict({"score": Score(1 + at // 2 % 3 + at % 2)}) for at, row in enumerate(rows)}
        add(made, "demo", scores, judged_under, rows=rows)


def compared(run: Run, path: Path, *options: str, between: Sequence[str] = BETWEEN) -> dict[str, Any]:
    found = run("compare", path, *between, *options, "--json")
    assert found.code == 0, found
    table = json.loads(found.out)[0]
    return {**table, **table["rows"][0]}


def test_what_shares_no_question_is_said_to_share_none(run: Run, tmp_path: Path) -> None:
    texts = [{"question": f"question {at}"} for at in range(40)]
    store(tmp_path / "may.run", texts, judged_under=rubric("question", "answer"))
    printed = run("compare", tmp_path / "may.run", *BETWEEN, "--pair-by", "question", "--json").out
    (said,) = notes(printed, "paired_none")
    assert said.startswith("Alfa and Gama have no question in common (by question), so no two answers")
    assert not notes(printed, "paired") and not notes(printed, "questions_alone")


def asked(count: int, *, sides: int = 2) -> list[dict[str, str]]:
    return [{"question": f"question {at // sides}"} for at in range(2 * count)]


@pytest.mark.parametrize("people", [True, False])
def test_the_same_questions_are_paired_without_a_column_that_names_them(run: Run, tmp_path: Path, people: bool) -> None:
    answers_run(tmp_path / "may.run", people=people)
    between = ("--between", "chatbot=v1,v2")
    for cluster in ((), ("--cluster", "student")):
        by_text = compared(run, tmp_path / "may.run", *cluster, between=between)
        by_column = compared(run, tmp_path / "may.run", *cluster, "--pair-by", "question_id", between=between)
        assert by_text["rows"] == by_column["rows"]
        assert (by_text["pair_by"], by_column["pair_by"]) == ("question", "question_id")
    shown = run("compare", tmp_path / "may.run", *between).words
    assert (
        "v1 and v2 answered the same questions" in shown
        and "(by question: 160 of 160 in common)" in shown
        and "--pair-by" not in shown
    )
    assert "take all questions as unrelated" in shown and "take all cases as" not in shown
    assert "152 of 160 answers of v2. 8 questions have a score on one side only and are left out." in shown
    assert run("report", tmp_path / "may.run", *between, "--out", "may.html").code == 0
    page = (tmp_path / "may.html").read_text()
    assert "compared question by question (by question: 160 of 160 in common)" in page
    planned = run("plan", tmp_path / "may.run", *between, "--rater", "demo", "--detect", 0.1)
    assert "questions" in planned.words, planned


def test_an_input_can_be_named_by_its_own_name_or_its_columns(run: Run, tmp_path: Path) -> None:
    store(tmp_path / "may.run", [*asked(12), *asked(12)], judged_under=rubric("question", "answer"))
    for name in ("question", "Frage", "QUESTION"):
        found = compared(run, tmp_path / "may.run", "--pair-by", name)
        assert (found["pair_by"], found["pairs"]) == ("question", 12)
    # Each side answered each question twice.
    assert notes(json.dumps([found]), "several_answers") == [
        "By demo, 12 questions have several answers of one side: their mean counts."
    ]
    assert run("compare", tmp_path / "may.run", *BETWEEN, "--pair-by", "answer", "--min-group", 1).code == 0
    assert run("compare", tmp_path / "may.run", *BETWEEN, "--pair-by", "nothing").code == 2


def test_a_kept_column_goes_before_an_input_of_that_name(run: Run, tmp_path: Path) -> None:
    texts = asked(12)
    store(tmp_path / "may.run", texts, judged_under=rubric("question", "answer"), prompt="the same")
    found = compared(run, tmp_path / "may.run", "--pair-by", "prompt", "--min-group", "1")
    assert (found["pair_by"], found["pairs"]) == ("prompt", 1)


def test_a_rubric_that_reads_no_question_is_paired_by_that_of_another(run: Run, tmp_path: Path) -> None:
    rows = [
        Case(f"c-{at}", {"question": f"q {at // 2}", "answer": f"a {at}"}, {"bot": ("Alfa", "Gama")[at % 2]}, at + 1)
        for at in range(24)
    ]
    with judged_run(tmp_path / "may.run", rubric("question", "answer"), rows=rows) as made:
        style = rubric("answer", name="style")
        add(made, "demo", {row.id: Verdict({"score": Score(3)}) for row in rows}, style, rows=rows)
    found = compared(run, tmp_path / "may.run", "--rubric", "style")
    assert (found["pair_by"], found["pairs"]) == ("question", 12)


@pytest.mark.parametrize(
    ("inputs", "texts"),
    [
        (("answer",), [{} for _ in range(24)]),
        (("question",), [{"question": ""} for _ in range(24)]),
        (("question",), asked(12, sides=1)),
        (("question",), [*asked(4), *({"question": f"other {at}"} for at in range(40))]),
        (("question",), [{"question": "Write an essay."} for _ in range(24)]),
        (("scene", "role"), [{"scene": f"scene {at // 2}", "role": f"role {at // 2}"} for at in range(24)]),
    ],
)
def test_sides_that_do_not_share_enough_questions_are_groups(
    run: Run, tmp_path: Path, inputs: tuple[str, ...], texts: Sequence[dict[str, str]]
) -> None:
    used = rubric(*dict.fromkeys((*inputs, "answer")))
    store(tmp_path / "may.run", texts, judged_under=used)
    assert compared(run, tmp_path / "may.run")["pair_by"] is None
    shown = run("compare", tmp_path / "may.run", *BETWEEN).words
    assert "compared as groups, by the mean of all their answers: the run does not show" in shown
    assert "name it with --pair-by" in shown and "take all cases as unrelated" in shown
    assert run("report", tmp_path / "may.run", *BETWEEN, "--out", "may.html").code == 0
    assert "Alfa and Gama are compared as groups" in (tmp_path / "may.html").read_text()


def test_wins_ties_losses_and_the_paired_t_interval() -> None:
    first = np.array([5.0, 4, 4, 2, 5, np.nan, 3])
    second = np.array([3.0, 4, 5, 1, 4, 4, np.nan])
    found = paired_difference(first, second)
    assert (found.pairs, found.wins, found.ties, found.losses) == (5, 3, 1, 1)
    expected = stats.ttest_rel(first[:5], second[:5]).confidence_interval()
    interval = found.effect.estimate().interval
    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx(tuple(expected))


def test_clusters_make_a_clear_lead_less_clear() -> None:
    lead = np.repeat([0.9, -0.5] * 10, 10)
    clear = paired_difference(lead, np.zeros(200)).effect.estimate().interval
    clustered = paired_difference(lead, np.zeros(200), np.repeat(np.arange(20), 10)).effect.estimate().interval
    assert isinstance(clear, Interval) and isinstance(clustered, Interval)
    assert clustered.low < -0.05 < 0 < clear.low


def test_means_that_tie_differences_that_are_alike_and_no_pair() -> None:
    assert paired_difference(np.array([0.1 + 0.2, 1.0]), np.array([0.3, 2.0])).ties == 1
    alike = paired_difference(np.array([3.0, 5.0]), np.array([2.0, 4.0])).effect.estimate()
    assert (alike.value, alike.interval) == (1, Undefined("every difference is 1"))
    none = paired_difference(np.array([np.nan]), np.array([3.0]))
    assert (none.effect.estimate().value, none.pairs) == (Undefined("there is no difference"), 0)


@pytest.mark.parametrize(
    ("differences", "by_judge", "by_people"),
    [
        ([1, 2, 1, 2], "demo scores v1 higher.", "people would score v1 higher."),
        ([-1, -2, -1, -2], "demo scores v2 higher.", "people would score v2 higher."),
        ([1, -2, 2, -1], "do not show which of them scores higher.", "do not show which of them scores higher."),
    ],
)
def test_only_labels_say_which_chatbot_people_would_score_higher(
    differences: list[float], by_judge: str, by_people: str
) -> None:
    first = 3 + np.array(differences * 3)
    found = paired_difference(first, np.full(len(first), 3.0))
    found = replace(found, estimate=found.effect.estimate())
    side = Side("v1", len(first), len(first))
    plan = ComparisonPlan("chatbot", ("v1", "v2"), Pairing("question"))
    each = Comparison("r", "score", "demo", side, replace(side, name="v2"), found, replace(found, labels=(6, 6)))
    plain, quoted = map(Language("en").note, sentences_on(each, plan))
    assert by_judge in plain and by_people in quoted
    assert "better" not in plain and "worse" not in plain


def test_a_difference_that_rounds_to_none_and_is_shown_is_not_said_to_be_none() -> None:
    found = paired_difference(np.array([3.003, 3.004, 3.005] * 9), np.full(27, 3.0))
    side = Side("v1", 27, 27)
    each = Comparison(
        "r", "score", "demo", side, replace(side, name="v2"), replace(found, estimate=found.effect.estimate())
    )
    (said,) = map(Language("en").note, sentences_on(each, ComparisonPlan("chatbot", ("v1", "v2"), Pairing("question"))))
    assert "as high as" not in said and said.endswith("demo scores v1 higher.")


def test_places_are_those_that_the_differences_leave_open() -> None:
    assert places("abc", [("a", "c")]) == {"a": (1, 2), "b": (1, 3), "c": (2, 3)}
    assert places("abc", [("a", "b"), ("b", "c")]) == {"a": (1, 2), "b": (2, 2), "c": (2, 3)}, "a never met c"
    assert places("abc", [*combinations("abc", 2)]) == {"a": (1, 1), "b": (2, 2), "c": (3, 3)}
    assert places("abc", [("a", "b"), ("b", "c"), ("c", "a")]) == dict.fromkeys("abc", (1, 3))
    many = [str(number) for number in range(300)]  # a ring of all
    assert places(many, [*pairwise([*many, "0"])]) == dict.fromkeys(many, (1, 300))


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


def test_labels_of_a_small_stratum_count_by_its_share(run: Run, tmp_path: Path) -> None:
    """Hard questions are a tenth, and a third of the sample; only there people see Gama behind."""
    mine, rows_of = rubric("question", "answer"), list[Case]()
    for at in range(400):
        kept = {"bot": ("Alfa", "Gama")[at % 2]}
        rows_of.append(Case(f"c-{at}", {"question": f"q {at // 2}", "answer": f"a {at}"}, kept, at + 1))
    hard = [at < 40 for at in range(400)]
    drawn = [at for at in range(400) if hard[at] or (at // 2) % 9 == 0]
    with judged_run(tmp_path / "may.run", mine, rows=rows_of) as made:
        store_draw(made, rows_of, drawn, mine, strata=[*map(int, hard)])
        labels = {
            rows_of[at].id: Verdict({"score": Score(4 - (at // 2) % 2 - 2 * (hard[at] and at % 2))}) for at in drawn
        }
        own = [rows_of[at] for at in drawn]
        add(made, "ann", labels, mine, "human", own, sheet=True)
    found = compared(run, tmp_path / "may.run", "--rater", "demo")["corrected"]
    assert found["value"] == pytest.approx(0.1 * 2)


def test_a_special_level_of_people_corrects_nothing(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", labelled=True)
    case = Case("Alfa-1", {"question": "question 1", "answer": "Alfa 1"}, {"bot": "Alfa"}, 4)
    with RunFile.open(tmp_path / "may.run") as made:
        add(made, "ann", {case.id: Verdict({"score": Score(3)})}, kind="human", rows=[case], sheet=True)
    printed = run("compare", tmp_path / "may.run", "--between", "bot", "--rater", "demo", "--json").out
    reason = "people gave some answers a special level, which has no place in a mean"
    assert {each["corrected"]["reason"] for each in rows(printed, "compare")} == {reason}
    assert reason in notes(printed, "labels_cannot")[0] and not rows(printed, "corrected_differences")


def test_clusters_of_either_side_count_and_no_interval_goes_beyond_the_scale(run: Run, tmp_path: Path) -> None:
    """Twelve questions: Alfa's answers come from a student each, Gama's from three."""
    mine, given = rubric("question", "answer"), list[Case]()
    for at in range(24):
        kept = {"bot": "Gama", "student": str(at // 8)} if at % 2 else {"bot": "Alfa", "student": f"of {at}"}
        given.append(Case(f"c-{at}", {"question": f"What is {at // 2}?", "answer": str(at)}, kept, at + 1))
    with judged_run(tmp_path / "may.run", mine, rows=given) as made:
        scores = {each.id: Verdict({"score": Score(5 if (at // 8 + at) % 2 else 1)}) for at, each in enumerate(given)}
        add(made, "demo", scores, mine, rows=given)
    found = compared(run, tmp_path / "may.run", "--cluster", "student")["difference"]
    assert (found["low"], found["high"], found["clusters"]) == (-4, 4, 3) and found["value"] == pytest.approx(-4 / 3)


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
    for wrong in ("bot=", "bot=v1", "bot=v1,v1", "robot=v1,v2"):
        assert run("compare", tmp_path / "odd.run", "--between", wrong).code == 2
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
