"""Handing over: the promise holds, designs of labels are respected, and kept and rated cases become one score."""

import csv
import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest
from handed_run import CASES, SOUND, handed_run, truth
from rated_run import scored
from scipy import stats
from typed import COMMAND
from typed_here import Run

from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.results.consensus import differs, people_say
from pathway_local.results.handover import Decision, HandoverOptions, decisions
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.matrix import RatingsMatrix
from pathway_local.scores.scores import Scores
from pathway_local.statistics.handover import (
    chance_in_file,
    hand_over,
    least_labels,
    level_of,
)
from pathway_local.verdict import Failure, Score, Verdict

UNASKED = scored("unasked", "levels: {1: Bad, 2: Poor, 3: Fair, 4: Good, 9: Not asked}, special: [9]")


def test_the_test_of_one_threshold_is_the_exact_one() -> None:
    for wrong, labelled, kept in ((0, 29, 400), (3, 80, 200), (5, 60, 61), (12, 150, 90)):
        amiss = wrong + int(0.1 * kept) + 1
        exact = stats.hypergeom.cdf(wrong, labelled + kept, amiss, labelled)
        assert chance_in_file(wrong, labelled, kept, 0.1) == pytest.approx(exact)
    assert chance_in_file(0, 29, 10**7, 0.1) == pytest.approx(0.9**29, rel=1e-3)
    assert chance_in_file(0, 10, 0, 0.1) == 0, "nothing is left to be wrong about"


@pytest.mark.parametrize(("counts", "error"), [((29, 60, 90, 120), 0.1), ((20, 50, 51, 100), 0.2)])
def test_the_level_of_all_thresholds_is_that_of_a_random_walk(counts: tuple[int, ...], error: float) -> None:
    level = level_of(counts, error)
    walks = np.cumsum(np.random.default_rng(0).random((40_000, counts[-1])) < error, axis=1)
    passes = [stats.binom.cdf(walks[:, count - 1], count, error) <= level for count in counts]
    share = np.mean(np.any(passes, axis=0))
    assert 0.02 < share <= 0.053
    assert level > 0.05 / len(counts), "Bonferroni would give less"


def test_no_pattern_of_errors_breaks_the_promise_more_often() -> None:
    """Thresholds break the promise where so many cases before them are wrong; between them errors may lie anyhow."""
    counts, error, rng = (15, 25, 40), 0.2, np.random.default_rng(1)
    level = level_of(counts, error)

    def broken(chances: np.ndarray) -> float:
        alive, crossed = np.ones(1), 0.0
        for at, chance in enumerate(chances, 1):
            alive = np.convolve(alive, [1 - chance, chance])
            if at in counts:
                bound = int(np.sum(stats.binom.cdf(np.arange(at), at, error) <= level))
                crossed, alive = crossed + alive[:bound].sum(), np.where(np.arange(at + 1) < bound, 0, alive)
        return float(crossed)

    worst = broken(np.full(40, error))
    for _ in range(300):
        chances = rng.random(40) * rng.choice([0.5, 1, 2]) * 2 * error
        means = [chances[:count].mean() for count in counts]
        chances = np.clip(chances + error - min(means), 0, 1)
        assert broken(chances) <= worst + 1e-9 or min(chances[:count].mean() for count in counts) < error - 1e-9


def test_ratings_of_picked_cases_break_no_promise() -> None:
    """People rated most of the right cases outside of the sample, so errors among the others are denser."""
    rng, broken, files = np.random.default_rng(0), 0, 100
    for _ in range(files):
        sure, wrong = rng.random(900), rng.random(900) < 0.05
        labelled = rng.permutation(900) < 300
        picked = ~labelled & ~wrong & (rng.random(900) < 0.6)
        labels = np.where(labelled, wrong, np.nan)
        found = hand_over(sure, labels, 0.1, outside=np.where(picked, wrong, np.nan)).chosen
        if found:
            mine = (sure >= found.sure) & ~labelled & ~picked
            assert mine.sum() == found.kept
            broken += wrong[mine].sum() > 0.1 * mine.sum()
    assert broken <= 0.05 * files


