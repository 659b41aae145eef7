"""The first screens of a dozen studies: each sentence by its key, each number computed again with numpy."""

import json
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint
from studies import BOTS, LOW, Study, studies
from typed_here import Run, rows

from pathway_local.results.report import ReportOptions, report
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores

STUDIES = studies()
SAYS = {
    "nobody labelled": {"bad_by_judge"},
    "a sample": {"bad_by_people"},
    "two people": {"bad_by_people"},
    "two judges": {"bad_by_people", "bad_also"},
    "the easy half back": {"bad_between", "labels_missing", "missing_scored_apart"},
    "different cases": {"bad_by_people", "different_cases"},
    "picked labels": {"bad_by_judge", "labels_of_no_sample"},
    "a constant judge": {"bad_by_people"},
    "a mute chatbot": {"bad_by_people", "bad_about"},
    "eleven levels": {"bad_by_people"},
    "pass or fail": {"bad_by_people"},
    "no order": set[str](),
    "people alone": set[str](),
    "a stopped judge": {"bad_by_judge", "judge_stopped"},
}
"""The answers and warnings that a study's summary begins with."""

KEYS = set[str]().union(*SAYS.values())


@pytest.mark.parametrize("name", SAYS)
def test_a_summary_begins_with_what_the_study_shows(run: Run, tmp_path: Path, name: str) -> None:
    study = STUDIES[name]
    study.make(tmp_path / "may.run")
    out = run("summary", "may.run", "--by", "chatbot", "--json").out
    told = {note["key"] for table in json.loads(out) for note in table["notes"]}
    assert told & KEYS == SAYS[name]
    found = rows(out, "bad")
    if study.scale not in LOW:
        assert not found
        return
    for row in found:
        inside = study.bots == row["group"] if "group" in row else np.ones(len(study.bots), dtype=np.bool_)
        _check(study, row, inside)
    judges = [rater for rater, (kind, _) in study.scores.items() if kind != "human"] or ["ann"]
    assert {row["rater"] for row in found} == set(judges)
    assert {row.get("group") for row in found} == {None, "Alfa", "Beta", "Gama"}


def _check(study: Study, row: dict[str, object], inside: np.ndarray) -> None:
    """Count a row again: who called what bad, on all cases and on those with labels."""
    own = study.scores[str(row["rater"])][1]
    scored, bad = inside & (own >= 0), own <= LOW[study.scale]
    assert row["cases"] == scored.sum()
    figure = row["bad_by_people" if study.scores[str(row["rater"])][0] == "human" else "bad"]
    assert isinstance(figure, dict)
    if not scored.any():
        assert row["bad_by_people"] == figure and "none of these cases has a score" in str(figure)
    if scored.any():
        assert figure["value"] == pytest.approx(bad[scored].mean())
        ends = proportion_confint(bad[scored].sum(), scored.sum(), method="wilson")
        np.testing.assert_allclose((figure["low"], figure["high"]), ends, atol=1e-9)
    people = np.stack(
        [given for kind, given in study.scores.values() if kind == "human"] or [np.full(len(own), np.nan)]
    )
    given = np.isfinite(people).sum(axis=0)
    labelled = scored & (given > 0)
    if "bad_labels" in row:
        is_bad = np.sum(people <= LOW[study.scale], axis=0) >= 0.5 * np.maximum(given, 1)
        assert row["bad_labels"] == np.sum(labelled & is_bad) and row["passed"] == np.sum(labelled & is_bad & ~bad)
        assert row["good_labels"] == np.sum(labelled & ~is_bad) and row["flagged"] == np.sum(labelled & ~is_bad & bad)
        for part, whole in (("passed", row["bad_labels"]), ("flagged", row["good_labels"])):
            share, hits = row[f"{part}_share"], row[part]
            assert isinstance(share, dict) and isinstance(hits, int) and isinstance(whole, int)
            ends = proportion_confint(hits, whole, method="wilson") if whole else (None, None)
            expected = [hits / whole, *ends] if whole else [None, None, None]
            assert [share["value"], share["low"], share["high"]] == pytest.approx(expected)


