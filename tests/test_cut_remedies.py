"""If a budget often cuts a field, `summary` says what can be raised in that rubric's file, if anything can."""

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from rated_run import TINY

from pathway_local.cli.show import terminal_words
from pathway_local.results.summary import summary_tables
from pathway_local.results.tally import Group
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores

CLAIMS = """---
name: claims
inputs: {answer: {type: string}}
outputs:
  layout: json
  fields:
    claims:
      type: verdicts
      score: backed
      items: 6
      members:
        claim: {type: text, tokens: 30}
        verdict: {type: score, min: 0, max: 1}
---
user:
{{ answer }}
"""


def remarks(run: RunFile, text: str, name: str, count: int = 3) -> list[str]:
    found = Group("demo", "mine", "", {}, verdicts=40, definition=parse_rubric(text, "mine"))
    found.marks = Counter({f"cut:{name}": count, "cut:thinking": 40, "truncated:answer": 40})
    tables = summary_tables(Scores(run), [found], "", whole=[found])
    return [terminal_words().note(note) for table in tables for note in table.notes]


@pytest.fixture
def run(tmp_path: Path) -> Iterator[RunFile]:
    with RunFile.create(tmp_path / "a.run") as made:
        yield made


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (TINY.text, "reason", "raise its limit of 20 tokens (`text 40`, or `tokens: 40`), in the rubric's file"),
        (CLAIMS, "claims", "raise its `items`, now 6, or its texts' `tokens`, in the rubric's file"),
        (TINY.text, "thinking", "raise --think"),
    ],
)
def test_only_what_the_rubrics_file_has_is_advised(run: RunFile, text: str, name: str, told: str) -> None:
    said = [line for line in remarks(run, text, name) if f"cut:{name}" in line]
    assert len(said) == 1 and f"of the verdicts; {told}" in said[0], said


def test_a_budget_that_seldom_cuts_is_not_worth_raising(run: RunFile) -> None:
    assert not [line for line in remarks(run, TINY.text, "reason", 2) if "reason" in line]