def test_cases_alike_in_sureness_stay_together_and_few_labels_keep_nothing() -> None:
    sure, wrong = np.repeat([0.9, 0.5], 100), np.where(np.arange(200) % 2 == 0, 0.0, np.nan)
    looks = hand_over(sure, wrong, 0.1).looks
    assert {look.labelled for look in looks} == {50, 100}
    assert least_labels(0.1) == 29
    assert hand_over(sure[:40], wrong[:40], 0.1).chosen is None


def _decided(path: Path, **options: Any) -> Decision:
    with RunFile.read(path) as run:
        [found] = decisions(Scores(run), HandoverOptions(against="committee", error=0.1, **options))
    return found


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({"on_sheet": False}, "no sample of this run drew the cases"),
        ({"group": "bot", "least": 50}, "small groups of bot"),
    ],
)
def test_labels_that_chance_did_not_draw_evenly_are_refused(
    tmp_path: Path, run: Run, how: dict[str, Any], why: str
) -> None:
    said = run("handover", handed_run(tmp_path / "my.run", **how), "--against", "committee", "--error", "0.1")
    assert said.code == 2 and why in said.err


@pytest.mark.parametrize(
    ("judge", "people", "within", "wrong"),
    [(3, [3, 4], 0, False), (3, [3, 4, 4], 0, True), (3, [4], 0, True), (3, [4], 1, False), (1, [3, 4], 1, True)],
)
def test_a_score_is_wrong_beyond_the_middle_of_peoples(
    judge: float, people: list[float], within: int, wrong: bool
) -> None:
    assert _differs(judge, people, within, (1, 2, 3, 4)) is wrong


def test_special_and_nominal_scores_are_right_as_most_people_gave_them() -> None:
    assert not _differs(0, [0, 0, 4], 0, (1, 2, 3, 4), special=(0,))
    assert _differs(0, [0, 4, 4], 0, (1, 2, 3, 4), special=(0,))
    assert _differs(4, [0, 0, 4], 0, (1, 2, 3, 4), special=(0,))
    right = [own for own in (0, 1, 2, 3, 4) if not _differs(own, [0, 4], 0, (1, 2, 3, 4), special=(0,))]
    assert right == [0, 4], "as many gave a special score as a level"
    assert not _differs(1, [1, 2], 0, (1, 2, 3), nominal=True)
    assert _differs(3, [1, 2, 2], 0, (1, 2, 3), nominal=True)


@pytest.mark.parametrize(
    ("people", "nominal", "stored"),
    [
        ([1, 1, 2, 3, 3], True, 1), ([2, 3, 4], False, 2), ([1, 4], False, 1), ([3, 4], False, 4),
        ([3, 3, 4], False, 3), ([2, 4, 4], False, 4),
    ],
)  # fmt: skip
def test_one_score_of_several_people_is_stored(people: list[float], nominal: bool, stored: float) -> None:
    """A level comes before the special 3, the lower of two middles or of two most frequent before the other."""
    matrix = _matrix((1, 2, 3), nominal=True) if nominal else _matrix((1, 2, 4), (3,))
    assert people_say(matrix, people)[0] == stored


def _differs(own: float, labels: list[float], within: int, levels: tuple[int, ...], **more: Any) -> bool:
    return differs(_matrix(levels, **more), own, labels, within)


def _matrix(levels: tuple[int, ...], special: tuple[int, ...] = (), nominal: bool = False) -> RatingsMatrix:
    empty, blank = np.empty((0, 0)), np.empty((0, 0), dtype=np.int64)
    return RatingsMatrix(
        "r", "s", nominal, levels, special, (), (), empty, empty, empty, empty, blank, (), (), (), blank
    )


