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


def with_more(**more: object) -> Schema:
    return {"type": "object", "properties": {"score": SCORE, "why": TEXT}, **more}


def beside(**field: object) -> Schema:
    return {"properties": {"score": SCORE, "x": field}}


REFUSED: list[tuple[Schema, str]] = [
    (with_more(**{"if": {}, "then": {}}), "the schema: if of a value of type object"),
    (with_more(minProperties=1), "minProperties"),
    (with_more(propertyNames={"pattern": "a"}), "propertyNames"),
    (with_more(dependentRequired={"score": ["why"]}), "dependentRequired"),
    (with_more(dependentSchemas={}), "dependentSchemas"),
    (with_more(patternProperties={"a": {}}), "patternProperties"),
    (with_more(**{"not": {}}), "not"),
    (with_more(oneOf=[{}]), "properties beside oneOf"),
    (with_more(anyOf=[{"required": ["why"]}]), "properties beside anyOf"),
    (with_more(allOf=[{}]), "properties beside allOf"),
    (with_more(required=["gone"]), "required names gone"),
    (with_more(additionalProperties=TEXT), "additionalProperties that are true or false"),
    (beside(type="integer", minimum=1, maximum=9, multipleOf=2), "must be multiples of multipleOf"),
    (beside(type="integer", minimum=1, maximum=9, **{"not": {"const": 5}}), "the schema.x: not"),
    (beside(type="integer", minimum=1, exclusiveMaximum=9, maximum=9), "exclusiveMaximum"),
    (beside(type="integer", minimum=1, maximum=5, multipleOf=0.5), "whole for an integer"),
    (beside(enum=[1, 2, 3], minimum=2), "minimum beside enum"),
    (beside(type="number", minimum=-3, maximum=-1), "multipleOf in a range below 0"),
    (beside(type="string", enum=["a", 1]), "a value of enum or const is not of type string"),
    (beside(type="string", oneOf=[{"const": 1}, {"const": 2}]), "a value of enum or const is not of type string"),
    (beside(type="string", anyOf=[TEXT, {"type": "null"}]), "type beside anyOf"),
    (beside(type="array", prefixItems=[TEXT], items=TEXT), "prefixItems"),
    (beside(type="array", items=TEXT, contains={"const": "a"}), "contains"),
    (beside(type="array", items=TEXT, uniqueItems=True), "uniqueItems"),
    (beside(type="array", items={"type": "array", "items": {"type": "integer", "not": {}}}), r"x\[\]\[\]: not"),
    (beside(type="object", properties={}), "an object needs properties"),
    (beside(type="object", properties={"a": {"type": "object", "minProperties": 1}}), "x.a: minProperties"),
    (beside(anyOf=[{"type": "integer", "exclusiveMinimum": 1}, {"type": "null"}]), "exclusiveMinimum"),
    (beside(type="string", pattern="a+", minLength=3), "must be the only bound of a text"),
    (beside(type="string", minimum=3), "minimum of a value of type string"),
    (beside(type=["integer", "string"]), "is none that a format keeps to"),
    (beside(oneOf=[{"const": 1}, {"type": "string"}]), "oneOf may only list const"),
    (beside(spelling="no < yes", minimum=1, type="integer"), "says otherwise"),
    (beside(spelling="no < yes", enum=["good", "bad"]), "says otherwise"),
    ({"properties": {"score": SCORE, "a.b": TEXT}}, "a dot in a name"),
    ({"properties": {"score": {"$ref": "#/$defs/s"}}, "$defs": {"s": {**SCORE, "not": {}}}}, "s: not"),
]


