"""The kinds of field that an output format is made of.

One class per kind writes its grammar, counts its tokens, reads its text and writes it, in a text layout and in a JSON
layout (`in_json`): so the grammar and the reader can't drift apart. CONTRIBUTING.md says how to add a kind.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, JsonValue, model_validator

from pathway_local.errors import ReplyError
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.grammar import ESCAPES, literal, read_value, string_budget, string_rules
from pathway_local.rubrics.kind import FieldKind, JsonKind, Listed
from pathway_local.verdict import Number, Value, plain

SLACK = 2
"""Tokens that can straddle a field's two ends: they belong to it and to the literal beside it."""


_BARE = re.compile(r"-?\d+(\.\d+)?|true|false|null")

ScoreValue = Annotated[Number, Field(ge=-1_000_000, le=1_000_000), AfterValidator(plain)]


def ladder(low: Number, high: Number, step: Number) -> list[Number]:
    """Return the numbers from `low` to `high`. Raises ValueError if they are too many, or if `high` is none of them."""
    steps = (high - low) / step
    if not 1 <= round(steps) <= 1000 or abs(steps - round(steps)) > 1e-6:
        raise ValueError("max must lie 1 to 1000 steps above min")
    return [plain(low + at * step) for at in range(round(steps) + 1)]


def digits(values: Sequence[Number], *ends: Number | None) -> list[str]:
    """Return each value with as many decimals as `ends` have: with steps of 0.5, 1 would begin 1.5."""
    places = max(len(str(number).partition(".")[2]) for number in ends)
    return [f"{value:.{places}f}" if places else str(value) for value in values]


class ScoreField(Listed):
    """A number on a scale. `levels` names its values; `special` values have no place on the scale.

    `step` is the distance between neighbouring values from `min` to `max`. `written` maps values to the words that a
    judge writes instead of their digits, such as Pass for 1. A special value may lie beyond `min` and `max` if
    `written` says how it is spelled, such as null.
    """

    type: Literal["score"] = "score"
    scale: Literal["ordinal", "nominal"] = "ordinal"
    min: ScoreValue | None = None
    max: ScoreValue | None = None
    step: Annotated[ScoreValue, Field(gt=0)] = 1
    levels: Mapping[ScoreValue, str] = {}
    special: tuple[ScoreValue, ...] = ()
    written: Mapping[ScoreValue, str] = {}

    @model_validator(mode="after")
    def _whole(self) -> "ScoreField":
        if (self.min is None) != (self.max is None) or (self.min is None and not self.levels):
            raise ValueError("a score needs levels, or min and max")
        if self.min is not None and self.max is not None:
            ladder(self.min, self.max, self.step)
        for name, given in (("levels", self.levels), ("special", self.special), ("written", self.written)):
            strange = sorted(set(given) - set(self.values))
            if strange:
                raise ValueError(f"{name} names {strange[0]}, which is not on the scale")
        if len(set(self.special)) < len(self.special) or len(self.values) < 2 + len(self.special):
            raise ValueError("a score needs two levels or more, and each special value once")
        if self.min is None and self.step != 1:
            raise ValueError("step goes with min and max")
        if len(set(self.texts(False))) != len(self.values):
            raise ValueError("two values are written the same way")
        return self

    @cached_property
    def values(self) -> tuple[Number, ...]:
        """All values in ascending order, special ones included."""
        if self.min is None or self.max is None:
            return tuple(sorted(self.levels))
        beyond = set(self.special) & set(self.written)
        return tuple(sorted({*ladder(self.min, self.max, self.step), *beyond}))

    def between(self, value: Number) -> bool:
        """Return whether a number that is no value lies between the lowest and the highest level.

        People and hosted judges may rate so, such as 3.5 on 1 to 5. Words and categories have nothing between them.
        """
        levels = [level for level in self.values if level not in self.special]
        numbers = self.scale == "ordinal" and len(levels) > 1 and self.written.keys().isdisjoint(levels)
        return numbers and value not in self.values and levels[0] < value < levels[-1]

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return dict(self.values_by_text(in_json))

    def example(self, name: str) -> Value:
        return next((value for value in reversed(self.values) if value not in self.special), self.values[-1])

    def values_by_text(self, in_json: bool) -> dict[str, Number]:
        """Return the text of each value, and the value."""
        shown = zip(self.values, digits(self.values, self.step, self.min), strict=True)
        spelled = {value: self.written.get(value, text) for value, text in shown}
        # Numbers, true, false and null are JSON as they stand; other words need quotes.
        return {
            text if not in_json or _BARE.fullmatch(text) else literal(text): value for value, text in spelled.items()
        }

    def as_schema(self) -> dict[str, JsonValue]:
        kind = "integer" if all(isinstance(value, int) for value in self.values) else "number"
        return {"type": kind, "enum": list(self.values)}


