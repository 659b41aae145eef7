"""The commands for ratings of people and hosted judges, as a user types them."""

import json
import os
import pty
import re
import stat
from pathlib import Path

import pytest
from preloaded import Forked
from typed import COMMAND, Desk

ROOT = Path(__file__).parents[1]
CASES = ROOT / "tests" / "hand_written_samples" / "contextual-relevance.csv"


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory, tiny_judge: Path) -> Desk:
    """Where a run is of which six cases were drawn for Ann and Bob."""
    desk = Desk(tmp_path_factory.mktemp("rated") / "d", tiny_judge)
    sampled = desk.typed(
        "sample", "may.run", "--cases", CASES, "--rubric", "contextual-relevance", "--n", 6, "--seed", 3,
        "--strata", "chatbot", "--rater", "Ann", "--rater", "Bob", "--out", "rate.xlsx",
    )  # fmt: skip
    assert "6 of 18 cases drawn at random within 2 values of chatbot" in sampled.stderr
    return desk


def test_nothing_leaves_without_a_yes(desk: Desk) -> None:
    asked = ("hosted", "export", "may.run", "--cases", CASES, "--service", "openai", "--model", "gpt-4o", "--out")
    asked += ("ask.jsonl",)
    refused = desk.typed(*asked, code=2)
    assert "the texts of 18 cases" in refused.stderr
    assert "also in the schema" in refused.stderr
    assert not (desk.work / "ask.jsonl").exists()
    assert answered("n\n", *asked, desk=desk) == 2
    assert not (desk.work / "ask.jsonl").exists()
    assert answered("y\n", *asked, desk=desk) == 0
    assert len((desk.work / "ask.jsonl").read_text().splitlines()) == 18


def answered(text: str, *arguments: object, desk: Desk) -> int:
    """Run the command on a terminal of its own and type an answer."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, text.encode())
        with Forked([*COMMAND[1:], *map(str, arguments)], desk.work, desk.environment, theirs) as process:
            process.communicate(timeout=60)
        return process.returncode
    finally:
        os.close(ours)
        os.close(theirs)


def test_a_hosted_judge_there_and_back(desk: Desk) -> None:
    desk.typed(
        "hosted", "export", "may.run", "--cases", CASES, "--service", "anthropic", "--model", "claude-x",
        "--out", "requests.jsonl", "--yes",
    )  # fmt: skip
    assert stat.S_IMODE((desk.work / "requests.jsonl").stat().st_mode) == 0o600
    lines = [json.loads(line) for line in (desk.work / "requests.jsonl").read_text().splitlines()[:4]]
    results = []
    for place, line in enumerate(lines):
        asked = line["params"]["output_config"]["format"]["schema"]["properties"]
        reply = {key: asked[key]["const"] for key in ("fq_id", "follow_up_question")} | {"score": 4, "reason": "fits"}
        text = json.dumps(reply, ensure_ascii=False)
        text = f"```json\n{text}\n```" if place == 3 else text
        message = {"model": "claude-x-1", "content": [{"type": "text", "text": text}], "stop_reason": "end_turn"}
        results.append({"custom_id": line["custom_id"], "result": {"type": "succeeded", "message": message}})
    (desk.work / "results.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    given = ("import", "may.run", "results.jsonl", "--kind", "hosted", "--rater", "claude")
    told = desk.typed(*given, code=1)
    assert re.search("claude +4 +14 no-result", told.stdout) and "14 of 18 requests have no result" in told.stderr
    assert told.stdout.count("14") == 1, "what failed is told once"
    assert "format:code-fence" in desk.typed("summary", "may.run").stdout
