"""A rubric's rules hold for the verdicts of hosted judges as for those of local ones."""

import csv
import json
from pathlib import Path

from typed_here import Run

from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

RUBRIC = """---
name: r
inputs: {answer: {type: string}}
outputs: "reasons: text; pass: true/false; score: 1-5"
rules:
  - name: pass-means-3
    when: [{field: pass, equals: true}]
    expect: [{field: score, at_least: 3}]
  - name: refusal
    when: [{input: answer, begins_with: ["I cannot"]}]
    expect: [{field: score, equals: 1}]
---
user:
Judge.
{{answer}}
"""
ANSWERS = {"a": "one", "b": "two", "c": "I cannot say"}
REPLIES = {"a": (True, 1), "b": (True, 4), "c": (True, 4)}


def test_rules_about_fields_and_texts(run: Run, tmp_path: Path) -> None:
    (tmp_path / "r.prompty").write_text(RUBRIC)
    for name, rows in (
        ("c.csv", [["id", "answer"], *ANSWERS.items()]),
        ("h.csv", [["id", "reply"], *([id, json.dumps({"reasons": "x", "pass": passed, "score": score})]
                                      for id, (passed, score) in REPLIES.items())]),
    ):  # fmt: skip
        with (tmp_path / name).open("w", newline="") as file:
            csv.writer(file).writerows(rows)
    given = ("import", "my.run", "h.csv", "--kind", "hosted", "--rater", "h")
    assert run(*given, "--cases", "c.csv", "--rubric", "r.prompty").code == 0
    with RunFile.read(tmp_path / "my.run") as read:
        outcomes = {record.case_id: record.outcome for record in read.records("h")}
    marks = {name: each.marks for name, each in outcomes.items() if isinstance(each, Verdict)}
    assert marks == {"a": ("rule:pass-means-3",), "b": (), "c": ("rule:refusal",)}
    again = run(*given).words
    with RunFile.read(tmp_path / "my.run") as read:
        assert outcomes == {record.case_id: record.outcome for record in read.records("h")}
    assert "rules about a case's texts are not checked without --cases: refusal" in again
