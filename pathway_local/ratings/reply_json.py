"""Reads a JSON reply that breaks its rubric's layout, where its meaning is beyond doubt.

No library repairs the JSON: a repair picks one reading of an ambiguous text, and the score would be a guess.
"""

import json
import re
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, assert_never

from pathway_local.errors import ReplyError
from pathway_local.ratings.loose_reading import LooseReading
from pathway_local.ratings.score_text import BETWEEN, NUMBER, on_scale, read_score
from pathway_local.rubrics.any_field import AnyField
from pathway_local.rubrics.fields import (
    BooleanField,
    ChoiceField,
    EchoField,
    JsonField,
    NumberField,
    ScoreField,
    TextField,
    TextListField,
)
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.sheets.columns import folded
from pathway_local.verdict import Value, is_nested_deep

TRIES = 100
"""Opening braces to try: a failed try may read the rest of the reply, so 20,000 braces would take seconds."""

_ABSENT = object()


def read_json(text: str, output_format: OutputFormat, *, unfinished: bool = False) -> LooseReading:
    """Return the values of a reply that holds the layout's JSON object somewhere, in some form.

    Raises ReplyError if objects contradict each other, a key has two different values, or no score can be read.
    `unfinished` says that the reply was cut off.
    """
    reading = LooseReading()
    body = reading.unfenced(text)
    slots = [part for part in output_format.parts if isinstance(part, Slot)]
    found = [item for item in _objects(body, reading) if _has_field(item[0], slots)]
    if not found:
        _salvage(body, slots, reading, unfinished)
    else:
        first, start, end = found[0]
        _refuse_contradiction(first, [other for other, _, _ in found[1:]], slots)
        reading.keep_outside(body[:start], body[end:])
        _fill(first, slots, reading)
    return reading.checked(slots)


def _objects(text: str, reading: LooseReading) -> Iterator[tuple[dict[str, Any], int, int]]:
    """Yield each JSON object in the text, with its start and end."""
    at, tries = text.find("{"), 0
    while at >= 0 and tries < TRIES:
        tries += 1
        end = at + 1
        for strict in (True, False):  # not strict: a line break inside a string is allowed
            try:
                value, end = json.JSONDecoder(strict=strict, object_pairs_hook=_unique).raw_decode(text, at)
            except (ValueError, RecursionError):
                continue
            if not strict:
                reading.mark("control-character")
            yield value, at, end
            break
        at = text.find("{", end)


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    # Python's parser would keep the last value of a duplicate key, so the reply's first score would vanish.
    if any(made[key] is not value and made[key] != value for key, value in pairs):
        raise ReplyError("the reply has a key twice, with different values")
    return made


def _has_field(made: Mapping[str, Any], slots: list[Slot]) -> bool:
    return any(_look_up(made, slot.name)[0] is not _ABSENT for slot in slots)


def _look_up(made: Any, name: str) -> tuple[Any, bool]:
    """Return the value under a name (dots lead into objects), and whether all its keys are spelled exactly."""
    exact = True
    for key in name.split("."):
        if not isinstance(made, dict):
            return _ABSENT, exact
        if key not in made:
            alike = [other for other in made if folded(other) == folded(key)]
            if len(alike) != 1:
                return _ABSENT, exact
            key, exact = alike[0], False
        made = made[key]
    return made, exact


def _refuse_contradiction(first: Mapping[str, Any], others: list[dict[str, Any]], slots: list[Slot]) -> None:
    for name in (slot.name for slot in slots if isinstance(slot.field, ScoreField)):
        if any(_look_up(other, name)[0] not in (_ABSENT, _look_up(first, name)[0]) for other in others):
            raise ReplyError("the reply holds several objects with different scores")


