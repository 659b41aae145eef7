"""The fitted panel: odds as statsmodels finds them, never by a fit that saw the label, and a rater like others."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from rated_run import add, cases, judged_run, scored
from statsmodels.miscmodels.ordinal_model import OrderedModel
from typed_here import Run, notes, rows, sentences

from pathway_local.case import Case
from pathway_local.rater import Rater
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.fitted import fitted_cases
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.statistics.ordinal import FOLDS, cross_fitted, features, fit, spread
from pathway_local.verdict import Outcome, Score, Verdict

LEVELS = np.arange(1.0, 6.0)
PLAIN = parse_rubric("---\nname: plain\noutputs: 'score: 1-5'\n---\nuser:\n{{ answer }}\n", "plain")


def labelled(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Features of cases, and people's levels as codes."""
    rng = np.random.default_rng(seed)
    found = rng.normal(size=(count, 3))
    return found, np.digitize(found @ [1.0, -0.5, 0.2] + rng.logistic(size=count), [-1.5, -0.5, 0.5, 1.5])


def test_without_a_ridge_it_is_the_maximum_of_the_likelihood() -> None:
    given, codes = labelled(400, 1)
    found = fit(given, np.eye(5)[codes], 1e-9)
    oracle = OrderedModel(codes, given, distr="logit").fit(method="bfgs", disp=False)
    assert found.slopes == pytest.approx(oracle.params[:3], abs=1e-3)
    assert found.edges == pytest.approx(oracle.model.transform_threshold_params(oracle.params)[1:-1], abs=1e-3)
    assert found.chances(given) == pytest.approx(oracle.model.predict(oracle.params, given), abs=1e-3)


def test_a_ridge_is_a_normal_prior_on_the_slopes_alone() -> None:
    """Each slope stands where the pull of the likelihood, by differences of statsmodels', is that of the ridge."""
    given, codes = labelled(60, 2)
    found = fit(given, np.eye(5)[codes], 2.0)
    model = OrderedModel(codes, given, distr="logit")
    at = np.concatenate([found.slopes, found.edges[:1], np.log(np.diff(found.edges))])
    pull = np.array([(model.loglike(at + step) - model.loglike(at - step)) / 2e-4 for step in 1e-4 * np.eye(len(at))])
    assert pull[:3] == pytest.approx(2.0 * found.slopes, abs=0.01) and pull[3:] == pytest.approx(0, abs=0.01)


def test_levels_without_a_label_have_no_chance_and_one_level_is_certain() -> None:
    given, codes = labelled(80, 3)
    found = fit(given, np.eye(5)[np.where(codes == 2, 3, codes)]).chances(given)
    assert (found[:, 2] == 0).all() and found.sum(axis=1) == pytest.approx(1)
    assert fit(given, np.eye(5)[np.full(80, 4)]).chances(given)[:, 4] == pytest.approx(1)


