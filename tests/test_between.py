"""agreement --between: under which rubric a judge is closer to people, and which cases never count."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest
from taught_run import kept_apart, rubric, taught, taught_run
from typed_here import Run

from pathway_local.errors import PathwayError, UnknownName, UsageError
from pathway_local.rater import Rater
from pathway_local.results.agreement_tables import ANALYSIS
from pathway_local.results.analysis import found_by
from pathway_local.results.summary import SummaryOptions, summary
from pathway_local.results.table import Table
from pathway_local.rubrics.examples import is_set_aside
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.words.language import Language

COUNT = 120
APART = kept_apart(COUNT)
EXAMPLES = APART[:4]


def drawn_scores(seed: int, spread: float = 1.2) -> tuple[np.ndarray, np.ndarray]:
    """People's scores, and a judge's that are off by some noise."""
    rng = np.random.default_rng(seed)
    people = rng.integers(1, 6, COUNT).astype(float)
    return people, noisy(people, seed, spread)


def noisy(people: np.ndarray, seed: int, spread: float) -> np.ndarray:
    rng = np.random.default_rng([seed, 1])
    return np.clip(np.round(people + rng.normal(0, spread, len(people))), 1, 5)


def asked(path: Path, **options: object) -> tuple[list[Table], Scores]:
    given: Mapping[str, object] = {"between": "plain,taught", "against": "Ann", **options}
    with RunFile.read(path) as run:
        data = Scores(run)
        return found_by(ANALYSIS, data, given), data


def row_of(path: Path, **options: object) -> dict[str, object]:
    [table], _ = asked(path, **options)
    [row] = table.rows
    return dict(row) | {"key": table.notes[0].key}


def test_a_gain_is_the_change_of_the_mean_distance_on_cases_that_taught_nothing(tmp_path: Path) -> None:
    people, before = drawn_scores(1)
    after = noisy(people, 2, 0.3)
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), before), (taught(EXAMPLES), after)])
    row, counted = row_of(path), [at for at in range(COUNT) if not is_set_aside(f"c-{at:03}")]
    distances = [np.abs(scores - people)[counted] for scores in (before, after)]
    assert row["key"] == "between_gain" and row["cases"] == len(counted) == COUNT - len(APART)
    change = row["difference"]
    assert isinstance(change, Estimate) and isinstance(change.interval, Interval)
    assert change.value == pytest.approx(float(np.mean(distances[1] - distances[0])))
    for name, own in zip(("first_distance", "second_distance"), distances, strict=True):
        found = row[name]
        assert isinstance(found, Estimate) and found.value == pytest.approx(float(own.mean()))
    alike = row_of(path, cluster="student")["difference"]
    assert isinstance(alike, Estimate) and isinstance(alike.interval, Interval)
    assert alike.value == change.value and alike.interval.clusters < change.interval.clusters
    turned = row_of(path, between="taught,plain")
    assert turned["key"] == "between_loss" and turned["cases"] == row["cases"]


def test_no_two_columns_have_one_head(run: Run, tmp_path: Path) -> None:
    people, before = drawn_scores(1)
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), before), (taught(EXAMPLES), before)])
    shown = run("agreement", path, "--between", "plain,taught", "--against", "Ann").words
    assert "distance under the second" in shown and "agreement under the second" in shown


def test_other_settings_than_the_rubric_are_warned_of(tmp_path: Path) -> None:
    people, judge = drawn_scores(3)
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge), (taught(EXAMPLES), judge)])
    for think, said in ((512, ["(think was 0, now 512), so the change may come from that"]), (0, [])):
        with RunFile.open(path) as run, run.database.writing():
            for id, name, tokens in ((1, "plain", 0), (2, "taught", think)):
                own = Rater("demo", "judge", name, {"rubric": name, "think": tokens})
                given = own.spec_json, own.fingerprint, id
                run.database.execute("UPDATE raters SET spec = ?, fingerprint = ? WHERE id = ?", given)
        [table], _ = asked(path)
        told = [Language("en").note(note) for note in table.notes if note.kind == "warning"]
        assert len(told) == len(said) and all(part in one for part, one in zip(said, told, strict=True))


def test_the_same_scores_show_no_gain(tmp_path: Path) -> None:
    people, judge = drawn_scores(3)
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge), (taught(EXAMPLES), judge)])
    assert row_of(path)["key"] == "between_none"


def test_several_rubrics_are_one_family(tmp_path: Path) -> None:
    people, before = drawn_scores(4)
    others = [(taught([], name), noisy(people, seed, 1.2)) for seed, name in ((7, "b"), (8, "c"))]
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), before), *others])
    [table], _ = asked(path, between="plain,b,c")
    levels = [each["difference"].interval.level for each in table.rows]  # type: ignore[union-attr]
    assert [(each["first"], each["second"]) for each in table.rows] == [("plain", "b"), ("plain", "c"), ("b", "c")]
    for level, note in zip(levels, table.notes, strict=False):
        assert (f"({100 * level:.3g}% interval " in Language("en").note(note)) is (level > 0.951)
    assert table.about["family"] == 3 and max(levels) == pytest.approx(1 - 0.05 / 3)


def test_special_and_missing_scores_and_changed_texts_leave_a_case_out(tmp_path: Path) -> None:
    people, judge = drawn_scores(5)
    people[0], judge[1] = np.nan, np.nan
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge), (taught([]), judge)])
    assert row_of(path)["cases"] == COUNT - 2
    with RunFile.open(path) as run, run.database.writing():
        changed = "UPDATE outcomes SET case_hash = replace(case_hash, 'answer:', 'answer:0') WHERE case_key = 5"
        run.database.execute(f"{changed} AND rater_id = 2", ())
    assert row_of(path)["cases"] == COUNT - 3


def test_a_nominal_score_counts_how_many_people_say_otherwise(tmp_path: Path) -> None:
    people, plain = np.array([1.0, 1, 2, 3]), rubric(scale=", scale: nominal")
    other = rubric("taught", "rated_as: plain\n", scale=", scale: nominal")
    judges = [(plain, np.array([1.0, 2, 2, 2])), (other, np.array([1.0, 1, 2, 1]))]
    path = taught_run(tmp_path / "a.run", {"Ann": people}, judges, of=plain)
    row = row_of(path)
    assert [each.value for each in (row["first_distance"], row["second_distance"])] == [0.5, 0.25]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"between": "plain"}, "two rubrics"),
        ({"between": "plain,plain"}, "two rubrics"),
        ({"against": ""}, "--against"),
        ({"between": "plain,nothing"}, "nothing"),
        ({"against": "Bob"}, "Bob"),
        ({"against": "demo"}, "demo is a judge"),
        ({"rubric": "plain"}, "--rubric does not go with --between"),
        ({"by": "bot"}, "--by does not go with --between"),
        ({"rater": ["gpt"]}, "no judge has scores under"),
        ({"between": "plain,short"}, "no score with the same levels"),
        ({"between": "plain,other"}, "Ann has not rated under other"),
    ],
)
def test_what_can_not_be_compared_is_refused(tmp_path: Path, options: dict[str, object], says: str) -> None:
    people, judge = drawn_scores(6)
    every = rubric(), taught([]), rubric("short", scale=", special: [5]"), rubric("other")
    judges = [(each, judge) for each in every]
    path = taught_run(tmp_path / "a.run", {"Ann": people}, judges)
    with pytest.raises(PathwayError, match=says) as refused:
        asked(path, **options)
    assert isinstance(refused.value, UsageError | UnknownName)


def test_examples_count_nowhere_and_the_sample_stays_random(tmp_path: Path) -> None:
    people, judge = drawn_scores(7)
    drawn = [*range(0, COUNT, 2)]
    only = np.where(np.isin(np.arange(COUNT), drawn), people, np.nan)
    examples = [case for case in APART if int(case[2:]) in drawn][:4]
    judges = [(rubric(), judge), (taught(examples), judge)]
    path = taught_run(tmp_path / "a.run", {"Ann": only}, judges, drawn=drawn)
    with RunFile.read(path) as run:
        data = Scores(run)
        plain, own = (next(data.matrices([data.rubrics[name]])) for name in ("plain", "taught"))
        assert set(plain.case_ids) - set(own.case_ids) == set(examples)
        assert {record.case_id for record in data.outcomes("taught")} == set(own.case_ids)
        [place], labelled = own.columns("Ann"), np.isfinite(own.given[:, own.columns("Ann")[0]])
        assert own.raters[place].name == "Ann"
        assert not any(is_set_aside(case) for case, known in zip(own.case_ids, labelled, strict=True) if known)
        [design] = own.designs
        left = len(drawn) - sum(is_set_aside(f"c-{at:03}") for at in drawn)
        assert design.sample.drawn == design.drawn.sum() == labelled.sum() == left
        assert (design.probability > 0).all() and len(own.case_ids) == COUNT - 4
        assert [note.key for note in data.notices] == ["examples_left_out"]
        rows = [row for table in [*summary(data, SummaryOptions())] if table.key == "scores" for row in table.rows]
        counts = {(row["rubric"], row["rater"]): row["n"] for row in rows}
        assert counts["taught", "demo"] == COUNT - 4 and counts["plain", "demo"] == COUNT


def test_a_case_with_the_texts_of_an_example_counts_as_one(tmp_path: Path) -> None:
    people, judge = drawn_scores(9)
    [twin] = [at for at in range(COUNT) if not is_set_aside(f"c-{at:03}")][:1]
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge), (taught(EXAMPLES), judge)])
    with RunFile.open(path) as run, run.database.writing():
        of = "(SELECT case_hash FROM outcomes JOIN cases ON key = case_key WHERE case_id = ? LIMIT 1)"
        keys = "(SELECT key FROM cases WHERE case_id = ?)"
        run.database.execute(
            f"UPDATE outcomes SET case_hash = {of} WHERE case_key = {keys}", (EXAMPLES[0], f"c-{twin:03}")
        )
    assert row_of(path)["cases"] == COUNT - len(APART) - 1


def test_ratings_count_under_another_rubric_only_if_it_asks_the_same(tmp_path: Path) -> None:
    people, judge = drawn_scores(8)
    wider = rubric("taught", "rated_as: plain\n", scale=", special: [1]")
    path = taught_run(tmp_path / "a.run", {"Ann": people}, [(rubric(), judge), (wider, judge)])
    with pytest.raises(UsageError, match="taught is rated_as plain, which has other inputs or scores"):
        asked(path, between="", rubric="taught")
