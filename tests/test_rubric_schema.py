"""A JSON Schema is kept to, keyword by keyword, or refused by the name of the keyword that is not."""

import json
from pathlib import Path
from typing import Any

import llguidance
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from walks import Walker

from pathway_local.errors import FormatError, RubricError
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.rubrics.schema import outputs_of_schema

CASE = Path(__file__).parents[2] / "shared" / "cases" / "schema-keywords" / "y.prompty"
Schema = dict[str, Any]
SCORE = {"type": "integer", "minimum": 1, "maximum": 5}
TEXT = {"type": "string"}
NULL = {"type": "null"}


def with_more(**more: object) -> Schema:
    return {"type": "object", "properties": {"score": SCORE, "why": TEXT}, **more}


def beside(**field: object) -> Schema:
    return {"properties": {"score": SCORE, "x": field}}


REFUSED: list[tuple[Schema, str]] = [
    (with_more(**{"if": {}, "then": {}}), "the schema: if is no keyword"),
    *((with_more(**{key: {}}), f"the schema: {key}") for key in ("not", "minProperties", "dependentSchemas", "oneOf")),
    (with_more(required=["gone"]), "required names gone"),
    (with_more(required=5), "required names no list"),
    (beside(type="integer", minimum=1, maximum=9, multipleOf=2), "must be multiples of multipleOf"),
    (beside(type="integer", minimum=1, maximum=9, multipleOf=0), "multipleOf not 0"),
    (beside(type="integer", minimum="1", maximum=9), "must be numbers"),
    (beside(type="integer", minimum=1, maximum=9, **{"not": {"const": 5}}), "x: .*: not"),
    (beside(type="integer", minimum=1, exclusiveMaximum=9, maximum=9), "exclusiveMaximum"),
    (beside(type="integer", minimum=1, maximum=5, multipleOf=0.5), "whole for an integer"),
    (beside(enum=[1, 2, 3], minimum=2), "minimum"),
    (beside(type="string", enum=["a", 1]), "enum may only list texts or numbers, all of the type"),
    (beside(type="integer", enum=[1, 0.5]), "enum may only list"),
    (beside(enum=[1, "a"]), "enum may only list"),
    (beside(enum=[1, 1]), "enum may only list"),
    (beside(enum=["a", None]), "enum may only list"),
    (beside(const=3), "two levels or more"),
    (beside(type="string", oneOf=[{"const": 1}, {"const": 2}]), "oneOf may only list texts or numbers"),
    (beside(oneOf=[{"const": 1}, {"type": "string"}]), "oneOf may only list const"),
    (beside(oneOf=[{"const": 1, "not": {}}, {"const": 2}]), "not is no keyword"),
    (beside(type="string", anyOf=[TEXT, NULL]), "x: type"),
    (beside(anyOf=[TEXT, SCORE]), "anyOf|type None"),
    (beside(anyOf=[{"type": "integer", "exclusiveMinimum": 1}, NULL]), "exclusiveMinimum"),
    (beside(anyOf=[{"type": "boolean"}, NULL]), "null may only stand beside"),
    (beside(type=["integer", "string"]), "type .* is none that a format keeps to"),
    (beside(allOf=[TEXT]), "none that a format keeps to|allOf"),
    *((beside(type="string", **{key: 3}), key) for key in ("pattern", "format", "minLength", "maxLength", "minimum")),
    *((beside(type="array", items=TEXT, **{key: 3}), key) for key in ("prefixItems", "contains", "minItems")),
    (beside(type="array", items={"type": "string", "maxLength": 3}), "maxLength"),
    (beside(type="array", items={"type": "integer"}), "a list holds texts"),
    (beside(type="object", properties={}), "x: an object needs properties"),
    (beside(type="object", properties={"a": {"type": "object", "minProperties": 1}}), "none that a format"),
    (beside(spelling="no < yes", minimum=1, type="integer"), "minimum"),
    (beside(spelling="no < yes", enum=["good", "bad"]), "says otherwise"),
    (beside(spelling="no < yes", enum=True), "says otherwise"),
    (beside(type=["null", "null"]), "type"),
    ({"properties": {"score": SCORE, "a.b": TEXT}}, "a dot in a name"),
    ({"properties": {"score": {"$ref": "#/$defs/s"}}, "$defs": {"s": {**SCORE, "not": {}}}}, "score: .*: not"),
    ({"properties": {"score": {"$ref": "#/$defs/s"}}, "$defs": {"s": {"$ref": "#/$defs/s"}}}, "nested too deep"),
    ({"properties": {"score": {"$ref": "#/$defs/s", "minimum": 2}}, "$defs": {"s": SCORE}}, "score: minimum"),
    ({"properties": {"score": {"$ref": "x.json"}}}, r"x\.json is no definition"),
    ({"properties": {"score": 5}}, "score: this is no schema"),
    ({"properties": {"why": TEXT}}, "no property is a score"),
]