ONE = ["bad_by_people", "untested_one", "apart_from_one", "corrected_finding", "quote_pairs"]
OPEN, PEOPLE = ["order_first_open"], ["order_first_open", "order_first_open", "order_first_open"]
SCREENS = {
    "nobody labelled": (
        ["bad_by_judge", "nobody_shows", "next_sample"], OPEN, ["bad_by_judge", "next_sample", "no_people"]
    ),
    "a sample": ([*ONE, "next_people", "unseen_errors"], PEOPLE, ["bad_by_people", "next_people"]),
    "two people": (
        ["bad_by_people", "stands_unclear", "apart_from_each", "corrected_finding", "quote_benchmark", "among_people",
         "next_people"],
        [*PEOPLE, *OPEN], ["bad_by_people", "next_people"],
    ),
    "two judges": (
        ["bad_by_people", "bad_also", *ONE[1:], "next_people"], [*PEOPLE, *OPEN],
        ["bad_by_people", "bad_also", "next_people"],
    ),
    "the easy half back": (
        ["bad_between", *ONE[1:], "next_labels", "labels_missing", "missing_scored_apart"],
        ["order_first_open", "order_first_open", "order_without", "labels_missing", "missing_scored_apart"],
        ["bad_between", "next_labels", "few_labels"],
    ),
    "different cases": (
        ["bad_by_people", "standing_unknown", "corrected_finding", "quote_pairs", "next_people", "different_cases",],
        ["order_first_open", "order_first_open", "order_without", "order_first_open", "different_cases"],
        ["bad_by_people", "next_people", "different_cases"],
    ),
    "picked labels": (
        ["bad_by_judge", "untested_one", "quote_pairs", "next_sample", "labels_of_no_sample"],
        [*OPEN, "order_without", "labels_of_no_sample"], ["bad_by_judge", "next_sample"],
    ),
    "a constant judge": (
        [*(each.replace("untested_one", "standing_constant") for each in ONE), "next_people"], PEOPLE,
        ["bad_by_people", "next_people"]),
    "a mute chatbot": (
        [*ONE, "next_people", "unseen_errors"], ["order_without", *OPEN],
        ["bad_by_people", "next_people", "many_failures"],
    ),
    "eleven levels": ([*ONE, "next_people", "unseen_errors"], PEOPLE, ["bad_by_people", "next_people"]),
    "pass or fail": (
        [each for each in [*ONE, "next_people"] if each != "apart_from_one"], PEOPLE,
        ["bad_by_people", "next_people"],
    ),
    "no order": (["untested_one", "quote_pairs"], ["no_order", "no_order"], ["commonest_finding"]),
    "people alone": (["no_judge_people_alone", "next_judge"], OPEN, ["next_judge"]),
    "a stopped judge": (
        ["bad_by_judge", "nobody_shows", "next_sample", "judge_stopped"], [*OPEN, "judge_stopped"],
        ["bad_by_judge", "next_sample", "judge_stopped", "no_people"],
    ),
}  # fmt: skip
"""The answers and warnings of `agreement`, of `compare`, and of a report's first page, in their order."""


@pytest.fixture
def study(request: pytest.FixtureRequest, tmp_path: Path) -> Study:
    made = STUDIES[request.param]
    made.make(tmp_path / "may.run")
    return made


def _told(out: str) -> list[str]:
    notes = [note for table in json.loads(out) for note in table["notes"]]
    return [note["key"] for note in notes if note["kind"] in ("answer", "warning")]


@pytest.mark.parametrize(("study", "screens"), SCREENS.items(), indirect=["study"], ids=[*SCREENS])
def test_agreement_and_compare_begin_with_what_the_study_shows(
    run: Run, study: Study, screens: tuple[list[str], list[str], list[str]]
) -> None:
    given = {name: np.where(own >= 0, own, np.nan) for name, (_, own) in study.scores.items()}
    out = run("agreement", "may.run", "--json").out
    assert _told(out) == screens[0]
    for row in rows(out, "pairs"):
        both = np.stack([given[row["first"]], given[row["second"]]])
        one, other = both[:, np.isfinite(both).all(axis=0)]
        assert row["cases"] == len(one)
        if not len(one):
            continue
        assert row["exact"]["value"] == pytest.approx(np.mean(one == other))
        if study.scale in LOW:
            assert row["mean_difference"]["value"] == pytest.approx(np.mean(one - other))
            kappa = cohen_kappa_score(one, other, weights="quadratic")
            name = "kappa_quadratic" if study.scale != "pass" else "kappa"
            assert row[name]["value"] == pytest.approx(kappa)
    out = run("compare", "may.run", "--between", "chatbot", "--json").out
    assert _told(out) == screens[1]
    shown = [row for row in rows(out, "compare") if row["difference"]["value"] is not None]
    assert bool(shown) == (study.scale in LOW)
    for row in shown:
        means = [np.nanmean(given[row["rater"]][study.bots == row[side]]) for side in ("first", "second")]
        assert row["difference"]["value"] == pytest.approx(means[0] - means[1])
    assert {(row["first"], row["second"]) for row in rows(out, "compare")} == {*combinations(sorted(BOTS), 2)}


@pytest.mark.parametrize(("study", "screens"), SCREENS.items(), indirect=["study"], ids=[*SCREENS])
def test_a_report_begins_with_how_good_the_chatbots_are(
    study: Study, screens: tuple[list[str], list[str], list[str]], tmp_path: Path
) -> None:
    with RunFile.read(tmp_path / "may.run") as opened:
        found = report(Scores(opened), ReportOptions())
    assert [note.key for note in (*found.findings, *found.warnings)] == screens[2]
    assert len(found.overview) == (study.scale in LOW)
    for table in found.overview:
        own = study.scores[str(table.about["rater"])][1]
        for row in table.rows:
            inside = (study.bots == row["group"]) & (own >= 0)
            assert row["cases"] == inside.sum()
            if inside.any():
                bad = row["bad" if study.scores[str(table.about["rater"])][0] != "human" else "bad_by_people"]
                assert bad.value == pytest.approx(np.mean(own[inside] <= LOW[study.scale]))
                assert row["mean"].value == pytest.approx(own[inside].mean())
