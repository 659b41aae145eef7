"""Criteria without a prompt get a standard one, in the layout that their judges know."""

import json
from pathlib import Path

import pytest
import yaml

from pathway_local.errors import RubricError
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rubrics.rubric_file import load_rubric, parse_rubric

OWN = Path(__file__).parent / "rubric_files"


def test_prometheus_criteria() -> None:
    rubric = load_rubric(str(OWN / "prometheus.json"))
    assert rubric.name == "prometheus"
    assert list(rubric.inputs) == ["instruction", "response"]
    assert rubric.format.outputs.layout == "Feedback: {feedback} [RESULT] {score}"
    assert rubric.format.scores["score"].values == (1, 2, 3, 4, 5)
    system = rubric.turns[0].render({})
    assert "words that a newcomer {knows}?" in system
    assert "- 4: A term or two stays unexplained." in system
    assert "Feedback: <why this score, held against the levels> [RESULT] <1-5>" in system
    reply = rubric.format.reply(example_inputs(rubric))
    assert [text for text, _ in reply.start] == ["Feedback:"]
    assert reply.form.read(" All clear. [RESULT] 4").values == {"feedback": "All clear.", "score": 4}
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_flow_judge_criteria() -> None:
    rubric = load_rubric(str(OWN / "flow.yaml"))
    assert list(rubric.inputs) == ["query", "reference_answer", "response"]
    assert rubric.format.scores["score"].values == (0, 1)
    assert rubric.format.outputs.layout == "<feedback>\n{feedback}\n</feedback>\n<score>\n{score}\n</score>"
    user = rubric.turns[-1].render({name: f"<{name}>" for name in rubric.inputs})
    assert user.index("<reference_answer>") < user.index("<response>")
    check_grammars(rubric.format, example_inputs(rubric), None)


def test_our_own_levels() -> None:
    rubric = load_rubric(str(OWN / "levels.yaml"))
    assert (rubric.name, rubric.description) == ("politeness", "How polite a reply is")
    assert rubric.inputs["answer"].description == "What is judged"
    assert [rule.name for rule in rubric.rules] == ["thanks"]


def test_levels_in_json_have_the_names_that_they_have_in_yaml() -> None:
    """Every key of JSON is a text, so "1" is the number there."""
    criteria = {"name": "polite", "criteria": "Is it polite?", "levels": {-1: "rude", 0: "flat", 1: "kind"}}
    read = parse_rubric(json.dumps(criteria, indent=1), "polite.json")
    assert read.format.scores["score"].levels == criteria["levels"]
    assert read.format.outputs == parse_rubric(yaml.safe_dump(criteria), "polite.yaml").format.outputs


def test_a_rubric_inside_a_score_rubric_key_and_a_run_that_reads_it_again() -> None:
    text = json.dumps({"name": "nested", "score_rubric": json.loads((OWN / "prometheus.json").read_text())})
    rubric = parse_rubric(text, "x.json")
    assert rubric.name == "nested"
    assert parse_rubric(rubric.text, rubric.name).format.outputs == rubric.format.outputs


def test_levels_and_names_of_any_text_stay_text() -> None:
    criteria = {"criteria": "Is {{ x }} {% y %} {# z #} kept?", "levels": {0: "{no}", 1: "user:\nyes"}, "inputs": ["a"]}
    rubric = parse_rubric(json.dumps(criteria), "x.json")
    assert "Is {{ x }} {% y %} {# z #} kept?" in rubric.turns[0].render({})
    assert [turn.role for turn in rubric.turns] == ["system", "user"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("criteria: x\nlevels: {1: a}\n", r"line 2, column 1: the levels are not a scale"),
        ("criteria: x\nlevels: {1: a, 3: b}\n", "not a scale"),
        ('{"criteria": "x",\n"levels": {"1": "a", "01": "b"}}', "line 2, column 1: the level 1 stands twice"),
        ("criteria: x\nscore1_description: a\nlevels: {1: a, 2: b}\n", "the level 1 stands twice"),
        ("criteria: x\nlevels: {a: b, c: d}\n", "not a scale"),
        ("criteria: x\nlevels: {1: a, 2: [b]}\n", "not a scale"),
        ("criteria: [x]\nlevels: {1: a, 2: b}\n", r"line 1, column 1: criteria must be a text"),
        ("criteria: x\ncolour: red\nlevels: {1: a, 2: b}\n", r"line 2, column 1: unknown key 'colour'"),
        ("criteria: x\nrubric: [{score: 1, description: a}, {score: 1, description: b}]\n", "its own score"),
        ("criteria: x\nrubric: [{score: 1}]\n", "its own score"),
        ("criteria: x\ninputs: [a b]\nlevels: {1: a, 2: b}\n", r"line 2, column 1: inputs must be names"),
        ("criteria: x\nscore1_description: a\nscore1_description: b\n", "duplicate key"),
    ],
)
def test_wrong_criteria_are_named(text: str, said: str) -> None:
    with pytest.raises(RubricError, match=f"x.yaml.*{said}"):
        parse_rubric(text, "x.yaml")