@pytest.mark.parametrize(("schema", "said"), REFUSED)
def test_a_keyword_that_is_not_kept_is_refused_by_name(schema: Schema, said: str) -> None:
    with pytest.raises((ValueError, FormatError), match=said):
        OutputFormat.load(outputs_of_schema(schema))


def test_the_case_of_a_user_is_refused() -> None:
    if not CASE.is_file():
        pytest.skip("the cases are not beside this checkout")
    with pytest.raises(RubricError, match=r"y\.prompty line 4, .*: the schema: if "):
        load_rubric(str(CASE))


def test_a_list_of_constants_with_titles_names_the_levels() -> None:
    levels = [{"const": 1, "title": "Poor"}, {"const": 3, "title": "Good"}, {"const": 2, "title": "Fair"}]
    made = OutputFormat.load(outputs_of_schema({"properties": {"grade": {"oneOf": levels}}}))
    assert made.scores["grade"].levels == {1: "Poor", 2: "Fair", 3: "Good"}


numbers = st.builds(
    lambda kind, low, size, step: {"type": kind, "minimum": low, "maximum": low + size, **step},
    st.sampled_from(["integer", "number"]),
    st.integers(-4, 4),
    st.integers(1, 6),
    st.sampled_from([{}, {"multipleOf": 1}, {"multipleOf": 2}, {"multipleOf": 0.5}, {"multipleOf": 3}]),
)
values = st.sampled_from(
    [
        TEXT, {"type": "boolean"}, {"enum": ["a", "b"]}, {"enum": [1, 2, 4]}, {"enum": [1, 2, None]}, {"const": "a"},
        {"type": "integer", "enum": [3, 1]}, {"enum": [0.5, 1]}, {"$ref": "#/$defs/level"},
        {"oneOf": [{"const": 1, "title": "bad"}, {"const": 2, "title": "good"}]},
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, {"type": ["integer", "null"], "enum": [1, 2, None]},
        {"type": "array", "items": TEXT}, {"type": "array", "items": TEXT, "maxItems": 2},
        {"type": ["integer", "null"], "minimum": 1, "maximum": 3},
    ]
)  # fmt: skip
MORE: list[Schema] = [
    {"not": {"const": 2}}, {"if": {}}, {"minProperties": 1}, {"contains": {"const": 1}}, {"uniqueItems": True},
    {"exclusiveMaximum": 3}, {"prefixItems": [TEXT]}, {"minimum": 2}, {"maxLength": 3}, {"enum": [1]},
    {"anyOf": [{"minimum": 3}]}, {"allOf": [{"minimum": 3}]}, {"foo": 1}, {"multipleOf": 3}, {"minItems": 2},
    {"required": ["a"]}, {"additionalProperties": False}, {"type": "number"}, {"pattern": "^a"}, {"const": 2},
]  # fmt: skip


def nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    properties = st.dictionaries(st.sampled_from(["a", "b", "c d"]), inner, min_size=1, max_size=2)
    objects = properties.map(lambda each: {"type": "object", "properties": each, "required": [*each][:1]})
    return objects | st.builds(lambda each: {"anyOf": [each, NULL]}, inner)


seldom = st.sampled_from([{}] * 60 + MORE)
schemas = st.recursive(
    st.builds(lambda one, more: {**one, **more}, numbers | values, seldom),
    lambda inner: st.builds(lambda one, more: {**one, **more}, nested(inner), seldom),
    max_leaves=3,
)


@pytest.fixture(scope="module")
def bytewise() -> Walker:
    return Walker(llguidance.LLTokenizer("byte"))


@settings(max_examples=200, deadline=None)
@given(field=schemas, more=seldom, seed=st.integers(0, 999))
def test_what_is_not_refused_is_kept_to(bytewise: Walker, field: Schema, more: Schema, seed: int) -> None:
    whole = {"properties": {"score": SCORE, "x": field}, "$defs": {"level": {"enum": [1, 2, 3]}}, **more}
    try:
        form = OutputFormat.load(outputs_of_schema(whole)).reply({}).form
    except (ValueError, FormatError):
        return
    for at in range(3):
        text, _, ended = bytewise.walk(form.grammar(), seed + at, awkward=False, limit=3000)
        if ended:
            Draft202012Validator(whole).validate(json.loads('{"score":' + text.decode("utf-8", "replace")))
