"""Totals: read strictly, computed of verdicts by whomever, and in every table as other scores are."""

import csv
import json
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from rated_run import add, cases, store_draw
from typed import Desk
from typed_here import Run, notes, rows

from pathway_local.errors import FormatError, RubricError
from pathway_local.ratings.hosted_reply import read_reply
from pathway_local.rubrics.rubric import Rubric, compiled, read_compiled
from pathway_local.rubrics.rubric_file import declare_rubric, parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

TEXT = """---
name: graded
inputs: {answer: {type: string}}
outputs:
  layout: json
  fields:
    accuracy: 1-5
    complete: 1-5
    tone: 1-5
    "on topic": {type: score, min: 0, max: 3, special: [0]}
    kind: "a | b"
    why: text
  totals: TOTALS
---
user:
{{ answer }}
"""


def graded(**totals: object) -> Rubric:
    return parse_rubric(TEXT.replace("TOTALS", json.dumps(totals)), "graded.prompty")


GRADED = graded(total="0.5 accuracy + 0.3 complete + 0.2 tone", **{"pass": "total >= 3.5"})


@pytest.mark.parametrize(
    ("formula", "low", "high", "step"),
    [
        ("0.5 accuracy + 0.3 complete + 0.2 tone", 1, 5, 0.1),
        ("accuracy + tone", 2, 10, 1),
        ("max(accuracy, 2 * tone, 3) - 1", 2, 9, 1),
        ("min(accuracy, 0.5 complete + 0.5 tone)", 1, 5, 0.5),
        ('-0.25 tone + 0.5 "on topic" + 10', 9.25, 11.25, 0.25),
        ("accuracy - complete < -1.5", 0, 1, 1),
    ],
)
def test_a_total_has_even_steps_that_meet_all_its_values(formula: str, low: float, high: float, step: float) -> None:
    found = graded(x=formula).format.scores["x"]
    assert (found.min, found.max, found.step) == (low, high, step)


@pytest.mark.parametrize(
    ("totals", "said"),
    [
        ({"x": "0.5 acuracy + tone"}, "no score or earlier total is called 'acuracy': there are accuracy,"),
        ({"x": "x + tone"}, "no score or earlier total is called 'x'"),
        ({"x": "y + tone", "y": "accuracy"}, "no score or earlier total is called 'y'"),
        ({"x": "kind + tone"}, "the levels of kind are no numbers"),
        ({"x": "accuracy + max(tone, accuracy)"}, "counts a score twice"),
        ({"x": "0.5 tone", "y": "x + tone"}, "counts a score twice"),
        ({"x": "3"}, "counts a score twice, or none"),
        ({"x": "tone > -1"}, "is the same whatever the scores are"),
        ({"x": "0.3333333 tone + accuracy"}, "more than 1,000 values"),
        ({"x": "0.12345 tone + 0.6789 complete + 0.111 accuracy"}, "more than 1,000 values"),
        ({"tone": "accuracy"}, "another field has that name"),
        ({"why": "accuracy"}, "another field has that name"),
        ({"a b": "accuracy"}, "it is no name"),
        ({"x": "accuracy; import os"}, "';' does not fit at character 9: write \"0.5 accuracy"),
        ({"x": "tone >= 3 >= 2"}, "'>=' does not fit at character 11"),
        ({"x": "tone >= accuracy"}, "'accuracy' does not fit at character 9"),
        ({"x": "max(tone"}, "it ends too early"),
        ({"x": "__import__('os')"}, "'(' does not fit at character 11"),
        ({"x": "tone tone"}, "'tone' does not fit at character 6"),
        ({"x": "max(" * 90}, "more than 300 characters"),
        ({"x": ""}, "it ends too early"),
        ({"x": "9999999 tone"}, "one beyond a million"),
        *((each, "totals must map names to formulas") for each in (5, None, ["tone"], {"x": 3}, {"x": {"terms": []}})),
    ],
)
def test_what_is_no_total_is_refused_with_its_place(totals: object, said: str) -> None:
    with pytest.raises(FormatError) as error:
        parse_rubric(TEXT.replace("TOTALS", json.dumps(totals)), "graded.prompty")
    assert "graded.prompty line 13" in str(error.value) and said in str(error.value)


def test_a_comparison_has_no_totals() -> None:
    outputs = {"layout": "json", "fields": {"better": "B < tie < A"}, "totals": {"x": "2 better"}}
    with pytest.raises(RubricError, match="exactly one score"):
        declare_rubric("pair", "{{ a }} or {{ b }}", outputs, swap={"a": "b"})


