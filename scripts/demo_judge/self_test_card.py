"""The part of the demo judge's model card about its self-test, from the stored results."""

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any

from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.words.language import ENGLISH, Language

RESULTS = "self_test.json"

TEXT = """
## Self-test
{lead}

{tables}

Measure again, in the repository: `PYTHONPATH=scripts python -m demo_judge.self_test`.
"""
SAY = Language(ENGLISH)

LEAD = (
    "`pathway-local judges test` changes cases by program and shows what a judge reacts to (docs/judges.md). {note} "
    "{when} made-up cases with new names and values in full. In brackets: 95% intervals."
)


def write_results(weights: Path, found: Sequence[Sequence[Mapping[str, object]]]) -> None:
    """Store results beside the weights, with a hash of those that they are about."""
    text = json.dumps({"weights": _sha256(weights), "tests": found}, indent=1)
    (weights / RESULTS).write_text(f"{text}\n", encoding="utf-8")


def self_test_section(weights: Path) -> str:
    """Return the section about the results beside the weights; empty if there are none."""
    if not (weights / RESULTS).exists():
        return ""
    stored: dict[str, Any] = json.loads((weights / RESULTS).read_text(encoding="utf-8"))
    tests: list[dict[str, Any]] = [tables[0] for tables in stored["tests"]]
    same = stored["weights"] == _sha256(weights) and all(
        load_rubric(each["rubric"]).sha256 == each["rubric_sha256"] for each in tests
    )
    when = "Here it judged" if same else "Before the weights or a rubric's words last changed, it judged"
    lead = fill(LEAD.format(note=tests[0]["notes"][0]["text"], when=when), 115)
    return TEXT.format(lead=lead, tables="\n\n".join(map(_table, tests)))


def _sha256(weights: Path) -> str:
    return sha256((weights / "model.safetensors").read_bytes()).hexdigest()


def _table(found: Mapping[str, Any]) -> str:
    heads = ["probe", "change", "expected", "result", "passed", "share", "mean shift"]
    rows = [f"| {' | '.join(cells)} |" for cells in (heads, ["---"] * len(heads), *map(_row, found["rows"]))]
    return "\n".join([f"### {found['rubric']}, {found['score']}", "", *rows])


def _row(each: Mapping[str, Any]) -> list[str]:
    named = [each["probe"], each["change"], SAY.text("words", each["expected"], {}), each["result"]]
    if not each["cases"]:
        return [*named, "", "", ""]
    share, shift = each["share"], each["mean_shift"]
    ends = f" ({_points(shift['low'])} to {_points(shift['high'])})" if shift["low"] is not None else ""
    shares = f"{share['value']:.1%} ({share['low']:.1%} to {share['high']:.1%})"
    return [*named, f"{each['passed']} of {each['cases']}", shares, f"{_points(shift['value'])}{ends}"]


def _points(value: float) -> str:
    return f"{round(value, 2) + 0.0:.2f}"  # without a sign before a zero
