"""Every compiled format has a declaration that is read back to the same format."""

from collections.abc import Mapping
from typing import Any, get_args

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pathway_local.errors import FormatError
from pathway_local.rubrics.declaration import declaration_of
from pathway_local.rubrics.form import AnyField
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.rubrics.spelling import outputs_in

Drawn = dict[str, Any]
TRICKY = ("no", "or", "yes or no", "a as b", "5", "5 stars", "text", "choice a", "prefer a", "a | b", "x < y", "c > d")
words = st.sampled_from(TRICKY) | st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
texts = words | st.just("")
names = st.sampled_from(["score", "clarity.score", "the verdict", "1st", "a:b", "ünï", "x-y", 'so "called"'])
described = st.just("") | words
sized = {"tokens": st.integers(8, 900)}


def values(field: Drawn) -> list[float]:
    steps = round((field["max"] - field["min"]) / field["step"])
    return [round(field["min"] + at * field["step"], 6) for at in range(steps + 1)]


@st.composite
def scores(draw: st.DrawFn) -> Drawn:
    field: Drawn = {"type": "score", "scale": draw(st.sampled_from(["ordinal", "nominal"]))}
    if draw(st.booleans()):
        low, step = draw(st.integers(-3, 3)), draw(st.sampled_from([1, 2, 0.5, 0.1, 0.00001]))
        field |= {"min": low, "max": round(low + step * draw(st.integers(1, 6)), 6), "step": step}
        known = [*values(field), *draw(st.lists(st.integers(-9, 12), max_size=2))]
        named = draw(st.lists(st.sampled_from(known), unique=True))
    else:
        known = draw(st.lists(st.integers(-4, 6) | st.sampled_from([0.5, 1.5]), min_size=2, max_size=5, unique=True))
        known = draw(st.sampled_from([known, sorted(known), list(range(len(known))), [1, 0, -1], [2, 1, -1, -2]]))
        named = known
    same = draw(st.booleans())
    field["levels"] = {value: draw(texts) for value in named}
    field["special"] = draw(st.lists(st.sampled_from(known), max_size=2, unique=True))
    spelled = draw(st.lists(st.sampled_from(known), unique=True))
    field["written"] = dict(field["levels"]) if same else {value: draw(words) for value in spelled}
    return field | {"description": draw(described)}


choices = st.lists(words, min_size=1, max_size=4, unique=True).map(lambda drawn: {"type": "choice", "choices": drawn})
booleans = st.builds(lambda said: {"type": "boolean", "description": said}, described)
lines = st.fixed_dictionaries({"type": st.just("text")}, optional=sized | {"lines": st.sampled_from(["one", "many"])})
numbers = st.builds(
    lambda low, size, decimals: {"type": "number", "min": low, "max": low + size, "decimals": decimals},
    *(st.integers(-20, 20), st.integers(1, 40), st.integers(0, 6)),
)
listed = st.fixed_dictionaries({"type": st.just("list")}, optional=sized | {"items": st.integers(1, 50)})
echoes = st.builds(lambda name: {"type": "echo", "input": name}, words)
schemas = st.fixed_dictionaries(
    {"type": st.just("json"), "schema": st.dictionaries(words, words | st.integers() | st.lists(words))}, optional=sized
)
members = st.dictionaries(names, lines | choices | booleans | numbers | scores(), min_size=1, max_size=3)
shares = st.fixed_dictionaries(
    {"type": st.just("verdicts"), "score": names, "members": members}, optional={"items": st.integers(1, 50)}
)
KINDS = {
    "score": scores(),
    "choice": choices,
    "boolean": booleans,
    "text": lines,
    "number": numbers,
    "list": listed,
    "echo": echoes,
    "json": schemas,
    "verdicts": shares,
}


def test_every_kind_of_field_is_drawn() -> None:
    union, _ = get_args(AnyField)
    assert {kind.model_fields["type"].default for kind in get_args(union)} == set(KINDS)


@settings(max_examples=150, deadline=None)
@given(
    fields=st.dictionaries(names, st.one_of(*KINDS.values()), min_size=1, max_size=3),
    in_text=st.booleans(),
    free=st.booleans(),
)
def test_a_declaration_is_read_back_to_the_same_format(fields: Mapping[str, Drawn], in_text: bool, free: bool) -> None:
    block: Drawn = {"fields": fields}
    if in_text:
        assume(not any(sign in name for name in fields for sign in ".:"))
        first, *others = [f"{{{name}}}" for name in fields]
        block["layout"] = "\n".join([first, "", *others] if free else [f"<{name}>{{{name}}}" for name in fields])
    try:
        outputs = Outputs.model_validate(block)
    except ValueError:
        assume(False)
        return
    declared = declaration_of(outputs)
    assert "\n" not in declared.fields
    again = Outputs.model_validate(outputs_in(declared.fields, declared.lines))
    assert again == outputs, declared
    assert list(again.fields) == list(fields)


SHORT = {
    "why: text 120; score: 1-5": (),
    "score: 0-1 by 0.1 or N/A": (),
    "preference: prefer A > tie > B": (),
    "claims: [claim: text, verdict: no < yes] up to 15 as share": (),
    "reasons: text; grade: I < P < C": ("GRADE: {grade}",),
    "why: line; score: 1-3 (1 bad, 3 good)": ("<why>{why}</why>", "<score>{score}</score>"),
}


@pytest.mark.parametrize("fields", SHORT)
def test_what_is_short_stays_short(fields: str) -> None:
    outputs = OutputFormat.load(outputs_in(fields, SHORT[fields])).outputs
    assert declaration_of(outputs).fields == fields
    assert declaration_of(outputs).lines == SHORT[fields]


def test_a_score_with_one_level_is_refused() -> None:
    for bad in (
        {"levels": {0: "a", 1: "b"}, "special": [1]},
        {"min": 1, "max": 5, "special": [0, 0], "written": {0: "0"}},
    ):
        with pytest.raises(FormatError, match="two levels or more, and each special value once"):
            OutputFormat.load({"fields": {"score": {"type": "score", **bad}}})
