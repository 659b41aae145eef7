"""Commands from cases to tables, with real vLLM and a tiny judge of random weights."""

import csv
import sqlite3
import stat
from pathlib import Path

import openpyxl
import pytest
from shared_vllm import type_with
from typed_here import Run, rows, typing_in

from pathway_local.engines.engines import Engines

ROOT = Path(__file__).parents[1]
ANSWERS = ROOT / "tests" / "hand_written_samples" / "pathway-answer.csv"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("work")


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Commands in the test's own process, where nothing depends on how the command was started."""
    return typing_in(folder, monkeypatch, capsys)


@pytest.fixture(scope="module")
def judged(folder: Path, tiny_judge: Path, vllm_host: Engines) -> Path:
    """A run of the sample answers under two rubrics in one pass, the second one fed by aliases."""
    done = type_with(
        vllm_host, folder, "judge", ANSWERS, "--rubric", "pathway-answer", "--rubric", "gold-answer",
        "--judge", tiny_judge, "--detail", "score", "--run", "may.run", "--keep", "chatbot",
    )  # fmt: skip
    assert done.code == 0, done.err
    done = type_with(vllm_host, folder, "export", "may.run", "--out", "verdicts.csv")
    assert done.code == 0, done.err
    return folder / "may.run"


def test_every_case_has_a_verdict_under_every_rubric(judged: Path, folder: Path) -> None:
    with (folder / "verdicts.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    with ANSWERS.open(newline="", encoding="utf-8") as file:
        ids = [row["id"] for row in csv.DictReader(file)]
    assert [row["case"] for row in rows if row["rubric"] == "pathway-answer"] == ids
    assert [row["case"] for row in rows if row["rubric"] == "gold-answer"] == ids
    for row in rows:
        assert not row.get("failure")
        score = "score" if row["rubric"] == "pathway-answer" else "completeness_score"
        shares = [float(row[f"{score}_p{value}"]) for value in range(1, 6)]
        assert sum(shares) == pytest.approx(1, abs=1e-5)
        assert float(row[f"{score}_expected"]) == pytest.approx(sum(v * p for v, p in enumerate(shares, 1)), abs=1e-4)
    for path in (judged, folder / "verdicts.csv"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_run_keeps_no_text_of_a_case(judged: Path) -> None:
    stored = b"".join(path.read_bytes() for path in judged.parent.glob("may.run*"))
    for row in csv.DictReader(ANSWERS.open(newline="", encoding="utf-8")):
        for name in ("question", "ideal_answer", "ai_answer", "retrieved_content"):
            assert row[name][:40].encode() not in stored or not row[name]


def test_a_run_goes_on_with_its_own_settings_and_judges_nothing_twice(judged: Path, here: Run) -> None:
    before = sqlite3.connect(judged).execute("SELECT count(*), max(number) FROM outcomes").fetchone()
    done = here("judge", ANSWERS, "--run", judged.name, "--keep", "audience")
    assert done.code == 0, done.err
    assert sqlite3.connect(judged).execute("SELECT count(*), max(number) FROM outcomes").fetchone() == before
    assert {row["rubric"] for row in rows(here("summary", judged.name, "--json").out, "scores")} == {
        "gold-answer",
        "pathway-answer",
    }
    by = ("summary", judged.name, "--by", "audience")
    hidden = here(*by)
    assert "values of audience have under 10 scored cases of a rater and are left out" in hidden.words
    assert "staff" not in hidden.out + hidden.err
    groups = rows(here(*by, "--min-group", 1, "--json").out, "groups")
    assert {group["group"] for group in groups} == {"prospective", "enrolled", "staff"}


def test_other_settings_are_another_rater(judged: Path, tiny_judge: Path, here: Run) -> None:
    asked = ("-r", "pathway-answer", "-j", tiny_judge, "--detail", "full")
    done = here("judge", ANSWERS, *asked, "--run", judged.name)
    assert done.code == 4
    assert 'detail was "score", now "full"' in done.err


def test_the_users_own_sheet_gets_columns(judged: Path, folder: Path, here: Run) -> None:
    book = openpyxl.Workbook()
    with ANSWERS.open(newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    for row in [rows[0], *reversed(rows[1:])]:
        book.active.append(row)
    book.save(folder / "answers.xlsx")
    assert here("export", judged.name, "--onto", "answers.xlsx", "--out", "scored.xlsx").code == 0
    sheet = openpyxl.load_workbook(folder / "scored.xlsx").active
    scored = list(sheet.iter_rows(values_only=True))
    assert [row[0] for row in scored[1:]] == [row[0] for row in reversed(rows[1:])]
    column = scored[0].index("pathway-answer.score")
    assert all(row[column] in range(1, 6) for row in scored[1:])


@pytest.mark.parametrize("suffix", ["parquet", "jsonl", "xlsx", "tsv"])
def test_exports_of_every_kind(judged: Path, here: Run, suffix: str) -> None:
    assert here("export", judged.name, "--out", f"v.{suffix}").code == 0
    again = here("export", judged.name, "--out", f"v.{suffix}")
    assert again.code == 2 and "--force" in again.err
    assert here("export", judged.name, "--out", f"v.{suffix}", "--force").code == 0


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["judge", ANSWERS, "-r", "pathway-anser"], 2, "pathway-answer"),
        (["judge", ANSWERS, "-r", "pathway-answer", "-j", "dmo"], 2, "demo"),
        (["judge", ANSWERS, "-r", "pathway-answer", "-j", "qwen3-8b"], 5, "no weights"),
        (["judge", ANSWERS, "-r", "contextual-relevance"], 3, "--map"),
        (["judge", "nowhere.csv", "-r", "pathway-answer"], 3, "nowhere.csv"),
        (["judge", ANSWERS], 2, "--rubric"),
        (["judge", ANSWERS, "-r", "pathway-answer", "--id", "nummer"], 2, "nummer"),
        (["judge", ANSWERS, "-r", "pathway-answer", "--keep", "nummer"], 2, "nummer"),
        (["judge", ANSWERS, "-r", "pathway-answer", "--samples", "3"], 2, "--temperature"),
        (["judge", ANSWERS, "-r", "pathway-answer", "--map", "question"], 2, "INPUT=COLUMN"),
        (["summary", ANSWERS], 4, "pathway-answer.csv"),
        (["summary", "nowhere.run"], 4, "nowhere.run"),
        (["rubrics", "show", "nothing"], 2, "pathway-answer"),
    ],
)
def test_bad_input_gets_one_line_and_leaves_nothing(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[object],
    code: int,
    said: str,
) -> None:
    done = typing_in(tmp_path, monkeypatch, capsys)(*arguments)
    assert done.code == code
    assert said in done.err
    assert done.err.startswith(("error: ", "note: "))
    assert list(tmp_path.iterdir()) == []


def outcomes(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as run_file:
            return int(run_file.execute("SELECT count(*) FROM outcomes").fetchone()[0])
    except sqlite3.OperationalError:
        return 0
