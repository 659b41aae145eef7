"""Answers of two chatbots are paired by their questions, which a run knows by keyed hashes alone."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from agreement_run import answers_run
from rated_run import add, judged_run, scored
from typed_here import Run, notes

from pathway_local.case import Case
from pathway_local.rubrics.rubric import Rubric
from pathway_local.verdict import Score, Verdict

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


def test_an_input_without_a_usual_name_pairs_where_it_is_named(run: Run, tmp_path: Path) -> None:
    texts = [{"scene": f"scene {at // 2}", "mood": f"mood {at}"} for at in range(24)]
    store(tmp_path / "may.run", texts, judged_under=rubric("scene", "mood", "answer"))
    assert compared(run, tmp_path / "may.run")["pair_by"] is None
    assert compared(run, tmp_path / "may.run", "--pair-by", "scene")["pair_by"] == "scene"
