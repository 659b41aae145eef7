"""The kinds of field that an output format is made of.

Each kind knows how it is written as a grammar, how long it can get, how it is read back and how it is
written, in plain text and inside JSON (`in_json`). One class holds all of it so that the four can't drift.
"""

import json
import math
import re
from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from pathway_local.errors import FormatError, ReplyError
from pathway_local.rubrics.json_bounds import bounded
from pathway_local.rubrics.lark import alternatives, character_class, literal, terminal
from pathway_local.verdict import Value, is_nested_deep

ESCAPES = 20
"""How many escapes (quotes, line breaks) a JSON text may hold: each opens a new piece with a budget."""

SLACK = 2
"""Tokens that can straddle a field's two ends."""


class _Field(BaseModel):
    """What all kinds share; `description` goes into the JSON Schema."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    description: str = ""

    def rules(self, name: str, after: str, in_json: bool) -> str:
        """Lark rules, the first called `name`, for this field followed by the literal `after`."""
        raise NotImplementedError

    def budget(self, in_json: bool) -> int:
        """The most tokens that the field can take under its rules."""
        raise NotImplementedError

    def reserve(self, in_json: bool) -> int:
        """The tokens to keep free for the field: less than `budget` only for texts full of escapes."""
        return self.budget(in_json)

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        """The value that stands at `text[at:]`, and where it ends. Raises ReplyError."""
        raise NotImplementedError

    def write(self, value: Value, in_json: bool) -> str:
        """`value` as a judge would write it."""
        raise NotImplementedError

    def as_schema(self) -> dict[str, JsonValue]:
        """JSON Schema of the value."""
        raise NotImplementedError


class _Listed(_Field):
    """A field that takes one of a few fixed texts."""

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        """What may be written, and the value that each text stands for."""
        raise NotImplementedError

    def rules(self, name: str, after: str, in_json: bool) -> str:
        return f"{name}: {name.upper()}\n{name.upper()}: {terminal(list(self.texts(in_json)))}\n"

    def budget(self, in_json: bool) -> int:
        return max(len(text.encode()) for text in self.texts(in_json))

    @cached_property
    def _readers(self) -> dict[bool, tuple[Mapping[str, Value], re.Pattern[str]]]:
        known = {in_json: self.texts(in_json) for in_json in (False, True)}
        return {in_json: (texts, re.compile(alternatives(list(texts)))) for in_json, texts in known.items()}

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        texts, pattern = self._readers[in_json]
        found = pattern.match(text, at)
        if not found:
            raise ReplyError(f"there is none of {', '.join(list(texts)[:12])} where one belongs")
        return texts[found.group()], found.end()

    def write(self, value: Value, in_json: bool) -> str:
        for text, meaning in self.texts(in_json).items():
            if meaning == value and type(meaning) is type(value):
                return text
        raise ReplyError(f"{value!r} is not one of the values of this field")


class ScoreField(_Listed):
    """A whole number on a scale. `levels` names its values; `special` ones have no place on the scale.

    `written` tells how a value stands in the text where that is not its digits, such as Pass for 1.
    """

    type: Literal["score"] = "score"
    scale: Literal["ordinal", "nominal"] = "ordinal"
    min: int | None = None
    max: int | None = None
    levels: Mapping[int, str] = {}
    special: tuple[int, ...] = ()
    written: Mapping[int, str] = {}

    @model_validator(mode="after")
    def _whole(self) -> "ScoreField":
        if (self.min is None) != (self.max is None) or (self.min is None and not self.levels):
            raise ValueError("a score needs levels, or min and max")
        if self.min is not None and self.max is not None and not 1 <= self.max - self.min <= 1000:
            raise ValueError("max must lie 1 to 1000 above min")
        if len(self.values) < 2:
            raise ValueError("a score needs two levels or more")
        for name, given in (("levels", self.levels), ("special", self.special), ("written", self.written)):
            strange = sorted(set(given) - set(self.values))
            if strange:
                raise ValueError(f"{name} names {strange[0]}, which is not on the scale")
        if len(set(self.texts(False))) != len(self.values):
            raise ValueError("two values are written alike")
        return self

    @property
    def values(self) -> tuple[int, ...]:
        """All values, smallest first, special ones among them."""
        if self.min is not None and self.max is not None:
            return tuple(range(self.min, self.max + 1))
        return tuple(sorted(self.levels))

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return dict(self.values_by_text(in_json))

    def values_by_text(self, in_json: bool) -> dict[str, int]:
        """How each value is written → the value."""
        bare = not self.written or set(self.written.values()) == {"true", "false"}
        mark = '"' if in_json and not bare else ""
        return {f"{mark}{self.written.get(value, str(value))}{mark}": value for value in self.values}

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "integer", "enum": list(self.values)}


class ChoiceField(_Listed):
    """One of a few texts that is no score."""

    type: Literal["choice"] = "choice"
    choices: tuple[Annotated[str, Field(min_length=1)], ...] = Field(min_length=2)

    @model_validator(mode="after")
    def _distinct(self) -> "ChoiceField":
        if len(set(self.choices)) != len(self.choices):
            raise ValueError("two choices are alike")
        return self

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return {literal(choice) if in_json else choice: choice for choice in self.choices}

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string", "enum": list(self.choices)}


class BooleanField(_Listed):
    """True or false, in lower case as JSON writes them."""

    type: Literal["boolean"] = "boolean"

    def texts(self, in_json: bool) -> Mapping[str, Value]:
        return {"true": True, "false": False}

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "boolean"}


class NumberField(_Field):
    """A number from `min` to `max` with at most `decimals` digits behind the point."""

    type: Literal["number"] = "number"
    min: int = 0
    max: int = 100
    decimals: int = Field(default=0, ge=0, le=6)

    @model_validator(mode="after")
    def _bounded(self) -> "NumberField":
        if not 1 <= self.max - self.min <= 10_000:
            raise ValueError("max must lie 1 to 10000 above min")
        return self

    def _pattern(self) -> str:
        """A regex for exactly the numbers in range: the range is small enough to be listed."""
        parts = []
        if self.max >= 0:
            parts.append(self._magnitudes("", max(self.min, 0), self.max))
        if self.min < 0:
            parts.append(self._magnitudes("-", max(-self.max, 0), -self.min))
        return "|".join(parts)

    def _magnitudes(self, sign: str, low: int, high: int) -> str:
        fraction = f"(\\.[0-9]{{1,{self.decimals}}})?" if self.decimals else ""
        zeros = f"(\\.0{{1,{self.decimals}}})?" if self.decimals else ""
        inner = [f"({'|'.join(map(str, range(high - 1, low - 1, -1)))}){fraction}"] if high > low else []
        return "|".join(f"{sign}{part}" for part in [f"{high}{zeros}", *inner])

    def rules(self, name: str, after: str, in_json: bool) -> str:
        return f"{name}: {name.upper()}\n{name.upper()}: /{self._pattern()}/\n"

    def budget(self, in_json: bool) -> int:
        return max(len(str(self.min)), len(str(self.max))) + self.decimals + 2

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        # Digits are taken greedily, as the grammar's lexer does, and only then held against the range.
        found = re.compile(r"-?[0-9]+(\.[0-9]+)?").match(text, at)
        if not found or not re.fullmatch(self._pattern(), found.group()):
            raise ReplyError(f"there is no number from {self.min} to {self.max} where one belongs")
        return (float if self.decimals else int)(found.group()), found.end()

    def write(self, value: Value, in_json: bool) -> str:
        if isinstance(value, bool) or not isinstance(value, int | float) or not self.min <= value <= self.max:
            raise ReplyError(f"{value!r} is no number from {self.min} to {self.max}")
        return f"{value:.{self.decimals}f}"

    def as_schema(self) -> dict[str, JsonValue]:
        kind = "number" if self.decimals else "integer"
        return {"type": kind, "minimum": self.min, "maximum": self.max}


class TextField(_Field):
    """Free text that a budget of `tokens` closes, so that the rest of the format always comes.

    In plain text it ends at the first place where the literal behind it stands. Inside JSON the budget holds
    for the text up to its first escape, and half of it between one escape and the next, `ESCAPES` at most.
    """

    type: Literal["text"] = "text"
    tokens: int = Field(default=300, ge=8, le=8000)
    lines: Literal["many", "one"] = "many"

    def rules(self, name: str, after: str, in_json: bool) -> str:
        if in_json:
            return _string_rules(name, self.tokens)
        if not after:
            body = "(?s:.+)" if self.lines == "many" else "[^\\n]+"
            return f"{name}[max_tokens={self.tokens}]: /{body}/\n"
        return f"{name}[max_tokens={self.tokens}]: %lark {{\n{self._segments(after)}}}\n"

    def _segments(self, after: str) -> str:
        """Text that can't hold `after`, yet can end where the model wants.

        The lexer is greedy and never goes back, so every proper prefix of `after` is a separator of its own,
        and the segment behind it leaves out the character that would go on with `after`.
        """
        # A prefix that, cut off and followed by the whole literal, makes it stand earlier is no separator.
        ends = [i for i in range(1, len(after)) if (after[:i] + after).find(after) == i]
        barred = after[0] + ("\n" if self.lines == "one" else "")
        pairs = "".join(f" | {literal(after[:i])} S{i}" for i in ends)
        terminals = "".join(
            f"S{i}: /[^{character_class(barred + after[i])}][^{character_class(barred)}]*/\n" for i in ends
        )
        loop = f" ({pairs[3:]})*" if pairs else ""
        return f"start: S0{loop}\nS0: /[^{character_class(barred)}]+/\n{terminals}"

    def budget(self, in_json: bool) -> int:
        return (_string_budget(self.tokens) if in_json else self.tokens) + SLACK

    def reserve(self, in_json: bool) -> int:
        return self.tokens + SLACK + (ESCAPES if in_json else 0)

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        if in_json:
            return _read_json(text, at, str, "text in quotes")
        end = text.find(after, at) if after else len(text)
        if end < 0:
            raise ReplyError(f"{after.strip()!r} is missing")
        return text[at:end], end

    def write(self, value: Value, in_json: bool) -> str:
        return literal(str(value)) if in_json else str(value)

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string"}


class TextListField(_Field):
    """A JSON list of up to `items` texts of `tokens` each."""

    type: Literal["list"] = "list"
    items: int = Field(default=5, ge=1, le=50)
    tokens: int = Field(default=40, ge=4, le=1000)

    def rules(self, name: str, after: str, in_json: bool) -> str:
        _json_only(self.type, in_json)
        item = f"{name}_item"
        more = f' (", " {item}){{0,{self.items - 1}}}' if self.items > 1 else ""
        return f'{name}: "[" ({item}{more})? "]"\n' + _string_rules(item, self.tokens)

    def budget(self, in_json: bool) -> int:
        return 2 + self.items * (_string_budget(self.tokens) + 4)

    def reserve(self, in_json: bool) -> int:
        return 2 + self.items * (self.tokens + 4)

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        _json_only(self.type, in_json)
        value, end = _read_json(text, at, list, "a list")
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value) or len(value) > self.items:
            raise ReplyError(f"there is no list of at most {self.items} texts where one belongs")
        return value, end

    def write(self, value: Value, in_json: bool) -> str:
        _json_only(self.type, in_json)
        return json.dumps(value, ensure_ascii=False)

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "array", "items": {"type": "string"}, "maxItems": self.items}


class EchoField(_Field):
    """An input that the judge's output gives back unchanged; it is filled in, never generated."""

    type: Literal["echo"] = "echo"
    input: str

    def as_schema(self) -> dict[str, JsonValue]:
        return {"type": "string"}