def test_a_total_is_stored_as_it_was_read_and_is_no_part_of_the_reply() -> None:
    again = read_compiled(GRADED.text, compiled(GRADED))
    assert (compiled(again), again.format.scores) == (compiled(GRADED), GRADED.format.scores)
    assert list(again.format.scores) == ["accuracy", "complete", "tone", "on topic", "kind", "total", "pass"]
    form = GRADED.format.reply({"answer": "x"}).form
    hostile = compiled(GRADED).replace('"bound":3.5', '"bound":2e9')
    with pytest.raises(RubricError, match="at most 1000000000"):
        read_compiled(GRADED.text, hostile)
    assert "total" not in form.grammar() and "total" not in json.dumps(GRADED.format.schema())


def test_its_probabilities_are_those_of_independent_scores() -> None:
    rng = np.random.default_rng(1)
    shares = {name: rng.dirichlet(np.ones(5)).tolist() for name in ("accuracy", "complete", "tone")}
    given = {name: Score(4, dict(enumerate(share, 1))) for name, share in shares.items()}
    found = GRADED.format.with_totals(given)
    expected: dict[float, float] = {}
    for a, c, t in product(range(1, 6), repeat=3):
        value = round(0.5 * a + 0.3 * c + 0.2 * t, 6)
        chance = shares["accuracy"][a - 1] * shares["complete"][c - 1] * shares["tone"][t - 1]
        expected[value] = expected.get(value, 0) + chance
    assert found["total"].value == 4 and found["total"].probabilities == pytest.approx(expected)
    passes = sum(chance for value, chance in expected.items() if value >= 3.5)
    assert found["pass"].value == 1 and found["pass"].probabilities == pytest.approx({0: 1 - passes, 1: passes})
    weights = {"accuracy": 0.5, "complete": 0.3, "tone": 0.2}
    assert found["total"].expected() == pytest.approx(
        sum(weight * (given[name].expected() or 0) for name, weight in weights.items())
    )


def test_special_values_leave_the_distribution_and_undo_a_total() -> None:
    topical = graded(x='"on topic" + tone').format
    shares = {0: 0.5, 1: 0.25, 2: 0.25, 3: 0.0}
    found = topical.with_totals({"on topic": Score(1, shares), "tone": Score(4, {4: 1.0})})["x"]
    assert (found.value, found.probabilities) == (5, {5: 0.5, 6: 0.5})
    assert "x" not in topical.with_totals({"on topic": Score(0, shares), "tone": Score(4)})
    assert "x" not in topical.with_totals({"tone": Score(4)})
    assert topical.with_totals({"on topic": Score(1, {0: 1.0, 1: 0.0}), "tone": Score(4)})["x"] == Score(5)
    assert topical.with_totals({"on topic": Score(1), "tone": Score(3.5)})["x"] == Score(4.5)


def test_a_hosted_reply_gets_its_totals_and_may_not_write_them() -> None:
    reply = {"accuracy": 4, "complete": 3, "tone": 5, "on topic": 1, "kind": "a", "why": "so"}
    found = read_reply(json.dumps(reply), GRADED.format)
    assert isinstance(found, Verdict) and not found.marks
    assert (found.scores["total"], found.scores["pass"]) == (Score(3.9), Score(1))
    assert not isinstance(read_reply(json.dumps(reply | {"total": 5}), GRADED.format), Verdict)


def a_run(path: Path) -> None:
    """Sixty answers of two chatbots, judged with probabilities; of one the judge says that it is off topic."""
    rng = np.random.default_rng(4)
    topical = graded(total="0.5 accuracy + 0.3 complete + 0.2 tone", veto='min(total, 2 "on topic")', ok="veto >= 3.5")
    asked = [
        *cases(topical, [f"a{n}" for n in range(30)], bot="A"),
        *cases(topical, [f"b{n}" for n in range(30)], bot="B"),
    ]
    said = {}
    for at, case in enumerate(asked):
        values = rng.integers(1 + (at >= 30), 6, 3).tolist()
        shares = [{level: 0.6 if level == value else 0.1 for level in range(1, 6)} for value in values]
        scores = {n: Score(v, p) for n, v, p in zip(("accuracy", "complete", "tone"), values, shares, strict=True)}
        scores["on topic"] = Score(0 if at == 7 else 2, {0: 0.1, 1: 0.1, 2: 0.7, 3: 0.1})
        said[case.id] = Verdict(topical.format.with_totals(scores), {"why": "so"})
    with RunFile.create(path) as made:
        add(made, "demo", said, topical, rows=asked)