def test_a_file_goes_from_labels_to_one_score_for_each_case(tmp_path: Path, run: Run) -> None:
    path = handed_run(tmp_path / "my.run")
    promise = ("handover", path, "--against", "committee", "--error", "0.1")
    said = run(*promise, "--full").out
    assert "With 95% certainty, at most 10% of the kept ones differ from committee." in said
    [shown, *_] = json.loads(run(*promise, "--json").out)
    row = shown["rows"][0]
    assert row["cases"] == CASES and row["kept"] + row["to_rate"] + row["rated"] == CASES and row["kept"] > 50
    people, judge, _ = truth()
    decided = _decided(path)
    assert decided.kept.sum() == row["kept"]
    assert np.mean(people[decided.kept] != judge[decided.kept]) <= 0.1
    sheet, store = tmp_path / "rate.xlsx", ("--store", "both")
    run(*promise, *store, "--cases", str(path.with_suffix(".csv")), "--sheet", str(sheet), "--rater", "Ann")
    rows = _exported(run, path)
    assert {each["failure"] for each in rows} == {"handed-over", ""}
    assert sum(each["marks"] == "kept" for each in rows) == row["kept"]
    assert sum(each["failure"] == "handed-over" for each in rows) == row["to_rate"]
    _fill_in(sheet, people)
    run("import", path, str(sheet), "--kind", "human", "--rater", "committee/Ann")
    after = json.loads(run(*promise, *store, "--json").out)
    assert after[0]["rows"][0]["kept"] == row["kept"], "ratings of picked cases are no labels of the sample"
    assert after[0]["rows"][0]["to_rate"] == 0
    rows = _exported(run, path)
    score = {int(each["case"][2:]): int(each["score"]) for each in rows}
    assert len(score) == CASES
    assert all(score[at] == (judge[at] if decided.kept[at] else people[at]) for at in score)


def test_every_command_of_the_page(tmp_path: Path, run: Run) -> None:
    """Sheets come back filled in; what the page draws and imports first is in the run already."""
    page = (Path(__file__).parents[1] / "docs" / "handover.md").read_text(encoding="utf-8")
    commands = re.findall(r"^ *(pathway-local .*)$", page, re.MULTILINE)
    people, _, _ = truth()
    path = handed_run(tmp_path / "answers.run")
    assert path.with_suffix(".csv").exists()
    for line in commands:
        _, *words = shlex.split(line)
        if "sample.xlsx" in words:
            continue
        if words[0] == "import":
            _fill_in(tmp_path / words[2], people)
        found = run(*words)
        assert found.code == 0, (line, found)
    assert {line.split()[1] for line in commands} == {"sample", "import", "handover", "report"}
    assert len(_exported(run, path, "combined")) == CASES
    assert not any(each["failure"] for each in _exported(run, path, "combined"))


def test_another_promise_under_the_same_name_is_refused(tmp_path: Path, run: Run) -> None:
    path = handed_run(tmp_path / "my.run")
    for named in ((), ("--rubric", "sound"), ()):
        assert run("handover", path, "--against", "committee", "--error", "0.1", "--store", "both", *named).code == 0
    said = run("handover", path, "--against", "committee", "--error", "0.2", "--store", "both")
    assert said.code and "options.error was 0.1, now 0.2" in said.err and "--store NAME" in said.err
    assert said.out.strip(), "the answer is shown before anything is stored"


def test_a_pipe_that_is_closed_early_keeps_nothing_from_being_stored(tmp_path: Path, run: Run) -> None:
    path = handed_run(tmp_path / "my.run")
    words = f"handover {path} --against committee --error 0.1 --store both | true; exit ${{PIPESTATUS[0]}}"
    piped = ["bash", "-c", f'"$0" "$1" {words}', *COMMAND]
    told = subprocess.run(piped, capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "stored: both, with 494 scores of demo\n")
    assert "sound both" in run("summary", path).words


@pytest.mark.parametrize(("labels", "worst", "said"), [(25, 0.4, "below 29"), (60, 0.9, "labels")])
def test_without_a_choice_it_says_what_is_needed(
    tmp_path: Path, run: Run, labels: int, worst: float, said: str
) -> None:
    path = handed_run(tmp_path / "my.run", labels=labels, worst=worst)
    out = run("handover", path, "--against", "committee", "--error", "0.1").out
    assert "can keep nothing" in out and said in out


