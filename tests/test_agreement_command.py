"""`pathway-local agreement` and `compare`, and every command of their page in the documentation."""

import csv
import json
import math
import re
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from agreement_run import COMMITTEE, HELPFUL, answered, answers_run, fill_in, scores_of, write_cases
from rated_run import TINY, add, cases, judged_run, said, store_draw
from scipy import stats
from typed_here import Run, notes, rows

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.record import CaseOutcome
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.verdict import Score, Verdict

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "agreement.md").read_text(encoding="utf-8")
BEFORE = (ROOT / "docs" / "ratings.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)


@pytest.fixture
def answers(tmp_path: Path) -> Path:
    answers_run(tmp_path / "answers.run")
    return tmp_path / "answers.run"


def test_every_command_of_both_pages_does_what_it_shows(run: Run, tmp_path: Path) -> None:
    answers_run(tmp_path / "answers.run", people=False)
    write_cases(tmp_path / "answers.csv")
    ran = 0
    pages = f"{BEFORE}\n{PAGE}"
    for block in BLOCK.findall(pages):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.splitlines()
            assert command.startswith("pathway-local "), command
            found = run(*command.split()[1:])
            assert found.code == 0, (command, found)
            if " sample " in command:
                fill_in(tmp_path / "rate.xlsx")
            for line in shown:
                assert " ".join(line.split()) in found.words, (command, line, found.out, found.err)
            ran += 1
    assert ran == pages.count("\n$ ") > 8


def test_nobody_is_compared_with_scores_of_their_own_or_corrected_by_a_judge(run: Run, tmp_path: Path) -> None:
    ids = [f"s-{number}" for number in range(40)]
    every, scores = cases(ids=ids), {"ann": [1, 2, 4, 5] * 10, "bob": [1, 2, 5, 5] * 10, "gpt": [2, 2, 4, 5] * 10}
    with judged_run(tmp_path / "may.run", rows=every) as made:
        store_draw(made, every, range(30))
        for name, own in scores.items():
            kind = "hosted" if name == "gpt" else "human"
            add(made, name, said(*own[:30], ids=ids), kind=kind, rows=every, sheet=kind == "human")
        both = made.add_rater(Rater("both", "combined", TINY.name, {"of": ["demo", "ann"]}))
        made.put_all(
            both,
            [
                CaseOutcome(each.ref(fingerprint(made.key, TINY.texts_of(each))), Verdict({"score": Score(4)}))
                for each in every
            ],
            keep=None,
        )
    out = run("agreement", "may.run", "--json").out
    found = {frozenset((row["first"], row["second"])) for row in rows(out, "pairs")}
    names = ("ann", "bob", "both", "demo", "gpt")
    assert found == {frozenset(pair) for pair in combinations(names, 2)} - {
        frozenset(("both", x)) for x in ("ann", "demo")
    }
    assert notes(out, "own_members") and {row["judge"] for row in rows(out, "corrected")} == {"demo", "gpt"}
    assert {row["judge"] for row in rows(out, "benchmark")} == {"demo", "gpt"}
    by_judge = run("agreement", "may.run", "--against", "gpt", "--json").out
    assert rows(by_judge, "pairs") and not rows(by_judge, "corrected")


def test_the_page_says_how_to_read_every_figure_as_the_program_does() -> None:
    for each in COEFFICIENTS.values():
        assert f"| {each.label} | {each.reading}" in PAGE


def figures_in(out: str, table: str, first: str = "", second: str = "") -> dict[str, dict[str, Any]]:
    """The figures of the last such row of an analysis, each with what stands beside it."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows(out, table):
        if first in ("", row.get("first")) and second in ("", row.get("second")):
            beside = {name: cell for name, cell in row.items() if not isinstance(cell, dict)}
            found |= {name: beside | cell for name, cell in row.items() if isinstance(cell, dict)}
    return found


def test_coverage_stands_beside_each_figure(run: Run, answers: Path) -> None:
    said_here = run("agreement", answers, "--rater", "demo", "--rater", "committee/Ann", "--json")
    exact = figures_in(said_here.out, "pairs", "demo", "committee/Ann")["exact"]
    assert (exact["first_coverage"], exact["second_coverage"]) == (312 / 320, 120 / 320)
    assert sum(sum(row["counts"].values()) for row in rows(said_here.out, "confusion")) == exact["cases"] == 117
    assert figures_in(said_here.out, "together").keys() == {"alpha_ordinal"}
    assert rows(said_here.out, "raters")[0] | {"coverage": 0} == {
        "rater": "demo", "kind": "judge", "scored": 312, "rated": 312, "coverage": 0, "failures": 8, "other_texts": 0,
    }  # fmt: skip


def test_judges_are_held_against_people(run: Run, answers: Path) -> None:
    make = ("agreement", answers, "--cluster", "student", "--by", "audience", "--json")
    out = run(*make, "--min-group", 10).out
    assert [row["judge"] for row in rows(out, "benchmark")] == ["demo", "gpt"]
    (two,) = rows(out, "judges")
    apart = two["first_figure"]["value"] - two["second_figure"]["value"]
    assert (two["first"], two["second"], two["difference"]["value"]) == ("demo", "gpt", pytest.approx(apart))
    assert two["standing"] in ("better", "not worse", "worse", "can't tell")
    assert {row["group"] for row in rows(out, "group_errors")} == {"staff", "enrolled"}
    assert {row["rater"] for row in rows(out, "group_errors")} == {"demo", "gpt"}
    assert set(re.findall(r'"interval": "(.*?)"', out)) <= {
        "jackknife with t", "jackknife with log-odds and t", "Wilson",
    }  # fmt: skip
    assert run("agreement", answers, "--by", "faculty").code == 2


def test_tables_for_others_hold_no_text_no_case_and_no_small_group(run: Run, answers: Path, tmp_path: Path) -> None:
    commands = (
        (
            "agreement", answers, "--cluster", "student", "--by", "audience", "--rater", "demo",
            "--rater", "committee",
        ),
        ("compare", answers, "--between", "audience=guest,staff", "--pair-by", "chatbot"),
    )  # fmt: skip
    for command in commands:
        for how in ((), ("--json",), ("--out", "figures.csv", "--force")):
            found = run(*command, *how)
            assert found.code == 0, found
            text = found.out + found.err
            text += (tmp_path / "figures.csv").read_text() if "--out" in how else ""
            assert not re.search(r"a-\d\d\d|the words of|question \d|\bst\d|nan", text), (command, how)
            assert "guest" not in text or command[0] == "compare"
    shown = run(*commands[0], "--min-group", 1)
    assert "guest" in shown.out


def test_a_file_of_figures_has_a_reason_or_a_number_in_each_row(run: Run, answers: Path, tmp_path: Path) -> None:
    run("agreement", answers, "--rater", "demo", "--rater", "committee", "--out", "figures.csv")
    with (tmp_path / "figures.csv").open(newline="", encoding="utf-8") as file:
        lines = [row for row in csv.DictReader(file) if row["figure"]]
    assert len(lines) > 50
    for row in lines:
        assert row.get("reason") or all(math.isfinite(float(row[name])) for name in ("value", "low", "high"))
    assert run("agreement", answers, "--out", "figures.csv").code == 2


@pytest.fixture
def small(tmp_path: Path) -> Iterator[RunFile]:
    """A judge that gave 4 everywhere under a rubric with a special level, and people who scored a little."""
    with judged_run(tmp_path / "small.run") as made:
        add(made, "ann", said(1, 4, 3, 5), kind="human")
        add(made, "bob", said(0, 4), kind="human")
        add(made, "cy", {"s-3": Verdict({"score": Score(2)})}, kind="human")
        yield made


def test_what_is_not_defined_says_why(run: Run, small: RunFile) -> None:
    shown = run("agreement", small.path, "--full")
    assert shown.code == 0
    assert "nan" not in shown.out.casefold()
    for reason in (
        "not defined, because demo gave 4 every time",
        "not defined, because there is only one case",
        "not defined, because there is no case to compare",
    ):
        assert reason in shown.words
    brief = run("agreement", small.path).words
    assert '"its agreement" is not shown, because' in brief, "a column's name stands apart from the sentence"
    every = [row for each in json.loads(run("agreement", small.path, "--json").out) for row in each["rows"]]
    cells = [cell for row in every for cell in row.values() if isinstance(cell, dict) and "value" in cell]
    assert cells and all(cell["value"] is not None or cell["reason"] for cell in cells)


def test_special_levels_are_apart(run: Run, small: RunFile) -> None:
    out = run("agreement", small.path, "--rater", "demo", "--rater", "ann", "--json").out
    assert figures_in(out, "pairs")["exact"]["cases"] == 3
    counts = {row["level"]: [*row["counts"].values()] for row in rows(out, "confusion")}
    assert counts["4"] == [1, 0, 1, 1, 1]
    (raters,) = [each for each in json.loads(out) if each["table"] == "raters"]
    assert (raters["levels"], raters["special"]) == ([1, 2, 4, 5], [3])


NOMINAL = parse_rubric(
    TINY.text.replace("name: tiny", "name: kinds").replace(", special: [3]}", ", scale: nominal}"), "kinds"
)


def test_nominal_scores_get_nominal_figures(run: Run, tmp_path: Path) -> None:
    with judged_run(tmp_path / "kinds.run", NOMINAL) as made:
        add(made, "ann", said(1, 4, 4, 5), NOMINAL, kind="human", rows=cases(NOMINAL))
    out = run("agreement", tmp_path / "kinds.run", "--json").out
    assert figures_in(out, "pairs").keys() == {"exact", "kappa"}
    assert figures_in(out, "together").keys() == {"alpha_nominal"}
    assert not rows(out, "corrected") and not rows(out, "reliability")
    assert run("compare", tmp_path / "kinds.run", "--between", "x=a,b", "--pair-by", "y").code == 2


OTHER = parse_rubric(TINY.text.replace("name: tiny", "name: other"), "other")


@pytest.fixture
def two_rubrics(tmp_path: Path) -> Path:
    """demo and ann have rated under tiny, gpt and a committee of one under other."""
    rows = [
        Case(each.id, each.inputs, {"bot": "ab"[each.row % 2], "asked": str(each.row // 3)}, each.row)
        for each in cases()
    ]
    with judged_run(tmp_path / "two.run", rows=rows) as made:
        add(made, "ann", said(1, 4, 3, 5), kind="human", rows=rows)
        add(made, "gpt", said(1, 4, 5, 5), OTHER, kind="hosted", rows=rows)
        add(made, "committee/dan", said(2, 4, 5, 4), OTHER, kind="human", rows=rows)
    return tmp_path / "two.run"


PAIRING = ("--between", "bot=a,b", "--pair-by", "asked")


@pytest.mark.parametrize(
    ("command", "rated", "missing"),
    [
        (("agreement", "--against", "ann"), "tiny", "ann"),
        (("agreement", "--against", "committee"), "other", "committee"),
        (("agreement", "--rater", "demo", "--rater", "ann"), "tiny", "demo"),
        (("compare", *PAIRING, "--rater", "gpt"), "other", "gpt"),
    ],
)
def test_a_rubric_that_a_rater_has_not_rated_is_left_out_and_told(
    run: Run, two_rubrics: Path, command: tuple[str, ...], rated: str, missing: str
) -> None:
    name, *options = command
    found = run(name, two_rubrics, *options, "--json")
    assert found.code == 0, found
    named = [row for each in json.loads(found.out) for row in ([each] if "rubric" in each else each["rows"])]
    assert {each["rubric"] for each in named} == {rated}
    other = {"tiny": "other", "other": "tiny"}[rated]
    assert found.err == f"note: {other} is left out: {missing} has not rated under it\n"
    refused = run(name, two_rubrics, *options, "--rubric", other)
    assert (refused.code, f"no rater is called '{missing}'" in refused.err) == (2, True)


@pytest.mark.parametrize(
    "command", [("agreement", "--rater"), ("agreement", "--against"), ("compare", *PAIRING, "--rater")]
)
def test_a_rater_of_no_rubric_is_an_error(run: Run, two_rubrics: Path, command: tuple[str, ...]) -> None:
    name, *options = command
    found = run(name, two_rubrics, *options, "nobody")
    assert (found.code, "no rater is called 'nobody'" in found.words) == (2, True)
    assert {"demo", "ann", "gpt", "committee/dan"} <= set(re.split(r"[\s,.]+", found.err))


def test_raters_of_different_rubrics_have_nothing_to_compare(run: Run, two_rubrics: Path) -> None:
    found = run("agreement", two_rubrics, "--rater", "gpt", "--rater", "ann")
    assert (found.code, "gpt, ann have no rubric in common" in found.words) == (2, True)


def test_a_judge_that_is_too_strict_is_corrected(run: Run, answers: Path) -> None:
    with RunFile.open(answers) as made:
        _, worth, _ = answered()
        low = {f"a-{place:03}": Verdict({"score": Score(max(1, int(each) - 1))}) for place, each in enumerate(worth)}
        add(made, "strict one", low, HELPFUL, "hosted", answered()[0])
    shown = run("agreement", answers).words
    assert re.search(r"strict one scores lower than each of these people, .* the corrected mean allows for that", shown)
    named = run("agreement", answers, "--rater", "strict one", "--against", "committee").words
    assert "scores of strict one, " in named and "scores of strict one, " not in shown


def test_no_command_is_advised_that_lacks_a_sample(run: Run, tmp_path: Path) -> None:
    ids = [f"s-{number}" for number in range(40)]
    with judged_run(tmp_path / "may.run", rows=cases(ids=ids)) as made:
        for name in ("ann", "bob"):
            add(made, name, said(*[1, 2] * 20, ids=ids), kind="human", rows=cases(ids=ids))
    shown = run("agreement", tmp_path / "may.run").words
    assert "people's labels of a random sample (`sample`) can correct its mean" in shown and "`pathway" not in shown
    alone = run("agreement", tmp_path / "may.run", "--rater", "ann", "--rater", "bob", "--json")
    said_alone = [note["text"] for each in json.loads(alone.out) for note in each["notes"]]
    assert [text for text in said_alone if "judge" in text] == []


def test_a_mean_is_corrected_towards_what_people_would_give(run: Run, answers: Path) -> None:
    out = run("agreement", answers, "--rater", "demo", "--against", "committee", "--by", "audience", "--json").out
    whole, *groups = rows(out, "corrected")
    _, worth, _ = answered()
    truth = float(np.mean([scores_of(person, worth) for person in COMMITTEE]))
    assert whole["corrected"]["low"] < truth < whole["corrected"]["high"]
    assert whole["judge_mean"] > whole["corrected"]["high"]
    spans = {name: whole[name]["high"] - whole[name]["low"] for name in ("corrected", "labels_only")}
    assert spans["corrected"] < spans["labels_only"]
    assert (whole["cases"], whole["labelled"], whole["without_verdict"]) == (320, 120, 8)
    assert [row["group"] for row in groups] == ["staff", "enrolled"] and "group" not in whole
    (told,) = [each for each in json.loads(out) if each["table"] == "corrected"]
    assert (told["sample"], told["strata"], told["drawn"], told["reference"]) == (7, "", 120, "committee")
    points = rows(out, "reliability")
    assert sum(row["cases"] for row in points) == 117 and len(points) == 4
    assert [row["expected"] for row in points] == sorted(row["expected"] for row in points)
    shown, brief = run("agreement", answers, "--full").words, run("agreement", answers).words
    sentence = re.search(r"Under helpful, people would give .*? and people's 120 labels", brief)
    assert sentence and sentence[0] in shown
    assert "means, corrected by people's labels" in shown and "means, corrected by people's labels" not in brief
    assert "The labels were drawn case by case, so it does not matter here which cases belong together." in shown


def test_labels_belong_to_the_sample_with_most_of_them(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "samples.run"
    ids = [f"s-{number:02}" for number in range(60)]
    rated = cases(ids=ids)
    judged = [5, 4, 4, 5, 3, 4] * 5 + [1, 2, 2, 1, 2, 1] * 5

    with RunFile.create(path) as made:
        add(made, "demo", said(*judged, ids=ids), rows=rated)
        labels = said(*[4, 5, 3, 4, 5] * 6, ids=ids[:30])
        add(made, "ann", labels, kind="human", rows=rated[:30])
        store_draw(made, rated, range(18, 58), seed=1)
        add(made, "ann", labels, kind="human", rows=rated[18:30], sheet=True)
    few = run("agreement", path).words
    assert "Only 12 of the 40 cases of the sample with seed 1 are labelled by ann" in few and "would give" not in few

    with RunFile.open(path) as made:
        store_draw(made, rated, range(0, 34), seed=2)
        add(made, "ann", labels, kind="human", rows=rated[:30], sheet=True)
        store_draw(made, rated, range(5, 15), seed=3)  # all of these have labels, but it was drawn later
    found = run("agreement", path, "--json").out
    assert [row["labelled"] for row in rows(found, "corrected")] == [30]
    assert notes(found, "labels_of_sample") == ["The labels are taken as those of the sample with seed 2."]
    (missing,) = notes(found, "labels_missing")
    assert (
        missing.startswith("4 of 34 drawn cases have no label")
        and "2.90 points lower" in notes(found, "missing_scored_apart")[0]
    )


def test_many_missing_labels_are_bounded(run: Run, tmp_path: Path) -> None:
    ids = [f"s-{number:02}" for number in range(60)]
    rated = cases(ids=ids)
    with RunFile.create(tmp_path / "half.run") as made:
        add(made, "demo", said(*[5, 4, 4, 5, 3, 4] * 5, *[1, 2, 2, 1, 2, 1] * 5, ids=ids), rows=rated)
        store_draw(made, rated, range(10, 50), seed=1)
        labels = said(*[4, 5, 3, 4, 5] * 4, ids=ids[10:30])
        add(made, "ann", labels, kind="human", rows=rated[10:30], sheet=True)
    shown = run("agreement", tmp_path / "half.run").words
    assert "20 of 40 drawn cases have no label" in shown
    assert "If people gave all of these 1 or all 5, the mean of the labels would be 2.56 or 4.78" in shown
    assert re.search(r"demo scores the drawn cases without a label \d\.\d\d points lower than the others", shown)


def test_all_differences_of_a_command_are_one_family(run: Run, answers: Path) -> None:
    compare = ("compare", answers, "--between", "chatbot=v1,v2", "--pair-by", "question_id")
    (alone,) = rows(run(*compare, "--rater", "gpt", "--json").out, "compare")
    printed = run(*compare, "--json").out
    together = {each["rater"]: each for each in rows(printed, "compare")}
    assert (
        alone["family"] == 1 and {each["family"] for each in together.values()} == {len(together)} and len(together) > 2
    )
    own, shared = alone["difference"], together["gpt"]["difference"]
    assert shared["high"] - shared["low"] > 1.1 * (own["high"] - own["low"]) and own["value"] == shared["value"]
    shown = run(*compare)
    assert f"These are {len(together)} comparisons, and chance alone can make one" in shown.words
    levels = [each["difference"]["level"] for each in together.values()]
    for level in levels:
        assert f"({100 * level:.3g}% interval of v1 minus v2: " in shown.words
    assert max(levels) == pytest.approx(0.99)
    assert "% interval: how far chance may have moved a figure" in shown.words and "(99%)" in shown.words
    whole = run(*compare, "--full").words
    assert "95–99% intervals: jackknife with t, Wilson. " in whole and "(99%)" in whole


def test_groups_that_share_no_questions(run: Run, answers: Path) -> None:
    compare = ("compare", answers, "--between", "audience=enrolled,staff", "--rater", "gpt")
    printed = run(*compare, "--json").out
    (row,) = rows(printed, "compare")
    found = row["difference"]
    cases, worth, _ = answered()
    given = scores_of("gpt", worth)
    groups = [given[[case.metadata["audience"] == name for case in cases]] for name in ("enrolled", "staff")]
    welch = stats.ttest_ind(*groups, equal_var=False)
    assert found["value"] == pytest.approx(groups[0].mean() - groups[1].mean())
    assert found["high"] - found["value"] == pytest.approx(
        stats.t.ppf(0.975, welch.df) * np.hypot(*(stats.sem(each) for each in groups)), rel=0.01
    )
    assert "wins" not in row and row["unpaired"] == 0
    (labelled,) = rows(printed, "corrected_differences")
    assert labelled["pairs"] == len(groups[0]) + len(groups[1])
    assert labelled["corrected"]["low"] < labelled["corrected"]["value"] < labelled["corrected"]["high"]
    clustered = rows(run(*compare, "--cluster", "student", "--json").out, "compare")[0]["difference"]
    assert clustered["value"] == pytest.approx(found["value"]) and clustered["clusters"] < found["clusters"]
    shown = run(*compare).words
    assert "compared as groups" in shown and "on 156 and 158 cases enrolled scores" in shown
