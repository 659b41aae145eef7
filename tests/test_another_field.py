"""Another kind of field is one class: its own methods carry it."""

from typing import Literal, get_args

import pytest
from jsonschema import Draft202012Validator
from pydantic import JsonValue
from walks import Walker

from pathway_local.errors import ReplyError
from pathway_local.ratings.hosted_requests import strict_schema
from pathway_local.rubrics.criteria import skeleton
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import EchoField, FieldKind, ScoreField, TextField
from pathway_local.rubrics.form import AnyField
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.verdict import Value

KINDS: tuple[type[FieldKind], ...] = get_args(get_args(AnyField)[0])
LAYOUTS = ["json", "Date: {date}\n\n{why}\nScore: {score}"]


class DateField(FieldKind):
    """A day, written as 2026-01-31: no kind that the package has."""

    type: Literal["date"] = "date"

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        mark = '\\"' if in_json else ""
        return f"{name}: {name.upper()}\n{name.upper()}: /{mark}20[0-9]{{2}}-(0[1-9]|1[0-2])-[0-2][0-9]{mark}/\n"

    def budget(self, in_json: bool) -> int:
        return 12

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        end = at + 10 + 2 * in_json
        if text[at:end].count("-") != 2:
            raise ReplyError("expected a date")
        return text[at:end].strip('"'), end

    def write(self, value: Value, in_json: bool) -> str:
        return f'"{value}"' if in_json else str(value)

    def example(self, name: str) -> Value:
        return "2026-01-31"

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string", "format": "date"}


def format_with_a_date(layout: str) -> OutputFormat:
    # Without validation: a kind of the package would stand in AnyField as well.
    declared = {"date": DateField(), "why": TextField(tokens=20), "score": ScoreField(min=1, max=5)}
    return OutputFormat(Outputs.model_construct(layout=layout, fields=declared))


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(8))
def test_a_further_kind_is_generated_and_read(walker: Walker, layout: str, seed: int) -> None:
    reply = format_with_a_date(layout).reply({})
    text, ids, ended = walker.walk(reply.form.grammar(), seed, awkward=bool(seed % 2), limit=reply.form.limit)
    assert ended
    values = reply.form.read(text.decode("utf-8", "surrogateescape")).values
    assert str(values["date"]).startswith("20")
    assert walker.accepts(reply.form.grammar(), ids)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_further_kind_is_written_and_shown(layout: str) -> None:
    output_format = format_with_a_date(layout)
    values: dict[str, Value] = {"date": "2026-01-31", "why": "so", "score": 3}
    assert output_format.reply({}).form.read(output_format.reply({}).form.write(values)).values == values
    assert list(output_format.fields) == ["date", "why"]
    assert "2026-01-31" in skeleton(output_format.outputs)
    for schema in (output_format.schema(), strict_schema(output_format, {})):
        assert schema["properties"]["date"]["format"] == "date"  # type: ignore[index,call-overload]
        Draft202012Validator(schema).validate(values)


def test_a_kind_lacks_no_method() -> None:
    assert set(KINDS) > {TextField, ScoreField}
    for kind in set(KINDS) - {EchoField}:
        for name in ("rules", "budget", "read", "write", "as_schema"):
            assert getattr(kind, name) is not getattr(FieldKind, name), f"{kind.__name__}.{name}"
