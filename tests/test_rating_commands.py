"""The commands for ratings of people and hosted judges, as a user types them."""

import csv
import json
import os
import pty
import stat
import subprocess
import sys
from pathlib import Path

import openpyxl
import pytest

ROOT = Path(__file__).parents[1]
COMMAND = Path(sys.executable).with_name("pathway-local")
CASES = ROOT / "tests" / "hand_written_samples" / "contextual-relevance.csv"


def run(*arguments: object, cwd: Path, code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(COMMAND), *map(str, arguments)],
        cwd=cwd, capture_output=True, text=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    assert done.returncode == code, done.stderr + done.stdout
    assert "Traceback" not in done.stderr
    return done


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run in which Ann and Bob have rated six sample cases from their sheet."""
    folder = tmp_path_factory.mktemp("work")
    sampled = run(
        "sample", "may.run", "--cases", CASES, "--rubric", "contextual-relevance", "--n", 6, "--seed", 3,
        "--strata", "chatbot", "--rater", "Ann", "--rater", "Bob", "--out", "rate.xlsx", cwd=folder,
    )  # fmt: skip
    assert "6 of 18 cases drawn at random within 2 values of chatbot" in sampled.stderr
    for name, scores in (("rate-Ann.xlsx", (1, 2, 3, 4, 5, 5)), ("rate-Bob.xlsx", (1, 2, 5, 4, 1, 5))):
        book = openpyxl.load_workbook(folder / name)
        page = book.worksheets[0]
        header = [cell.value for cell in page[1]]
        rows = sorted(page.iter_rows(min_row=2), key=lambda row: str(row[header.index("follow_up_question")].value))
        for row, score in zip(rows, scores, strict=True):
            row[header.index("score")].value = score
            row[header.index("notes")].value = f"worth a {score}"
        book.save(folder / name)
        run("import", "may.run", name, "--kind", "human", cwd=folder)
    return folder


def test_the_trail_is_told_in_words(folder: Path) -> None:
    told = run("audit", "may.run", cwd=folder).stdout
    assert "written rate-Ann.xlsx" in told and "{" not in told


def test_a_panel_and_divergence(folder: Path) -> None:
    shown = run("divergence", "may.run", "--top", 2, cwd=folder).stdout
    assert "mix of 1s and 5s" in shown
    assert "worth a 1" in shown
    found = json.loads(run("divergence", "may.run", "--json", cwd=folder).stdout)
    assert found[0]["kinds"] == {"agree": 4, "apart": 2}
    assert [case["spread"] for case in found[0]["first"]] == [4, 2]
    shown = run("panel", "may.run", "--name", "people", "--of", "Ann, Bob", "--rule", "median", cwd=folder).stdout
    assert "the median of Ann, Bob" in shown
    assert "no rater is called 'Eve'" in run(
        "panel", "may.run", "--name", "x", "--of", "Ann,Eve", cwd=folder, code=2
    ).stderr  # fmt: skip
    run("panel", "may.run", "--name", "x", "--of", "Ann,Bob", "--rule", "mode", cwd=folder, code=2)


def test_an_import_that_is_refused_names_every_line(folder: Path) -> None:
    with (folder / "bad.csv").open("w", newline="") as file:
        csv.writer(file).writerows([["id", "score"], ["cr-01", 9], ["nobody", 3], ["cr-01", 2], ["cr-02", ""]])
    refused = run("import", "may.run", "bad.csv", "--kind", "human", "--rater", "Cy", cwd=folder, code=3)
    lines = refused.stderr.splitlines()
    assert [line.split(":")[0] for line in lines[:2]] == ["line 2", "line 3"]
    assert "nobody" not in refused.stderr
    run("import", "may.run", "bad.csv", "--kind", "robot", "--rater", "Cy", cwd=folder, code=2)
    assert "Cy" not in run("summary", "may.run", cwd=folder).stdout


def test_nothing_leaves_without_a_yes(folder: Path) -> None:
    asked = (
        "hosted",
        "export",
        "may.run",
        "--cases",
        CASES,
        "--service",
        "openai",
        "--model",
        "gpt-4o",
        "--out",
        "ask.jsonl",
    )
    refused = run(*asked, cwd=folder, code=2)
    assert "the texts of 18 cases" in refused.stderr
    assert "also in the schema" in refused.stderr
    assert not (folder / "ask.jsonl").exists()
    assert answered("n\n", *asked, cwd=folder) == 2
    assert not (folder / "ask.jsonl").exists()
    assert answered("y\n", *asked, cwd=folder) == 0
    assert len((folder / "ask.jsonl").read_text().splitlines()) == 18


def answered(text: str, *arguments: object, cwd: Path) -> int:
    """Run the command on a terminal of its own and type an answer."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, text.encode())
        command = [str(COMMAND), *map(str, arguments)]
        return subprocess.run(command, cwd=cwd, stdin=theirs, capture_output=True, timeout=60, check=False).returncode
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_hosted_judge_there_and_back(folder: Path) -> None:
    run(
        "hosted", "export", "may.run", "--cases", CASES, "--service", "anthropic", "--model", "claude-x", "--only", 4,
        "--out", "requests.jsonl", "--yes", cwd=folder,
    )  # fmt: skip
    assert stat.S_IMODE((folder / "requests.jsonl").stat().st_mode) == 0o600
    lines = [json.loads(line) for line in (folder / "requests.jsonl").read_text().splitlines()]
    results = []
    for place, line in enumerate(lines):
        asked = line["params"]["output_config"]["format"]["schema"]["properties"]
        reply = {key: asked[key]["const"] for key in ("fq_id", "follow_up_question")} | {"score": 4, "reason": "fits"}
        text = json.dumps(reply, ensure_ascii=False)
        text = f"```json\n{text}\n```" if place == 3 else text
        message = {"model": "claude-x-1", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        results.append({"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": message}})
    (folder / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    shown = run("import", "may.run", "results.jsonl", "--kind", "hosted", "--rater", "claude", cwd=folder).stdout
    assert "claude: 1 of 4 replies break the format (25.0%), 3 keep it exactly" in shown
    assert "claude: 1 with code-fence" in shown
    assert "1 marked format:code-fence" in run("summary", "may.run", cwd=folder).stdout
