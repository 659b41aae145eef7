"""How many answers are bad and how many a judge passes: every figure is counted again here, from the scores."""

import json
from math import ceil
from pathlib import Path

import pytest
from agreement_run import answers_run
from compared_run import compared_run
from rated_run import TINY, TWO, add, cases, judged_run, said, several_run, store_draw
from statsmodels.stats.proportion import proportion_confint
from typed_here import Run, notes, rows, sentences

from pathway_local.results.bad import bad_answers, overview
from pathway_local.results.summary import SummaryOptions
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.verdict import Score, Verdict

COMMITTEE = ("Ann", "Bob", "Cy")


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    path = tmp_path / "answers.run"
    answers_run(path)
    return path


def test_the_row_of_all_groups_says_so(run: Run, answers: Path) -> None:
    assert "demo all 312 " in run("summary", answers, "--by", "chatbot").words
    assert run("report", answers, "--by", "chatbot", "--lang", "de", "--out", "x.html").code == 0
    assert "<td>alle</td>" in Path("x.html").read_text()


def test_one_sentence_says_it_at_the_top(run: Run, answers: Path) -> None:
    first, second, *_ = sentences(run("agreement", answers, "--json").out)
    assert first == (
        "Of these answers, people would call about 19% (13% to 25%) bad (helpful: 2 (Poor) or lower); demo "
        "finds 9 of 22 such answers among the labels and calls 7 of 95 good ones bad."
    )
    assert second == "gpt finds 16 of 22 such answers among the labels and calls 5 of 98 good ones bad."
    shown = run("summary", answers).out.splitlines()
    assert " ".join(shown[0].split()) == first
    assert "Of these answers, people" not in run("summary", answers, "--against", "committee/Ann").words
    assert "committee/Ann would call about" in run("summary", answers, "--against", "committee/Ann").words


def test_a_judge_that_finds_none_is_said_to(run: Run, tmp_path: Path) -> None:
    every = cases(ids=[f"c-{n}" for n in range(60)])
    with judged_run(tmp_path / "may.run", rows=every) as made:
        store_draw(made, every, range(40))
        low = said(*[1, 2] * 5, *[4] * 30, ids=[row.id for row in every[:40]])
        add(made, "ann", low, kind="human", rows=every[:40], sheet=True)
    first, *_ = sentences(run("agreement", "may.run", "--json").out)
    assert first == (
        "Of these answers, ann would call about 25% (18% to 34%) bad (tiny: 2 (Poor) or lower); "
        "demo finds none of 10 such answers among the labels."
    )
    for level in ("bad", "1"):
        named = sentences(run("agreement", "may.run", "--bad", level, "--json").out)[0]
        assert "(tiny: 1 (Bad))" in named and "none of 5 such answers" in named


def test_strata_weigh_and_clusters_widen(run: Run, tmp_path: Path) -> None:
    """Of a small stratum more were drawn: each label there stands for fewer cases."""
    half = [0] * 80 + [1] * 20
    every = [
        row
        for name, size in (("big", 80), ("small", 20))
        for row in cases(ids=[f"{name}-{n}" for n in range(size)], half=name)
    ]
    every = [type(row)(row.id, row.inputs, {**row.metadata, "pupil": f"p{n // 4}"}, n) for n, row in enumerate(every)]
    drawn = [*range(0, 80, 4), *range(80, 100)]
    with judged_run(tmp_path / "may.run", rows=every) as made:
        store_draw(made, every, drawn, strata=half)
        given = said(*[1] * 10, *[4] * 10, *[1] * 20, ids=[every[place].id for place in drawn])
        add(made, "ann", given, kind="human", rows=[every[place] for place in drawn], sheet=True)
        judge = {row.id: Verdict({"score": Score(4 if n < 80 else 2)}) for n, row in enumerate(every)}
        add(made, "demo", judge, rows=every)
    (row,) = rows(run("summary", "may.run", "--json").out, "bad")
    assert (row["bad_labels"], row["passed"]) == (30, 10)
    assert row["passed_share"]["value"] == pytest.approx(10 * 4 / (10 * 4 + 20))
    assert row["bad_by_people"]["value"] == pytest.approx((80 * 0.5 + 20) / 100, abs=0.02)
    (wide,) = rows(run("summary", "may.run", "--cluster", "Pupil", "--json").out, "bad")
    assert wide["bad"]["high"] - wide["bad"]["low"] > 1.3 * (row["bad"]["high"] - row["bad"]["low"])


