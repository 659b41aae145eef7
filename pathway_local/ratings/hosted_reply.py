"""Turns a hosted judge's raw reply into an outcome: read strictly first, then leniently, with a mark for each break."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from pathway_local.case import fingerprint
from pathway_local.errors import ReplyError
from pathway_local.ratings.reply_layout import LooseReading, read_layout
from pathway_local.ratings.score_text import BETWEEN, on_scale
from pathway_local.rubrics.any_field import AnyField
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import EchoField, ScoreField, TextField, TextListField
from pathway_local.rubrics.form import Form, Reading, Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Failure, Outcome, Score, Value, Verdict

BREAK = "format:"
"""Prefix of each mark that says how a reply breaks its format."""

REST = "rest"
"""The field for text outside the format."""


@dataclass(frozen=True, slots=True)
class Echoes:
    """The texts that a reply must repeat: a keyed fingerprint by echo field."""

    key: bytes
    expected: Mapping[str, str]

    @classmethod
    def of(cls, key: bytes, output_format: OutputFormat, inputs: Mapping[str, str]) -> "Echoes":
        """Return the fingerprints of a case's texts."""
        asked = output_format.echoes.items()
        return cls(key, {name: fingerprint(key, {"": inputs[of]}) for name, of in asked if of in inputs})

    def changed(self, name: str, text: Value) -> bool:
        """Whether the reply repeated another text; False without a fingerprint."""
        return name in self.expected and fingerprint(self.key, {"": str(text)}) != self.expected[name]


def read_reply(text: str, output_format: OutputFormat, echoes: Echoes, *, unfinished: bool = False) -> Outcome:
    """Return the verdict in a whole reply, including the fixed start that a local judge's prompt would hold.

    Marks say how it breaks the format: `format:spacing`, `format:case`, `format:missing:FIELD` and so on; a reply
    that keeps the format to the letter has none. Text outside all fields is kept as the field "rest". A reply
    without a readable score, or with an ambiguous one, is a Failure, and so is one that should be JSON of the rubric's
    shape and is not. `unfinished`: the service cut it off.
    """
    marks = [f"{BREAK}unfinished"] if unfinished else []
    rest: list[str] = []
    try:
        values = read_strictly(text, output_format).values
    except ReplyError:
        try:
            in_json = output_format.in_json
            loose = (
                _read_json(text, output_format) if in_json else read_layout(text, output_format, unfinished=unfinished)
            )
        except (ReplyError, RecursionError) as error:
            reason = str(error) if isinstance(error, ReplyError) else "it is nested too deeply"
            return Failure("unfinished-reply" if unfinished else "unreadable-reply", reason)
        values, rest = loose.values, loose.rest
        marks += [f"{BREAK}{name}" for name in loose.breaks]
    marks += [
        f"{BREAK}echo:{name}" for name in output_format.echoes if name in values and echoes.changed(name, values[name])
    ]
    return _verdict(values, output_format, rest, marks)


def read_strictly(text: str, output_format: OutputFormat) -> Reading:
    """Read a reply that keeps the layout to the letter; echoes may hold any text. Raises ReplyError."""
    parts = tuple(
        Slot(part.name, TextField()) if isinstance(part, Slot) and isinstance(part.field, EchoField) else part
        for part in output_format.parts
    )
    return Form(parts, output_format.in_json).read(text)


def _verdict(values: Mapping[str, Value], output_format: OutputFormat, rest: list[str], marks: list[str]) -> Verdict:
    scores = {name: Score(value) for name in output_format.scores if isinstance(value := values.get(name), int | float)}
    given = {name: values[name] for name in output_format.fields if name in values}
    fields = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    if rest:
        fields[output_format.apart(REST)] = "\n\n".join(rest)
    return Verdict(scores, fields, tuple(marks))


def _read_json(text: str, output_format: OutputFormat) -> LooseReading:
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
