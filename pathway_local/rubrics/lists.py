"""Fields that hold a JSON list: of texts, or of verdicts, such as one for each claim, which make a score together."""

import json
import re
from typing import Annotated, ClassVar, Literal

from pydantic import Field, JsonValue, model_validator

from pathway_local.errors import ReplyError
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import BooleanField, ChoiceField, FieldKind, Listed, ScoreField, TextField
from pathway_local.rubrics.grammar import STRING, literal, read_value, string_budget, string_rules
from pathway_local.verdict import Number, Value, plain

Member = Annotated[TextField | ScoreField | ChoiceField | BooleanField, Field(discriminator="type")]


class JsonKind(FieldKind):
    """A field that only a JSON layout can hold."""

    type: str

    def write(self, value: Value, in_json: bool) -> str:
        return json.dumps(value, ensure_ascii=False)


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


class VerdictListField(JsonKind):
    """A JSON list of up to `items` objects with these `members`: parts of the case, each with a verdict.

    The verdicts make the score called `score`: their mean, with 0 for the lowest level and 1 for the highest. So with
    two levels it is the share of the higher one. Special verdicts are left out; without any other, the score is `NONE`.
    """

    NONE: ClassVar[int] = -1

    type: Literal["verdicts"] = "verdicts"
    score: str = Field(min_length=1)
    items: int = Field(default=10, ge=1, le=50)
    members: dict[str, Member] = Field(min_length=1)

    @model_validator(mode="after")
    def _has_a_verdict(self) -> "VerdictListField":
        scores = [member for member in self.members.values() if isinstance(member, ScoreField)]
        if len(scores) != 1 or scores[0].scale != "ordinal" or len(scores[0].values) < 2 + len(scores[0].special):
            raise ValueError("just one member must be a score, with two levels or more in order: the verdict")
        return self

    @property
    def scale(self) -> ScoreField:
        """The score that the verdicts make; a share between its two levels lies between them."""
        levels: dict[Number, str] = {self.NONE: "no verdicts", 0: "none of them", 1: "all of them"}
        return ScoreField(min=0, max=1, special=(self.NONE,), levels=levels, written={self.NONE: "none"})

    @property
    def tokens(self) -> int:
        """The tokens that the texts of one object may take."""
        return sum(member.tokens for member in self.members.values() if isinstance(member, TextField))

    def rules(self, name: str, after: Ending, in_json: bool) -> str:
        item, members = f"{name}_item", list(self.members.items())
        parts = [f"{literal(self._key(at, key))} {item}{at}" for at, (key, _) in enumerate(members)]
        more = f' (", " {item}){{0,{self.items - 1}}}' if self.items > 1 else ""
        inner = "".join(member.rules(f"{item}{at}", after, in_json) for at, (_, member) in enumerate(members))
        return f'{name}: "[" ({item}{more})? "]"\n{item}: {" ".join(parts)} "}}"\n{inner}'

    def _key(self, at: int, key: str) -> str:
        return f"{', ' if at else '{'}{literal(key)}: "

    def _taken(self, inner: int) -> int:
        """Return the tokens of the whole list if the members of an object take `inner`."""
        keys = sum(len(self._key(at, key).encode()) for at, key in enumerate(self.members))
        return 2 + self.items * (keys + inner + 3)

    def budget(self, in_json: bool) -> int:
        return self._taken(sum(member.budget(in_json) for member in self.members.values()))

    def reserve(self, in_json: bool) -> int:
        return self._taken(sum(member.reserve(in_json) for member in self.members.values()))

    def shortest_cut(self, in_json: bool) -> int | None:
        cuts = [cut for member in self.members.values() if (cut := member.shortest_cut(in_json)) is not None]
        return min(cuts, default=None)

    def is_full(self, value: Value) -> bool:
        return isinstance(value, list) and len(value) == self.items

    def ends_of_texts(self, text: str) -> list[int]:
        named = "|".join(re.escape(literal(key)) for key, each in self.members.items() if isinstance(each, TextField))
        return [found.end() - 1 for found in re.finditer(rf"(?:{named}): {STRING.pattern}", text)] if named else []

    def read(self, text: str, at: int, after: Ending, in_json: bool) -> tuple[Value, int]:
        value, end = read_value(text, at, list, "a list of verdicts")
        if isinstance(value, list) and len(value) > self.items:
            raise ReplyError(f"expected a list of at most {self.items} verdicts")
        return self.checked(value), end

    def checked(self, value: Value) -> Value:
        """Return the list, of any length, if each object has all members with values of theirs. Raises ReplyError."""
        if not isinstance(value, list):
            raise ReplyError("expected a list of verdicts")
        for item in value:
            if not isinstance(item, dict) or list(item) != list(self.members):
                raise ReplyError(f"expected objects with {', '.join(self.members)}")
            for key, member in self.members.items():
                if not _takes(member, item[key]):
                    raise ReplyError(f"{key} is none of its values")
        return value

    def share(self, value: Value) -> Number:
        """Return the score of a checked list."""
        [(key, verdict)] = [(key, each) for key, each in self.members.items() if isinstance(each, ScoreField)]
        levels = [level for level in verdict.values if level not in verdict.special]
        numbers = {json.dumps(json.loads(text)): number for text, number in verdict.values_by_text(True).items()}
        items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
        given = [number for item in items if (number := numbers[json.dumps(item[key])]) in levels]
        if not given:
            return self.NONE
        return plain((sum(map(float, given)) / len(given) - levels[0]) / (levels[-1] - levels[0]))

    def example(self, name: str) -> Value:
        return [{key: json.loads(each.write(each.example(key), True)) for key, each in self.members.items()}]

    def as_schema(self) -> dict[str, JsonValue]:
        properties: dict[str, JsonValue] = {
            key: member.as_schema() if isinstance(member, TextField) else {"enum": [*_spelled(member)]}
            for key, member in self.members.items()
        }
        items: dict[str, JsonValue] = {"type": "object", "properties": properties, "required": list(properties)}
        return {"type": "array", "items": {**items, "additionalProperties": False}, "maxItems": self.items}


def _takes(member: Member, value: Value) -> bool:
    if isinstance(member, TextField):
        return isinstance(value, str)
    return any(value == each and isinstance(value, bool) == isinstance(each, bool) for each in _spelled(member))


def _spelled(member: Listed) -> list[JsonValue]:
    """Return each value that a member may have, as JSON says it."""
    return [json.loads(text) for text in member.texts(True)]
