"""What every kind of field in an output format implements, and what kinds with a few fixed texts share."""

import json
import re
from collections.abc import Mapping
from functools import cached_property

from pydantic import BaseModel, ConfigDict, JsonValue

from pathway_local.errors import ReplyError
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.grammar import STRING, alternatives, terminal
from pathway_local.verdict import Value


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


class JsonKind(FieldKind):
    """A field that only a JSON layout can hold."""

    type: str

    def write(self, value: Value, in_json: bool) -> str:
        return json.dumps(value, ensure_ascii=False)