def test_options_are_checked_before_any_work(tmp_path: Path, run: Run) -> None:
    """Neither an answer nor a stored score comes before an error that the options alone show."""
    path = handed_run(tmp_path / "my.run")
    promise = ("handover", path, "--against", "committee", "--error", "0.1")
    sheet = tmp_path / "rest.html"
    sheet.write_text("kept", encoding="utf-8")
    cases = ("--cases", str(path.with_suffix(".csv")))
    for words, why in ((cases, "go together"), ((*cases, "--sheet", str(sheet), "--store", "both"), "rest.html")):
        said = run(*promise, *words)
        assert said.code and why in said.err and not said.out
    assert not _exported(run, path)
    with RunFile.open(path) as opened:
        other = opened.add_rater(Rater("second", "judge", SOUND.name, {}))
        for record in [*opened.records("demo", SOUND.name)]:
            opened.put(other, CaseRef(record.case_id, record.row), record.outcome)
    said = run(*promise, "--store", "both")
    assert said.code and "decides about several" in said.err and not said.out


def test_a_judge_in_place_of_people_is_refused(tmp_path: Path, run: Run) -> None:
    said = run("handover", handed_run(tmp_path / "my.run"), "--against", "demo", "--error", "0.1")
    assert said.code == 2 and "--against names people" in said.err


def test_a_judge_without_probabilities_is_refused(tmp_path: Path, run: Run) -> None:
    path = handed_run(tmp_path / "my.run")
    with RunFile.open(path) as opened:
        other = opened.add_rater(Rater("second", "judge", SOUND.name, {}))
        for record in [*opened.records("demo", SOUND.name)]:
            opened.put(other, CaseRef(record.case_id, record.row), Verdict({"score": Score(1)}))
    said = run("handover", path, "--against", "committee", "--error", "0.1", "--judge", "second")
    assert said.code == 2 and "second has no probabilities" in said.err and "local" not in said.err


def test_what_did_not_come_back_counts_as_wrong_and_is_handed_over(tmp_path: Path, run: Run) -> None:
    path, whole = handed_run(tmp_path / "my.run"), _decided(handed_run(tmp_path / "whole.run"))
    with RunFile.open(path) as opened:
        [person] = [number for number, rater in opened.raters() if rater.kind == "human"]
        skipped = [whole.matrix.case_ids[at] for at in np.flatnonzero(whole.rated)[::30]]
        for record in [*opened.records("committee/Ann", SOUND.name)]:
            if record.case_id in skipped:
                opened.put(person, CaseRef(record.case_id, record.row), Failure("skipped", "left empty"))
    found = _decided(path)
    missing = whole.rated & ~found.rated
    assert missing.sum() == 10 and found.labels == 290 and max(look.labelled for look in found.found.looks) > 290
    assert found.found.chosen and np.any(found.matrix.confidence[missing, 0] >= found.found.chosen.sure)
    assert not found.kept[missing].any() and found.to_rate[missing].all()
    assert found.kept.sum() < whole.kept.sum()
    said = run("handover", path, "--against", "committee", "--error", "0.1")
    assert "10 of 300 drawn cases have no label" in said.words


def test_an_evaluator_without_a_sheet_is_refused(tmp_path: Path, run: Run) -> None:
    path = handed_run(tmp_path / "my.run")
    said = run("handover", path, "--against", "committee", "--error", "0.1", "--rater", "gpt")
    assert said.code == 2 and "--rater names who rates the --sheet" in said.err and "--judge" in said.err


def _exported(run: Run, path: Path, name: str = "both") -> list[dict[str, str]]:
    out = path.with_suffix(".out.csv")
    run("export", path, "--out", str(out), "--force")
    with out.open(encoding="utf-8-sig", newline="") as file:
        return [row for row in csv.DictReader(file) if row["rater"] == name]


def _fill_in(sheet: Path, people: np.ndarray) -> None:
    book = openpyxl.load_workbook(sheet)
    page = book.worksheets[0]
    header = [cell.value for cell in page[1]]
    for row in page.iter_rows(min_row=2):
        place = int(str(row[header.index("answer")].value).removeprefix("answer "))
        row[header.index("score")].value = int(people[place])
    book.save(sheet)