class JsonField(_Field):
    """Any JSON value that `schema` allows; what has no bound there gets one, or it might never end."""

    type: Literal["json"] = "json"
    json_schema: Mapping[str, JsonValue] = Field(alias="schema")
    tokens: int = Field(default=600, ge=8, le=8000)

    def rules(self, name: str, after: str, in_json: bool) -> str:
        _json_only(self.type, in_json)
        spaced = {"whitespace_flexible": False, "item_separator": ", ", "key_separator": ": "}
        return f"{name}: %json {json.dumps({**bounded(self.json_schema), 'x-guidance': spaced})}\n"

    def budget(self, in_json: bool) -> int:
        return self.tokens

    def read(self, text: str, at: int, after: str, in_json: bool) -> tuple[Value, int]:
        _json_only(self.type, in_json)
        return _read_json(text, at, object, "a JSON value")

    def write(self, value: Value, in_json: bool) -> str:
        _json_only(self.type, in_json)
        return json.dumps(value, ensure_ascii=False)

    def as_schema(self) -> dict[str, JsonValue]:
        return dict(self.json_schema)


AnyField = Annotated[
    TextField | ScoreField | EchoField | ChoiceField | BooleanField | NumberField | TextListField | JsonField,
    Field(discriminator="type"),
]


def _json_only(kind: str, in_json: bool) -> None:
    if not in_json:
        raise FormatError(f"a field of type {kind} needs a JSON layout", "Use layout: json, or another type.")


