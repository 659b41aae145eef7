"""Reads a JSON reply of a hosted judge: exactly the rubric's keys and kinds of values, in any spacing and order.

No library repairs the JSON: a repair picks one reading of an ambiguous text, and the score would be a guess.
"""

import json
from collections.abc import Iterator
from typing import Any

from pathway_local.errors import ReplyError
from pathway_local.ratings.loose_reading import LooseReading
from pathway_local.ratings.score_text import BETWEEN, on_scale
from pathway_local.rubrics.any_field import AnyField
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import EchoField, ScoreField, TextField, TextListField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Value


def read_json(text: str, output_format: OutputFormat) -> LooseReading:
    """Return the values of a reply that is the layout's JSON object, in a code fence or without. Raises ReplyError."""
    reading = LooseReading()
    try:
        made = json.loads(reading.unfenced(text), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise ReplyError("it is not JSON") from None
    parts = output_format.parts
    shape = json.loads("".join("0" if isinstance(part, Slot) else part for part in parts))
    found = dict(_leaves(made, shape, ""))
    slots = [part for part in parts if isinstance(part, Slot)]
    if list(found) != [slot.name for slot in slots]:
        reading.mark("order")
    for slot in slots:
        try:
            reading.values[slot.name] = value = _value(slot.field, found[slot.name], reading)
        except ReplyError as error:
            raise ReplyError(f"{slot.name}: {error}") from None
        if isinstance(slot.field, VerdictListField):
            reading.values[slot.score] = slot.field.share(value)
    return reading.checked(slots)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    # Python's parser would keep the last value of a duplicate key, so the reply's first score would vanish.
    if len(made) < len(pairs):
        raise ReplyError("the reply has a key twice")
    return made


def _leaves(made: object, shape: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the value of each field by its name, in the reply's order. Raises ReplyError for other keys than asked."""
    if not isinstance(shape, dict):
        yield name, made
        return
    inside = f" in {name}" if name else ""
    if not isinstance(made, dict):
        raise ReplyError(f"an object is missing{inside}")
    if missing := next((key for key in shape if key not in made), ""):
        raise ReplyError(f"the key {missing} is missing{inside}")
    if len(made) > len(shape):
        raise ReplyError(f"there are further keys than asked for{inside}")
    for key, value in made.items():
        yield from _leaves(value, shape[key], f"{name}.{key}".removeprefix("."))


def _value(field: AnyField, value: Any, reading: LooseReading) -> Value:
    """Return the field's value. Raises ReplyError if it is none of the field's kind."""
    if isinstance(field, ScoreField) and isinstance(value, int | float) and not isinstance(value, bool):
        score = on_scale(value, field)  # JSON has one kind of number: 3.0 is 3
        if score not in field.values:
            reading.mark(BETWEEN)
        if score not in field.written:
            return score
    if isinstance(field, EchoField):
        field = TextField()
    if isinstance(field, TextListField | VerdictListField) and isinstance(value, list) and len(value) > field.items:
        # A service's schema may be unable to limit a list's length.
        reading.mark("list-length")
        field = field.model_copy(update={"items": len(value)})
    written = json.dumps(value, ensure_ascii=False)
    read, end = field.read(written, 0, Ending(""), True)
    if end < len(written):
        raise ReplyError("it is of another kind than asked for")
    return read
