"""A run keeps a rubric as it was understood when it judged, whatever a later release makes of the same text."""

import json
from functools import cache
from pathlib import Path

import pytest
from test_prompt_corpus import CORPUS, outcome

from pathway_local.errors import RubricError, RunDamaged
from pathway_local.rubrics.rubric import Rubric, compiled, read_compiled
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, parse_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of

TESTING = """---
name: testing
inputs: {a: {}, b: {empty: judge}, talk: {type: conversation}}
outputs: {layout: "{score}", fields: {score: {type: score, min: 0, max: 1, step: 0.5, levels: {0.5: half}}}}
rules: [{name: short, when: [{input: a, begins_with: [x]}], expect: [{field: score, at_most: 0.5}]}]
---
user:
{% if a and not b or talk %}{{ a }}{% elif b %}{{ b }}{% else %}-{% endif %}
{{ talk }}
"""
LOOSE = '---\nname: loose\ninputs: {answer: {}}\noutputs: "score: 1-5"\n---\nuser:\nRate {{answer}}.\n'


@cache
def all_rubrics() -> dict[str, Rubric]:
    """The built-in rubrics, those of the tests, and all of the corpus that can be adopted."""
    read = {name: rubric for name in CORPUS for became, _, rubric in [outcome(name)] if rubric and became == "right"}
    return read | {name: load_rubric(name) for name in builtin_names()} | {"testing": parse_rubric(TESTING, "testing")}


def test_every_rubric_comes_back_as_it_was() -> None:
    rubrics = all_rubrics()
    assert len(rubrics) > 25
    for name, rubric in rubrics.items():
        again = read_compiled(rubric.text, compiled(rubric))
        assert compiled(again) == compiled(rubric), name
        for part in ("name", "description", "inputs", "turns", "notes", "text", "rules", "pair", "sha256"):
            assert getattr(again, part) == getattr(rubric, part), (name, part)
        assert list(again.inputs) == list(rubric.inputs)
        assert again.format.outputs == rubric.format.outputs, name
        assert list(again.format.outputs.fields) == list(rubric.format.outputs.fields)


DAMAGES = {
    "no JSON": lambda _: "{",
    "a name that is none": lambda known: json.dumps(known | {"name": 1}),
    "a template that calls": lambda known: json.dumps(known | {"turns": [{"role": "user", "template": "{{ f() }}"}]}),
    "an input that it lacks": lambda known: json.dumps(known | {"inputs": {}}),
    "no score": lambda known: json.dumps(known | {"format": {"layout": "x", "fields": {}}}),
    "a rule that tests nothing": lambda known: json.dumps(known | {"rules": [{"name": "x", "expect": [{}]}]}),
    "no pair": lambda known: json.dumps(known | {"pair": {"swap": {}, "score": "other", "special": []}}),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_rubric_is_refused(tmp_path: Path, kind: str) -> None:
    rubric = parse_rubric(LOOSE, "loose")
    damaged = DAMAGES[kind](json.loads(compiled(rubric)))
    with pytest.raises(RubricError):
        read_compiled(rubric.text, damaged)
    with RunFile.create(tmp_path / "may.run") as run:
        run.add_rubric(rubric.name, rubric.text, damaged)
        with pytest.raises(RunDamaged):
            rubric_of(run, None)