def _string_rules(name: str, tokens: int) -> str:
    """A JSON string. An escape is a terminal of its own: inside a text with a budget it could be cut in half."""
    return (
        f'{name}: "\\"" {name}_first ({name.upper()}_ESC {name}_next){{0,{ESCAPES}}} "\\""\n'
        f"{name}_first[max_tokens={tokens}]: /{_PLAIN}*/\n"
        f"{name}_next[max_tokens={max(8, tokens // 2)}]: /{_PLAIN}*/\n"
        f"{name.upper()}_ESC: /{_ESCAPE}/\n"
    )


def _string_budget(tokens: int) -> int:
    return tokens + ESCAPES * (max(8, tokens // 2) + 6) + 2


_PLAIN = r'[^"\\\x00-\x1f]'
# Halves of a surrogate pair are left out: alone they are no text that can be stored.
_ESCAPE = r'\\(["\\\/bfnrt]|u([0-9a-cA-CefEF][0-9a-fA-F]{3}|[dD][0-7][0-9a-fA-F]{2}))'


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("a number that is not finite can't be stored")
    return number


_JSON = json.JSONDecoder(parse_float=_finite, parse_constant=_finite)


def _read_json(text: str, at: int, kind: type, called: str) -> tuple[Value, int]:
    try:
        found: tuple[Value, int] = _JSON.raw_decode(text, at)
        value, end = found
    except (ValueError, RecursionError):
        value, end = None, -1
    if end < 0 or not isinstance(value, kind) or is_nested_deep(value):
        raise ReplyError(f"there is not {called} where one belongs")
    return value, end
