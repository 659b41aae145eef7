"""If a budget often cuts a field, `summary` says what can be raised in that rubric's file, if anything can."""

from collections import Counter

import pytest
from rated_run import TINY

from pathway_local.prompty.rubric_file import parse_rubric
from pathway_local.results.summary import Group, Summary
from pathway_local.results.views.summary import group_remarks

CRITERIA = "criteria: Is it clear?\nlevels:\n  1: No.\n  2: Yes.\n"
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


def remarks(text: str, name: str, count: int = 3) -> tuple[str, ...]:
    found = Group("demo", "mine", "", {}, verdicts=40, definition=parse_rubric(text, "mine"))
    found.marks = Counter({f"cut:{name}": count, "cut:thinking": 40, "truncated:answer": 40})
    return group_remarks(found, Summary([found], "", {})).sentences


@pytest.mark.parametrize(
    ("text", "name", "told"),
    [
        (TINY.text, "reason", "raise its `tokens`, now 20, in the rubric's file"),
        (CRITERIA, "feedback", "a file with criteria alone has no setting for its 300 tokens"),
        (CLAIMS, "claims", "raise its `items`, now 6, or its texts' `tokens`, in the rubric's file"),
        (TINY.text, "thinking", "raise --think"),
    ],
)
def test_only_what_the_rubrics_file_has_is_advised(text: str, name: str, told: str) -> None:
    said = [line for line in remarks(text, name) if f"cut:{name}" in line]
    assert len(said) == 1 and f"of the verdicts; {told}" in said[0], said


def test_a_budget_that_seldom_cuts_is_not_worth_raising() -> None:
    sentences = remarks(TINY.text, "reason", 2)
    assert "2 marked cut:reason" in sentences and "40 marked truncated:answer" in sentences