@pytest.mark.parametrize("clustered", [False, True])
def test_no_case_is_scored_by_a_fit_that_saw_its_label(clustered: bool) -> None:
    """Another label changes the scores of all others, but not its own or, with clusters, those of its cluster."""
    given, codes = labelled(120, 4)
    clusters = np.arange(120) // 4 if clustered else None
    targets = np.eye(5)[codes] * (np.arange(120) < 80)[:, None]
    before = cross_fitted(given, targets, clusters)
    targets[9] = np.eye(5)[(codes[9] + 2) % 5]
    same = np.flatnonzero(np.isclose(cross_fitted(given, targets, clusters), before, atol=1e-9).all(axis=1))
    assert 9 in same and len(same) <= -(-80 // FOLDS) + 4 and (not clustered or {8, 10, 11} <= set(same.tolist()))
    assert not np.isin(np.arange(80, 120), same).any()
    given[100, 0] = np.nan
    assert np.isnan(cross_fitted(given, targets, clusters)[100]).all()


@pytest.mark.parametrize("cluster", ["", "student"])
def test_nor_by_one_that_saw_the_label_of_the_same_texts(tmp_path: Path, cluster: str) -> None:
    """Each text stands twice, at two students; only people's scores of one text differ between the two runs."""
    half = [Case(f"a{n}", {"answer": f"text {n % 40}"}, {"student": str(n)}, n + 1) for n in range(80)]
    people, found = np.arange(80) % 40 % 5 + 1, []
    for changed in (people, np.where(np.arange(80) % 40 == 9, 1, people)):
        path = tmp_path / f"{len(found)}.run"
        with judged_run(path, PLAIN, half) as made:
            for name, kind, own in (("demo", "judge", np.maximum(people - 1, 1)), ("Ann", "human", changed)):
                told = {each.id: Verdict({"score": Score(int(n))}) for each, n in zip(half, own, strict=True)}
                add(made, name, told, PLAIN, kind, half)
        options = AgreementOptions(panel="fitted", against="Ann", cluster=cluster)
        with RunFile.read(path) as run:
            found.append([row["expected"] for row in fitted_cases(Scores(run), options)[1]])
    before, after = np.array(found, dtype=float)
    assert after[[9, 49]] == pytest.approx(before[[9, 49]], abs=1e-9) and (np.abs(after - before) > 1e-6).sum() > 60


def test_half_points_are_some_of_both_levels_and_features_say_at_least() -> None:
    assert spread(np.array([1, 3.5, 4.75]), LEVELS) == pytest.approx(
        np.array([[1, 0, 0, 0, 0], [0, 0, 0.5, 0.5, 0], [0, 0, 0, 0.25, 0.75]])
    )
    shares = np.array([[0.1, 0.2, 0.3, 0.4, 0.0], [0, 0, 0, 0, 1.0]])
    found = features(shares, LEVELS, np.array([0.5, np.nan]))
    unit = np.std([2.0, 4.0])
    assert found[0] == pytest.approx([*(np.array([0.9, 0.7, 0.4, 0, 2.0]) / unit), np.log(0.5)])
    assert found[1, -1] == 0


def a_run(path: Path, labels: int, *, shift: float = 1.2, kind: str = "judge", count: int = 160) -> list[Case]:
    """Answers by a judge that is too strict by `shift`, with labels of the first of them by two people."""
    rng = np.random.default_rng(6)
    every = cases(PLAIN, [f"a{n}" for n in range(count)])
    every = [Case(case.id, case.inputs, {"student": str((n - 1) // 4)}, n) for n, case in enumerate(every, 1)]
    worth = rng.normal(3.6, 1.1, count)

    def said(values: np.ndarray, shares: Sequence[float] = ()) -> dict[str, Outcome]:
        levels = np.clip(np.round(values), 1, 5).astype(int).tolist()
        near = [{v: max(0.0, 1 - abs(v - own) / 2) for v in range(1, 6)} for own in np.clip(values, 1, 5)]
        whole = [{v: share / sum(each.values()) for v, share in each.items()} for each in near]
        told = [own if kind == "judge" and shares else {} for own in whole]
        scores = [Score(level, own, 0.9 if shares else None) for level, own in zip(levels, told, strict=True)]
        return {case.id: Verdict({"score": score}) for case, score in zip(every, scores, strict=True)}

    with judged_run(path, PLAIN, every) as made:
        judged = said(worth - shift + rng.normal(0, 0.5, count), [1])
        add(made, "gpt" if kind == "hosted" else "demo", judged, PLAIN, kind, every)
        for name in ("committee/Ann", "committee/Bob"):
            own = said(worth + rng.normal(0, 0.4, count))
            add(made, name, {each.id: own[each.id] for each in every[:labels]}, PLAIN, "human", every)
    return every


def test_it_is_a_rater_that_is_compared_with_people_and_with_its_judge(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 100)
    found = run("agreement", "may.run", "--panel", "fitted", "--against", "committee", "--cluster", "student", "--json")
    [row] = rows(found.out, "fitted")
    assert (row["judge"], row["cases"]) == ("demo", 100)
    assert row["fitted_distance"]["value"] < row["judge_distance"]["value"] - 0.4 and row["difference"]["high"] < 0
    assert row["difference"]["clusters"] == 25
    [said] = notes(found.out, "fitted_gain")
    assert said in sentences(found.out) and "closer to committee than demo" in said and "100 labelled cases" in said
    assert said.startswith("plain score: "), "of several rubrics, each sentence says which"
    pairs = {(each["first"], each["second"]): each for each in rows(found.out, "pairs")}
    assert ("fitted", "demo") not in pairs and ("demo", "fitted") not in pairs
    ours, theirs = (pairs[name, "committee/Ann"]["kappa_quadratic"]["value"] for name in ("fitted", "demo"))
    assert ours > theirs
    assert {each["rater"]: each["scored"] for each in rows(found.out, "raters")}["fitted"] == 160
    named = run("agreement", "may.run", "--panel", "fitted", "--against", "committee", "--rater", "demo", "--json")
    assert rows(named.out, "fitted")[0]["fitted_distance"]["value"] == pytest.approx(
        rows(run("agreement", "may.run", "--panel", "fitted", "--json").out, "fitted")[0]["fitted_distance"]["value"]
    )


def test_a_hosted_judge_without_probabilities_is_fitted_by_its_scores(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 100, kind="hosted")
    found = run("agreement", "may.run", "--panel", "fitted", "--against", "committee", "--rater", "gpt", "--json").out
    assert [row["judge"] for row in rows(found, "fitted")] == ["gpt"] and notes(found, "fitted_gain")


def test_a_judge_that_scores_as_people_do_gains_nothing(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 100, shift=0.0)
    found = run("agreement", "may.run", "--panel", "fitted", "--against", "committee").words
    assert "score: no gain is shown: fitted scores are 0." in found


def test_several_judges_are_one_family(run: Run, tmp_path: Path) -> None:
    every = a_run(tmp_path / "may.run", 100)
    with RunFile.open(tmp_path / "may.run") as made:
        own = {each.id: Verdict({"score": Score(1 + each.row % 5)}) for each in every}
        add(made, "gpt", own, PLAIN, "hosted", every)
    found = rows(run("agreement", "may.run", "--panel", "fitted", "--against", "committee", "--json").out, "fitted")
    assert max(row["difference"]["level"] for row in found) == pytest.approx(0.975) and len(found) == 2


def test_what_can_not_be_fitted_says_why_and_has_no_row(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 49)
    panel = ("may.run", "--panel", "fitted", "--against", "committee")
    for more in ((), ("--rater", "demo")):
        found = run("agreement", *panel, *more, "--json")
        why = "plain score is not fitted: 49 cases have a label and a score by every judge, under 50."
        assert found.code == 0 and why in found.words and not rows(found.out, "fitted")
        assert "fitted" not in [row["rater"] for row in rows(found.out, "raters")]
    assert run("export", *panel, "--out", "x.csv").code == 2 and not (tmp_path / "x.csv").exists()
    alone = run("agreement", *panel, "--rater", "committee").words
    assert "plain score is not fitted: no judge has scored it." in alone


@pytest.mark.parametrize(
    ("scale", "why"),
    [("1-5, scale: nominal", "its scale has no order"), ("min: 0, max: 21", "its scale has 22 levels, over 21")],
)
def test_a_scale_that_can_not_be_fitted_is_named(run: Run, tmp_path: Path, scale: str, why: str) -> None:
    made = scored("wide", scale.replace("1-5", "min: 1, max: 5"))
    every = cases(made)
    with judged_run(tmp_path / "may.run", made, every) as other:
        add(other, "Ann", {each.id: Verdict({"score": Score(4)}) for each in every}, made, "human", every)
    assert f"wide score is not fitted: {why}." in run("agreement", "may.run", "--panel", "fitted").words


def test_the_changes_of_several_rubrics_are_one_family(run: Run, tmp_path: Path) -> None:
    every = a_run(tmp_path / "may.run", 100)
    second = parse_rubric(PLAIN.text.replace("name: plain", "name: second"), "second")
    with RunFile.open(tmp_path / "may.run") as made:
        for name, kind, spread in (("demo", "judge", 1), ("committee/Ann", "human", 2)):
            own = {each.id: Verdict({"score": Score(1 + (each.row * spread) % 5)}) for each in every}
            add(made, name, own, second, kind, every)
    found = rows(run("agreement", "may.run", "--panel", "fitted", "--against", "committee", "--json").out, "fitted")
    assert len(found) == 2 and max(row["difference"]["level"] for row in found) == pytest.approx(0.975)


def test_another_panel_is_refused_and_so_is_its_name_for_a_rater(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 60)
    found = run("agreement", "may.run", "--panel", "mean")
    assert (found.code, found.out) == (2, "") and "--panel can't be mean here" in found.words
    with RunFile.open(tmp_path / "may.run") as made:
        made.add_rater(Rater("fitted", "human", "plain", {}))
    assert run("agreement", "may.run", "--panel", "fitted").code == 2
    both = ("--between", "plain,other", "--against", "committee", "--panel", "fitted")
    assert "--panel does not go with --between" in run("agreement", "may.run", *both).words


def test_an_export_has_the_fitted_score_and_probabilities_of_each_case(run: Run, tmp_path: Path) -> None:
    a_run(tmp_path / "may.run", 100)
    panel = ("export", "may.run", "--panel", "fitted", "--out", "fitted.csv")
    assert run(*panel, "--against", "committee", "--cluster", "student").code == 0
    with (tmp_path / "fitted.csv").open(encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    names = ["case", "rubric", "score", "fitted", "expected", *map("p{}".format, range(1, 6))]
    assert len(written) == 160 and list(written[0]) == names
    for row in written:
        shares = np.array([float(row[f"p{level}"]) for level in range(1, 6)])
        assert shares.sum() == pytest.approx(1) and float(row["expected"]) == pytest.approx(shares @ LEVELS)
        assert int(row["fitted"]) == 1 + np.sum(np.cumsum(shares) < 0.5)
    assert run(*panel, "--columns", "case", "--force").code == 2
    assert run("export", "may.run", "--out", "x.csv", "--against", "a").code == 2