def test_labels_that_nobody_drew_correct_nothing_and_a_warning_says_so(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        add(made, "ann", said(1, 4), kind="human", rows=cases()[:2])
    found = run("summary", "may.run", "--json").out
    (row,) = rows(found, "bad")
    assert row["bad_by_people"]["value"] is None and (row["bad_labels"], row["passed"]) == (1, 1)
    assert notes(found, "labels_of_no_sample")[0].startswith("The cases that ann rated were not drawn at random")


def test_a_level_that_is_none_is_refused_and_a_choice_between_two_has_no_bad_ones(run: Run, tmp_path: Path) -> None:
    judged_run(tmp_path / "may.run").close()
    for command in (("summary",), ("agreement",), ("compare", "--between", "bot")):
        for level in ("7", "5", "splendid"):
            refused = run(command[0], "may.run", *command[1:], "--bad", level)
            assert refused.code == 2 and (level in refused.err or command[0] == "compare")
    compared_run(tmp_path / "pairs.run").close()
    assert not rows(run("summary", "pairs.run", "--json").out, "bad")
    assert TINY.format.scores["score"].scale == "ordinal"


def test_a_comparison_shows_the_bad_answers_of_both_sides(run: Run, tmp_path: Path) -> None:
    several_run(tmp_path / "may.run", labelled=True)
    found = rows(run("compare", "may.run", "--between", "bot=Alfa,Gama", "--json").out, "bad")
    assert [(row["rater"], row["group"]) for row in found] == [("demo", "Alfa"), ("demo", "Gama")]
    assert found[0]["bad_by_people"]["high"] < found[1]["bad_by_people"]["low"]


def test_without_labels_one_sentence_does_for_all_scores_and_judges(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "may.run") as made:
        add(made, "other", said(1, 1, 4, 5))
    out = run("summary", "may.run", "--json").out
    told = [note["key"] for table in json.loads(out) for note in table["notes"]]
    assert [key for key in told if key.startswith("bad_")] == ["bad_unlabelled"]
    assert "nothing shows whether the shares that demo and other call bad are right" in run("summary", "may.run").words


def test_without_a_bad_label_the_headline_says_what_the_labels_can_carry(run: Run, tmp_path: Path) -> None:
    rows_, ids = cases(ids=[f"c-{n}" for n in range(100)]), [f"c-{n}" for n in range(100)]
    with judged_run(tmp_path / "may.run", rows=rows_) as made:
        store_draw(made, rows_, range(30))
        add(made, "ann", said(*[4, 5] * 15, ids=ids), kind="human", rows=rows_, sheet=True)
    most = ceil(100 * proportion_confint(0, 30, method="wilson")[1])
    assert f"Of these answers, ann would call 0% to {most}% bad" in run("summary", "may.run").words
    told = run("agreement", "may.run").words
    assert "none of the 30 labelled answers is bad" in told and "rate more cases: too few bad answers" in told


def test_all_figures_of_a_row_are_about_the_cases_that_it_counts(run: Run, tmp_path: Path) -> None:
    """The judge failed on a chatbot whose answers are all bad, and forty more cases came after the sample."""
    ids = [f"c-{n}" for n in range(140)]
    every = [*cases(ids=ids[:95], lang="en"), *cases(ids=ids[95:], lang="es")]
    with judged_run(tmp_path / "may.run", rows=[]) as made:
        add(made, "demo", said(*[4] * 70, *[0] * 30, *[1] * 40, ids=ids), rows=every)
        store_draw(made, every[:100], range(0, 100, 2))
        given = said(*([4, 4, 4, 4, 1, 4, 4] * 10)[:70], *[1] * 30, ids=ids)
        add(made, "ann", given, kind="human", rows=every[:100:2], sheet=True)
    out = run("summary", "may.run", "--json").out
    (row,) = rows(out, "bad")
    assert (row["cases"], row["bad"]["value"], row["bad_labels"] + row["good_labels"]) == (70, 0, 35)
    assert row["bad_by_people"]["value"] == pytest.approx(1 / 7, abs=0.01)
    assert notes(out, "bad_about")[0].startswith("tiny by demo: these figures are about 70 of 140 cases")
    whole, brief = (run("agreement", "may.run", "--by", "lang", *more).words for more in (["--full"], []))
    assert "40 cases are left out of corrected means" in whole and "one value of lang has under 10" in whole
    assert "one value of lang has under 10" not in brief, "es has 40 cases in the table that is shown"


def test_each_judge_that_scores_unlabelled_cases_otherwise_is_told_of(run: Run, tmp_path: Path) -> None:
    ids = [f"c-{n}" for n in range(60)]
    every = cases(ids=ids)
    with judged_run(tmp_path / "may.run", rows=every) as made:
        add(made, "other", said(*[5] * 30, *[1, 2] * 15, ids=ids), rows=every)
        store_draw(made, every, range(60))
        add(made, "ann", said(*[4, 5] * 15, ids=ids), kind="human", rows=every[:30], sheet=True)
    for command in ("summary", "agreement"):
        told = notes(run(command, "may.run", "--json").out, "missing_scored_apart")
        assert [each.split(" scores ")[0] for each in told] == ["other"]


def test_where_every_answer_is_labelled_no_sample_is_asked_for(run: Run, tmp_path: Path) -> None:
    ids = [f"c-{number}" for number in range(40)]
    with judged_run(tmp_path / "may.run", rows=cases(ids=ids)) as made:
        add(made, "ann", said(*(1, 2, 4, 5) * 10, ids=ids), kind="human", rows=cases(ids=ids))
    for command in ("summary", "agreement"):
        told = run(command, "may.run", "--json").out
        assert not notes(told, "next_sample") + notes(told, "labels_of_no_sample")
    assert notes(told, "next_people")


def test_of_several_scores_a_report_says_one_next_step_and_the_most_careful(tmp_path: Path) -> None:
    rows, levels = cases(TWO, map(str, range(100))), [1 + at % 5 for at in range(100)]
    for first, second in (("clear", "right"), ("right", "clear")):
        with RunFile.create(tmp_path / f"{first}.run") as run:
            for name, kind in (("demo", "judge"), ("ann", "human")):
                own = [5] * 100 if kind == "judge" else levels
                told = zip(rows, levels, own, strict=True)
                given = {row.id: Verdict({first: Score(one), second: Score(other)}) for row, one, other in told}
                add(run, name, given, TWO, kind, rows)
            data = Scores(run)
            bad = [bad_answers(data, each, SummaryOptions()) for each in data.matrices([*data.rubrics.values()])]
            _, told = overview([each for each in bad if each], "")
            assert [note.key for note in told if note.key.startswith("next_")] == ["next_people"]
