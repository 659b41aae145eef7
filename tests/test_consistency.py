"""Rules between inputs and verdict: broken ones become marks."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from pathway_local.errors import RubricError
from pathway_local.rubrics.consistency import Condition, Rule, broken_rules, read_rules
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.system.safe_yaml import Places
from pathway_local.verdict import Score, Value, Verdict

SAMPLES = Path(__file__).parent / "hand_written_samples"
GOLD = load_rubric("gold-answer")


def verdict(fields: Mapping[str, Value] | None = None, **scores: int) -> Verdict:
    return Verdict({name: Score(value) for name, value in scores.items()}, fields or {})


def gold(completeness: int, correctness: int, *errors: str) -> Verdict:
    fields: dict[str, Value] = {"factual_errors": list(errors)}
    return verdict(fields, completeness_score=completeness, correctness_score=correctness)


def case(model_answer: str, gold_answer: str = "Ten days.") -> dict[str, str]:
    return {"question": "How long?", "gold_answer": gold_answer, "model_answer": model_answer}


def marks_of(inputs: Mapping[str, str], said: Verdict) -> tuple[str, ...]:
    return broken_rules([rule.about(inputs) for rule in GOLD.rules], said)


@pytest.mark.parametrize(
    ("answer", "gold_answer", "said", "marks"),
    [
        ("Ten days.", "Ten days.", gold(5, 5), ()),
        ("Ten days.", "Ten days.", gold(5, 5, "It says nine."), ("rule:errors-at-5",)),
        ("Nine days.", "Ten days.", gold(3, 2, "It says nine."), ()),
        ("I cannot answer that.", "Ten days.", gold(1, 1), ()),
        ("I cannot answer that.", "Ten days.", gold(1, 3), ("rule:refusal",)),
        ("**I\u2019m sorry, but I can\u2019t** help.", "Ten days.", gold(2, 1), ("rule:refusal",)),
        ("  i CAN'T\nprovide this", "Ten days.", gold(4, 5, "x"), ("rule:errors-at-5", "rule:refusal")),
        ("I cannot answer that.", "This cannot be determined yet.", gold(5, 5), ()),
        ("Sorry, I can help: ten days.", "Ten days.", gold(5, 5), ()),
        ("Ten days. I can't help with more.", "Ten days.", gold(5, 5), ()),
    ],
)
def test_the_rules_of_the_gold_answer(answer: str, gold_answer: str, said: Verdict, marks: tuple[str, ...]) -> None:
    assert marks_of(case(answer, gold_answer), said) == marks


def test_no_sample_case_breaks_a_rule_with_its_own_scores() -> None:
    for line in (SAMPLES / "gold-answer.jsonl").read_text().splitlines():
        row = json.loads(line)
        said = gold(row["expected_completeness"], row["expected_correctness"])
        assert marks_of(row, said) == (), row["id"]


def test_what_a_shorter_verdict_lacks_breaks_nothing() -> None:
    assert marks_of(case("Ten days."), verdict(completeness_score=5, correctness_score=5)) == ()
    assert marks_of({}, gold(5, 5)) == ()


TESTS: list[tuple[dict[str, object], bool]] = [
    ({"input": "a", "begins_with": ["Yes"]}, True),
    ({"input": "a", "begins_with": ["Ye"]}, False),
    ({"input": "a", "begins_with": ["..."]}, False),
    ({"input": "a", "contains": ["it's"]}, True),
    ({"input": "a", "contains": ["nothing"]}, False),
    ({"input": "a", "equals": "yes, it's so."}, True),
    ({"input": "a", "empty": False}, True),
    ({"input": "blank", "empty": True}, True),
    ({"input": "a", "same_as": "twin"}, True),
    ({"input": "a", "same_as": "blank"}, False),
    ({"field": "s", "equals": 3}, True),
    ({"field": "s", "equals": True}, False),
    ({"field": "s", "at_least": 3}, True),
    ({"field": "s", "at_most": 2}, False),
    ({"field": "list", "empty": True}, False),
    ({"field": "flag", "equals": True}, True),
    ({"field": "flag", "at_least": 0}, False),
    ({"field": "none", "empty": True}, True),
]


@pytest.mark.parametrize(("block", "holds"), TESTS, ids=[json.dumps(block) for block, _ in TESTS])
def test_each_word_of_the_vocabulary(block: dict[str, object], holds: bool) -> None:
    inputs = {"a": "Yes, it’s so.", "twin": " yes, it's  SO. ", "blank": " \n"}
    said = verdict({"list": ["x", "y"], "flag": True, "none": None}, s=3)
    found = Condition.model_validate(block).about(inputs)
    assert (found.holds(said) if isinstance(found, Condition) else found) is holds


def test_a_rule_about_a_case_holds_none_of_its_texts() -> None:
    conditions = [{"field": "list", "empty": True}, {"input": "a", "contains": ["x"]}]
    rule = Rule.model_validate({"name": "r", "expect": conditions})
    assert "secret" not in repr(rule.about({"a": "secret"})).casefold()


def test_when_unless_and_expect() -> None:
    rule = Rule.model_validate(
        {
            "name": "r",
            "when": [{"field": "s", "at_least": 4}, {"input": "a", "empty": False}],
            "unless": [{"input": "b", "contains": ["x"]}],
            "expect": [{"field": "t", "equals": 1}, {"field": "u", "equals": 1}],
        }
    )
    high = verdict(s=5, t=1, u=2)
    assert rule.about({"a": "y", "b": ""}).is_broken(high)
    assert not rule.about({"a": "y", "b": "x"}).is_broken(high)
    assert not rule.about({"a": "", "b": ""}).is_broken(high)
    assert not rule.about({"a": "y", "b": ""}).is_broken(verdict(s=3, t=1, u=2))
    assert not rule.about({"a": "y", "b": ""}).is_broken(verdict(s=5, t=1, u=1))
    assert not rule.about({"a": "y"}).is_broken(high), "an exception that can't be decided is one"


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"name": "r"}, "expect"),
        ({"name": "R r", "expect": [{"field": "s", "equals": 1}]}, "name"),
        ({"name": "r", "expect": [{"field": "s"}]}, "give exactly one of"),
        ({"name": "r", "expect": [{"field": "s", "equals": 1, "empty": True}]}, "give exactly one of"),
        ({"name": "r", "expect": [{"equals": 1}]}, "give either input or field"),
        ({"name": "r", "expect": [{"field": "s", "input": "a", "equals": 1}]}, "give either input or field"),
        ({"name": "r", "expect": [{"field": "gone", "equals": 1}]}, "names the field 'gone'"),
        ({"name": "r", "expect": [{"input": "gone", "empty": True}]}, "names the input 'gone'"),
        ({"name": "r", "expect": [{"input": "a", "same_as": "gone"}]}, "names the input 'gone'"),
        ({"name": "r", "expect": [{"field": "s", "same_as": "a"}]}, "same_as compares two inputs"),
        ({"name": "r", "expect": [{"field": "s", "regex": "x"}]}, "regex"),
        ({"name": "r", "expect": [{"field": "s", "empty": "yes"}]}, "empty"),
    ],
)
def test_a_wrong_rule_is_named(rule: dict[str, object], said: str) -> None:
    with pytest.raises(RubricError, match=rf"mine line 1, column \d+: .*{said}"):
        read_rules([rule], {"a"}, {"s"}, Places(json.dumps({"rules": [rule]}), "mine"))


def test_two_rules_of_one_name_are_refused() -> None:
    rule = {"name": "r", "expect": [{"field": "s", "equals": 1}]}
    with pytest.raises(RubricError, match="two rules are called 'r'"):
        read_rules([rule, rule], {"a"}, {"s"}, Places("rules: []", "mine"))
