"""The kinds of field that an output format is made of.

One class per kind writes its grammar, counts its tokens, reads its text and writes it, in a text layout and in a JSON
layout (`in_json`): so the grammar and the reader can't drift apart. CONTRIBUTING.md says how to add a kind.
"""

import re
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, JsonValue, model_validator

from pathway_local.errors import ReplyError
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.grammar import (
    ESCAPES,
    STRING,
    alternatives,
    literal,
    read_value,
    string_budget,
    string_rules,
    terminal,
)
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


class FieldKind(BaseModel):
    """A kind of field. `description` goes into the JSON Schema.

    A kind implements all of this but `reserve`, `shortest_cut`, `is_full` and `ends_of_texts`, which fit most.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = ""

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        """Lark rules, the first called `name`, for this field which `after` ends."""
        raise NotImplementedError

    def budget(self, in_json: bool) -> int:
        """Return the most tokens that the field can take under its rules."""
        raise NotImplementedError

    def reserve(self, in_json: bool) -> int:
        """Return the tokens to keep free for the field. Only a text full of JSON escapes takes more, up to `budget`."""
        return self.budget(in_json)

    def shortest_cut(self, in_json: bool) -> int | None:
        """Return the fewest tokens after which a budget can cut a text of this field; None if no budget can."""
        return None

    def is_full(self, value: Value) -> bool:
        """Return whether the value has as many parts as the field can hold, so that further ones may be missing."""
        return False

    def ends_of_texts(self, text: str) -> list[int]:
        """Return where the texts that a budget can cut end in `text`, which is this field's JSON."""
        return [found.end() - 1 for found in STRING.finditer(text)]

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        """Return the value at `text[at:]`, and where it ends. Raises ReplyError."""
        raise NotImplementedError

    def write(self, value: Value, in_json: bool) -> str:
        """Return the value as a judge would write it."""
        raise NotImplementedError

    def example(self, name: str) -> Value:
        """Return a value that shows people what the field called `name` takes."""
        raise NotImplementedError

    def as_schema(self) -> dict[str, JsonValue]:
        """Return the JSON Schema of the value."""
        raise NotImplementedError


class Listed(FieldKind):
    """A field that takes one of a few fixed texts."""

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        """Return each text that a judge may write, and the value that it stands for."""
        raise NotImplementedError

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        return f"{name}: {name.upper()}\n{name.upper()}: {terminal(list(self.texts(in_json)))}\n"

    def budget(self, in_json: bool) -> int:
        # A grammar holds bytes, not tokens: at worst the judge spells the text a byte at a time.
        return max(len(text.encode()) for text in self.texts(in_json))

    @cached_property
    def _readers(self) -> dict[bool, tuple[Mapping[str, Value], re.Pattern[str]]]:
        by_layout = {in_json: self.texts(in_json) for in_json in (False, True)}
        return {in_json: (texts, re.compile(alternatives(list(texts)))) for in_json, texts in by_layout.items()}

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        texts, pattern = self._readers[in_json]
        found = pattern.match(text, at)
        if not found:
            raise ReplyError(f"expected one of {', '.join(list(texts)[:12])}")
        return texts[found.group()], found.end()

    def example(self, name: str) -> Value:
        return list(self.texts(False).values())[-1]

    def write(self, value: Value, in_json: bool) -> str:
        for text, meaning in self.texts(in_json).items():
            if meaning == value and type(meaning) is type(value):
                return text
        raise ReplyError(f"{value!r} is not one of the values of this field")


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


class EchoField(FieldKind):
    """An input that the reply repeats unchanged. It is filled in and never generated, so it has no grammar."""

    type: Literal["echo"] = "echo"
    input: str

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string"}