def test_it_is_a_score_in_every_table_and_file(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run")
    answers = "id,accuracy,complete,tone,on topic\n" + "".join(f"a{n},{1 + n % 5},3,{n % 3 + 2},2\n" for n in range(29))
    (tmp_path / "ann.csv").write_text(f"{answers}a29,4,,3,2\n")
    assert run("import", "may.run", "ann.csv", "--kind", "human", "--rater", "ann").code == 0
    assert "ann 30 30" in run("import", "may.run", "ann.csv", "--kind", "human", "--rater", "ann").words
    found = run("summary", "may.run", "--json").out
    every = {(row["rater"], row["score"]): row for row in rows(found, "scores")}
    assert every["demo", "total"]["n"] == 60 and every["demo", "veto"]["n"] == 59
    assert (every["ann", "accuracy"]["n"], every["ann", "total"]["n"]) == (30, 29)
    assert every["ann", "total"]["mean"]["value"] == pytest.approx(
        np.mean([0.5 * (1 + n % 5) + 0.9 + 0.2 * (n % 3 + 2) for n in range(29)])
    )
    missing = "veto is missing for 1 of 60 verdicts by demo: one of its scores is missing or special there."
    assert missing in notes(found, "total_missing") and len(notes(found, "total_is")) == 3
    agreed = rows(run("agreement", "may.run", "--json").out, "pairs")
    assert {row["cases"] for row in agreed if "kappa_quadratic" in row} == {28, 29, 30}
    for command in (("compare", "--between", "bot"), ("report", "--out", "r.html")):
        assert run(command[0], "may.run", *command[1:]).code == 0
    assert "graded total is computed: 0.5 accuracy + 0.3 complete + 0.2 tone." in (tmp_path / "r.html").read_text()
    run("export", "may.run", "--out", "x.csv")
    with (tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        exported = [row for row in csv.DictReader(file) if row["rater"] == "demo"]
    assert {"total", "total_expected", "total_p1.1", "ok_confidence"} <= exported[0].keys()
    for row in exported:
        expected = sum(
            w * float(row[f"{n}_expected"]) for n, w in (("accuracy", 0.5), ("complete", 0.3), ("tone", 0.2))
        )
        assert float(row["total_expected"]) == pytest.approx(expected, abs=1e-4)


def test_a_judge_hands_over_by_a_total(run: Run, tmp_path: Path) -> None:
    rated = cases(GRADED, [f"a{n}" for n in range(150)])
    sure = {name: Score(4, {4: 0.98, 2: 0.02}) for name in ("accuracy", "complete", "tone")}
    said = dict.fromkeys((case.id for case in rated), Verdict(GRADED.format.with_totals(sure)))
    with RunFile.create(tmp_path / "may.run") as made:
        add(made, "demo", said, GRADED, rows=rated)
        store_draw(made, rated, range(100), GRADED)
        add(made, "ann", said, GRADED, "human", rated[:100], sheet=True)
    promise = ("handover", "may.run", "--against", "ann", "--error", 0.1, "--score", "pass")
    [row] = rows(run(*promise, "--json", "--store", "both").out, "handover")
    assert row["kept"] == 50
    with RunFile.read(tmp_path / "may.run") as made:
        stored = [record.outcome for record in made.records("both")]
    assert all(isinstance(each, Verdict) and list(each.scores) == ["pass"] for each in stored) and len(stored) == 150


def test_show_says_how_it_is_computed(run: Run, tmp_path: Path) -> None:
    (tmp_path / "graded.prompty").write_text(GRADED.text)
    shown = run("rubrics", "show", "graded.prompty").words
    assert (
        "total is computed: 0.5 accuracy + 0.3 complete + 0.2 tone" in shown
        and "pass is computed: total >= 3.5" in shown
    )


def test_examples_have_the_given_scores_alone() -> None:
    examples = "examples: [{inputs: {answer: a}, scores: {accuracy: 4, complete: 3, tone: 2, on topic: 1, kind: 1}}]"
    text = GRADED.text.replace("name: graded", f"name: graded\n{examples}")
    assert len(parse_rubric(text, "graded.prompty").examples) == 1


def test_a_terminal_shows_no_counts_of_many_levels(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run")
    head = next(
        line for line in run("summary", "may.run").out.splitlines() if "95% interval" in line and "mean" in line
    )
    assert "4" in head.split() and "4.1" not in head.split()


def test_a_local_judge_gets_totals_with_probabilities(desk: Desk) -> None:
    text = GRADED.text.replace("name: graded", "name: graded\ndescription: graded").replace("why: text", "why: text 10")
    (desk.work / "graded.prompty").write_text(text)
    judging = [each if each != "small.prompty" else "graded.prompty" for each in desk.judging(desk.cases(3))]
    desk.typed(*judging)
    with RunFile.read(desk.work / "may.run") as run:
        found = [record.outcome for record in run.records()]
    assert len(found) == 3
    for each in found:
        assert isinstance(each, Verdict)
        values = {name: score.value for name, score in each.scores.items()}
        assert values["total"] == pytest.approx(
            0.5 * values["accuracy"] + 0.3 * values["complete"] + 0.2 * values["tone"]
        )
        assert values["pass"] == int(values["total"] >= 3.5) and each.scores["total"].probabilities