def _fill(made: Mapping[str, Any], slots: list[Slot], reading: LooseReading) -> None:
    for slot in slots:
        value, exact = _look_up(made, slot.name)
        if value is _ABSENT or value is None:
            reading.mark(f"missing:{slot.name}")
            continue
        if not exact:
            reading.mark("key-name")
        reading.take(slot, partial(_value, slot.field, value))
        if isinstance(slot.field, VerdictListField) and slot.name in reading.values:
            reading.values[slot.score] = slot.field.share(reading.values[slot.name])
    keys = [folded(key) for key in made]
    wanted = list(dict.fromkeys(folded(slot.name.split(".")[0]) for slot in slots))
    if [key for key in keys if key in wanted] != [key for key in wanted if key in keys]:
        reading.mark("order")
    extra = {key: value for key, value in made.items() if folded(key) not in wanted}
    if extra:
        reading.mark("extra-key")
        reading.rest.append(json.dumps(extra, ensure_ascii=False))


def _value(field: AnyField, value: Any) -> tuple[Value, str]:
    """Return the field's value, and how it departs from the declared type (empty if it does not). Raises ReplyError."""
    match field:
        case ScoreField():
            return _score(field, value)
        case ChoiceField() if isinstance(value, str):
            same = [choice for choice in field.choices if choice.casefold() == value.strip().casefold()]
            return (same[0], "" if same[0] == value else "case") if len(same) == 1 else (value, "type")
        case BooleanField() if isinstance(value, str) and value.strip().casefold() in ("true", "false"):
            return value.strip().casefold() == "true", "type"
        case TextField() | EchoField():
            return (value, "") if isinstance(value, str) else (json.dumps(value, ensure_ascii=False), "type")
        case TextListField() if isinstance(value, str):
            return [value], "type"
        case TextListField():
            return _kept(value), _list_flaw(field, value)
        case NumberField():
            number = isinstance(value, int | float) and not isinstance(value, bool)
            return _kept(value), "" if number and field.min <= value <= field.max else "type"
        case BooleanField():
            return _kept(value), "" if isinstance(value, bool) else "type"
        case ChoiceField():
            return _kept(value), "type"
        case JsonField():
            return _kept(value), ""
        case VerdictListField():
            return field.checked(value), "list-length" if len(value) > field.items else ""
        case unknown:
            assert_never(unknown)


def _kept(value: Value) -> Value:
    """Return the value if a run can store it. Raises ReplyError."""
    if is_nested_deep(value):
        raise ReplyError("it is nested too deeply")
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        raise ReplyError("it holds NaN or an infinite number") from None
    return value


def _score(field: ScoreField, value: Any) -> tuple[Value, str]:
    if isinstance(value, str):
        number, how = read_score(value, field)
        return number, how or ("" if field.written else "type")
    if (value is None or isinstance(value, bool)) and json.dumps(value) in (written := field.values_by_text(True)):
        return written[json.dumps(value)], ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ReplyError("this is not a score")
    score = on_scale(value, field)
    if score not in field.values:
        return score, BETWEEN
    as_digits = isinstance(value, int) or field.step != 1
    return score, "" if as_digits and not field.written.get(score) else "type"


def _list_flaw(field: TextListField, value: Any) -> str:
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        return "type"
    return "list-length" if len(value) > field.items else ""


def _salvage(text: str, slots: list[Slot], reading: LooseReading, unfinished: bool) -> None:
    """Take scores from broken JSON: a score counts if its key stands exactly once before a number."""
    reading.mark("broken-json")
    for slot in slots:
        key = re.escape(json.dumps(slot.name.split(".")[-1], ensure_ascii=False))
        found = list(re.finditer(rf'{key}\s*:\s*("?)({NUMBER})\1\s*(?=[,}}\s]|$)', text))
        # "score": 1 at a cut may be the start of 10: a number that ends a cut-off reply does not count.
        cut = unfinished and len(found) == 1 and not text[found[0].end() :].strip()
        if isinstance(slot.field, ScoreField) and len(found) == 1 and not cut:
            reading.take(slot, partial(_score_alone, slot.field, found[0].group(2)))
        else:
            reading.mark(f"missing:{slot.name}")
    reading.rest.append(text)


def _score_alone(field: ScoreField, number: str) -> tuple[Value, str]:
    return read_score(number, field)[0], ""