class ChoiceField(Listed):
    """One of a few texts, which is not a score. A single choice is a constant."""

    type: Literal["choice"] = "choice"
    choices: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=1)

    @model_validator(mode="after")
    def _distinct(self) -> "ChoiceField":
        if len(set(self.choices)) != len(self.choices):
            raise ValueError("two choices are the same")
        return self

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return {literal(choice) if in_json else choice: choice for choice in self.choices}

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string", "enum": list(self.choices)}


class BooleanField(Listed):
    """True or false, in lower case as in JSON."""

    type: Literal["boolean"] = "boolean"

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return {"true": True, "false": False}

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "boolean"}


class NumberField(Listed):
    """A number from `min` to `max` that is no score, in steps of `step`."""

    type: Literal["number"] = "number"
    min: ScoreValue = 0
    max: ScoreValue = 100
    step: Annotated[ScoreValue, Field(gt=0)] = 1

    @model_validator(mode="after")
    def _bounded(self) -> "NumberField":
        ladder(self.min, self.max, self.step)
        return self

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        values = ladder(self.min, self.max, self.step)
        return dict(zip(digits(values, self.min, self.step), values, strict=True))

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "number", "minimum": self.min, "maximum": self.max}


class TextField(FieldKind):
    """Free text. A budget of `tokens` closes it, so that the rest of the format always comes.

    In a text layout it ends where `Ending` says. In JSON the budget holds for the text up to its
    first escape; each piece behind an escape has half of it, and there are at most `ESCAPES` escapes.
    """

    type: Literal["text"] = "text"
    tokens: int = Field(default=300, ge=8, le=8000)
    lines: Literal["many", "one"] = "many"

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        if in_json:
            return string_rules(name, self.tokens)
        if not after.pattern:
            # Nothing follows: the judge's end token ends the text, or the budget does.
            body = "(?s:.+)" if self.lines == "many" else "[^\\n]+"
            return f"{name}[max_tokens={self.tokens}]: /{body}/\n"
        # llguidance takes a budget on a terminal or on a nested grammar, and not on a rule.
        segments = after.segments(one_line=self.lines == "one")
        return f"{name}[max_tokens={self.tokens}]: %lark {{\n{segments}}}\n"

    def budget(self, in_json: bool) -> int:
        return (string_budget(self.tokens) if in_json else self.tokens) + SLACK

    def reserve(self, in_json: bool) -> int:
        # The budget with all escapes is eleven times `tokens`; no judge writes that, and it would fill the context.
        return self.tokens + SLACK + (ESCAPES if in_json else 0)

    def shortest_cut(self, in_json: bool) -> int | None:
        return self.tokens // 2 if in_json else self.tokens

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        if in_json:
            return read_value(text, at, str, "text in quotes")
        end = after.find(text, at)
        if end < 0:
            raise ReplyError("nothing ends the text")
        return text[at:end], end

    def write(self, value: Value, in_json: bool) -> str:
        return literal(str(value)) if in_json else str(value)

    def example(self, name: str) -> Value:
        return f"({name})"

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string"}


class TextListField(JsonKind):
    """A JSON list of up to `items` texts of `tokens` each."""

    type: Literal["list"] = "list"
    items: int = Field(default=5, ge=1, le=50)
    tokens: int = Field(default=40, ge=4, le=1000)

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        item = f"{name}_item"
        more = f' (", " {item}){{0,{self.items - 1}}}' if self.items > 1 else ""
        return f'{name}: "[" ({item}{more})? "]"\n' + string_rules(item, self.tokens)

    def budget(self, in_json: bool) -> int:
        # Two brackets; two quotes, a comma and a blank for each text.
        return 2 + self.items * (string_budget(self.tokens) + 4)

    def reserve(self, in_json: bool) -> int:
        return 2 + self.items * (self.tokens + 4)

    def shortest_cut(self, in_json: bool) -> int | None:
        return self.tokens // 2

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        value, end = read_value(text, at, list, "a list")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or len(value) > self.items:
            raise ReplyError(f"expected a list of at most {self.items} texts")
        return value, end

    def example(self, name: str) -> Value:
        return [f"({name})"]

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "array", "items": {"type": "string"}, "maxItems": self.items}


class EchoField(FieldKind):
    """An input that the reply repeats unchanged. It is filled in and never generated, so it has no grammar."""

    type: Literal["echo"] = "echo"
    input: str

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string"}