@pytest.mark.parametrize(("schema", "said"), REFUSED)
def test_a_keyword_that_is_not_kept_is_refused_by_name(schema: Schema, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        outputs_of_schema(schema)


def test_a_field_with_a_schema_of_its_own_is_held_to_the_same_keywords() -> None:
    block = {"fields": {"score": "1-5", "x": {"type": "json", "schema": {"type": "array", "contains": {}}}}}
    with pytest.raises(FormatError, match="contains of a value of type array"):
        OutputFormat.load(block)


def test_the_case_of_a_user_is_refused() -> None:
    if not CASE.is_file():
        pytest.skip("the cases are not beside this checkout")
    with pytest.raises(RubricError, match=r"y\.prompty line 4, .*: the schema: if "):
        load_rubric(str(CASE))


def test_a_list_of_constants_with_titles_names_the_levels() -> None:
    levels = [{"const": 1, "title": "Poor"}, {"const": 3, "title": "Good"}, {"const": 2, "title": "Fair"}]
    made = OutputFormat.load(outputs_of_schema({"properties": {"grade": {"oneOf": levels}}}))
    assert made.scores["grade"].levels == {1: "Poor", 2: "Fair", 3: "Good"}


def test_values_that_look_like_a_schema_stay_as_they_are() -> None:
    kept = beside(enum=[{"type": "number"}, {"type": "array"}])
    made = OutputFormat.load(outputs_of_schema(kept))
    assert '{"enum": [{"type": "number"}, {"type": "array"}]' in made.reply({}).form.grammar()


bounds = st.sampled_from([{}, {"minLength": 3}, {"maxLength": 8}, {"minLength": 2, "maxLength": 6}])
texts = bounds.map(lambda more: {"type": "string", **more}) | st.sampled_from(
    [{"type": "string", "pattern": "^[a-c]{2,4}$"}, {"type": "string", "format": "date"}]
)
numbers = st.builds(
    lambda kind, low, size, step: {"type": kind, "minimum": low, "maximum": low + size, **step},
    st.sampled_from(["integer", "number"]),
    st.integers(-4, 4),
    st.integers(1, 6),
    st.sampled_from([{}, {"multipleOf": 1}, {"multipleOf": 2}, {"multipleOf": 0.5}, {"multipleOf": 3}]),
)
values = st.sampled_from(
    [
        {"enum": ["a", "b"]}, {"enum": [1, 2, 4]}, {"enum": [1, "a", None]}, {"const": "a"}, {"const": 3},
        {"enum": [{"type": "integer"}, [1]]}, {"type": "integer", "enum": [3, 1]}, {"enum": [0.5, 1]},
        {"oneOf": [{"const": 1, "title": "bad"}, {"const": 2, "title": "good"}]}, {"$ref": "#/$defs/level"},
        {"oneOf": [{"const": "a", "title": "A"}, {"const": "b"}]}, {"type": ["integer", "null"], "enum": [1, 2, None]},
    ]
)  # fmt: skip
NOT_KEPT: list[Schema] = [
    {"not": {"const": 2}}, {"if": {}}, {"minProperties": 1}, {"contains": {"const": 1}}, {"uniqueItems": True},
    {"exclusiveMaximum": 3}, {"exclusiveMinimum": 1}, {"prefixItems": [{"type": "string"}]}, {"minimum": 2},
    {"maxLength": 3}, {"enum": [1]}, {"anyOf": [{"minimum": 3}]}, {"allOf": [{"minimum": 3}]}, {"foo": 1},
    {"propertyNames": {"pattern": "b"}}, {"dependentRequired": {"a": ["b"]}}, {"multipleOf": 3}, {"minItems": 2},
    {"required": ["a"]}, {"additionalProperties": False}, {"type": "number"}, {"pattern": "^a"}, {"const": 2},
]  # fmt: skip


def nested(inner: st.SearchStrategy[Schema]) -> st.SearchStrategy[Schema]:
    lists = st.builds(
        lambda items, more: {"type": "array", "items": items, **more},
        inner,
        st.sampled_from([{}, {"minItems": 2}, {"maxItems": 2}, {"minItems": 1, "maxItems": 3}]),
    )
    objects = st.builds(
        lambda properties, needed: {"type": "object", "properties": properties, "required": [*properties][:needed]},
        st.dictionaries(st.sampled_from(["a", "b", "c d"]), inner, min_size=1, max_size=2),
        st.integers(0, 2),
    )
    return lists | objects | st.builds(lambda each: {"anyOf": [each, {"type": "null"}]}, inner)


seldom = st.sampled_from([{}] * 60 + NOT_KEPT)
plain = st.builds(lambda one, more: {**one, **more}, texts | numbers | values | st.just({"type": "boolean"}), seldom)
schemas = st.recursive(
    plain, lambda inner: st.builds(lambda one, more: {**one, **more}, nested(inner), seldom), max_leaves=3
)


@pytest.fixture(scope="module")
def bytewise() -> Walker:
    return Walker(llguidance.LLTokenizer("byte"))


@settings(max_examples=300, deadline=None)
@given(field=schemas, more=seldom, seed=st.integers(0, 999))
def test_what_is_not_refused_is_kept_to(bytewise: Walker, field: Schema, more: Schema, seed: int) -> None:
    whole = {"properties": {"score": SCORE, "x": field}, "$defs": {"level": {"enum": [1, 2, 3]}}, **more}
    try:
        form = OutputFormat.load(outputs_of_schema(whole)).reply({}).form
    except (ValueError, FormatError):
        return
    grammar = form.grammar()
    if llguidance.LLMatcher(bytewise.tokenizer, llguidance.grammar_from("lark", grammar)).get_error():
        return  # `rubrics check` and `judge` refuse it as well
    for at in range(3):
        text, _, ended = bytewise.walk(grammar, seed + at, awkward=False, limit=3000)
        if ended:
            Draft202012Validator(whole).validate(json.loads('{"score":' + text.decode("utf-8", "replace")))
