"""Turns a hosted judge's raw reply into an outcome, by the rubric's own layout: nothing else in it is a score.

No service can be made to keep a text layout to the letter. So a label may have the emphasis and blanks that a local
judge may give it, a score is read as a person writes it, and JSON may order its keys as it likes.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pathway_local.errors import ReplyError
from pathway_local.ratings.score_text import read_score
from pathway_local.rubrics.ending import Ending, cores_of
from pathway_local.rubrics.fields import EchoField, ScoreField, TextField
from pathway_local.rubrics.form import AnyField, Form, Part, Slot
from pathway_local.rubrics.lists import VerdictListField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.verdict import Failure, Outcome, Score, Value, Verdict

BREAK = "format:"
"""Prefix of each mark that says how a reply breaks its format."""

UNREADABLE, UNFINISHED = "unreadable-reply", "unfinished-reply"

_FENCE = "```"
_FENCED = re.compile(r"```[\w-]*[ \t]*\r?\n(.*)```", re.DOTALL)
_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_AROUND = " \t\r\n*_"
"""Blanks and emphasis, which may stand around a value."""


def read_reply(text: str, output_format: OutputFormat, *, unfinished: bool = False) -> Outcome:
    """Return the verdict in a whole reply, including the fixed start that a local judge's prompt would hold.

    A thought in front of it and a code fence around it are left out. Marks say how it breaks the format:
    `format:code-fence`, `format:between` (a score lies between two levels), `format:incomplete` (the service cut off
    its last text). `unfinished`: the service cut it off.
    """
    try:
        answer, marks = _answer(text)
        values = (_read_json if output_format.in_json else _read_text)(answer, output_format)
        last = output_format.parts[-1]
        if unfinished and not output_format.in_json and isinstance(last, Slot) and last.score:
            raise ReplyError("the reply was cut off at its score")  # 1 may be the beginning of 10
    except (ReplyError, RecursionError) as error:
        reason = str(error) if isinstance(error, ReplyError) else "it is nested too deeply"
        return Failure(UNFINISHED if unfinished else UNREADABLE, reason)
    marks += [f"{BREAK}incomplete"] * unfinished
    marks += [f"{BREAK}between"] * any(_is_between(part, values) for part in output_format.parts)
    return _verdict(values, output_format, marks)


def _read_text(text: str, output_format: OutputFormat) -> dict[str, Value]:
    """Return the values of a text layout, whose fields are what stands between its literals. Raises ReplyError."""
    parts = output_format.parts
    literals = [_literal(part, first=not at) for at, part in enumerate(parts) if isinstance(part, str)]
    found = iter(literals)
    layout = [Slot(part.name, TextField()) if isinstance(part, Slot) else next(found) for part in parts]
    # A text in front, which has to be empty, so that the first label may have emphasis as well.
    layout = layout if isinstance(parts[0], Slot) else [Slot("", TextField()), *layout]
    texts = Form(tuple(layout), in_json=False, cores=cores_of(literals)).read(f"\n{text}").values
    if str(texts.get("", "")).strip(_AROUND):
        raise ReplyError("text stands before the start of the layout")
    return {slot.name: _section(slot, str(texts[slot.name])) for slot in _slots(output_format)}


def _literal(text: str, *, first: bool) -> str:
    """Return a literal without the blanks at its ends; of those in front, a line break stays to begin a label."""
    before = text[: len(text) - len(text.lstrip())]
    return (("\n" if first or "\n" in before else "") + text.strip()) if text.strip() else text


def _section(slot: Slot, text: str) -> Value:
    """Return the value of a field whose section of the reply is this text. Raises ReplyError."""
    bare = text.strip() if isinstance(slot.field, TextField) else text.strip(_AROUND)
    try:
        return read_score(bare, slot.field) if isinstance(slot.field, ScoreField) else _whole(slot.field, bare, False)
    except ReplyError as error:
        raise ReplyError(f"{slot.name}: {error}") from None


def _answer(text: str) -> tuple[str, list[str]]:
    """Return the reply without its thought and code fence, and the marks of these. Raises ReplyError."""
    before, closed, behind = text.partition(_THOUGHT_END)
    if not closed and before.lstrip().startswith(_THOUGHT):
        raise ReplyError("it ends inside its thoughts")
    answer = behind if closed else before
    fenced = _FENCED.fullmatch(answer.strip())
    if fenced and _FENCE not in fenced[1]:
        return fenced[1].strip(), [f"{BREAK}code-fence"]
    return answer.strip(), []


def _slots(output_format: OutputFormat) -> Iterator[Slot]:
    """Yield the fields of the layout, with a text in the place of each echo."""
    for part in output_format.parts:
        if isinstance(part, Slot):
            yield Slot(part.name, TextField()) if isinstance(part.field, EchoField) else part


def _is_between(part: Part, values: Mapping[str, Value]) -> bool:
    if isinstance(part, Slot) and isinstance(part.field, ScoreField) and part.name in values:
        return values[part.name] not in part.field.values
    return False


def _verdict(values: Mapping[str, Value], output_format: OutputFormat, marks: Sequence[str]) -> Verdict:
    scores = {name: Score(value) for name in output_format.given if isinstance(value := values.get(name), int | float)}
    given = {name: values[name] for name in output_format.fields if name in values}
    fields = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    return Verdict(output_format.with_totals(scores), fields, tuple(marks))


def _read_json(text: str, output_format: OutputFormat) -> dict[str, Value]:
    """Return the values of a reply that is the layout's JSON object. Raises ReplyError."""
    try:
        made = json.loads(text, object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise ReplyError("it is not JSON") from None
    shape = json.loads("".join("0" if isinstance(part, Slot) else part for part in output_format.parts))
    found = dict(_leaves(made, shape, ""))
    values: dict[str, Value] = {}
    for slot in _slots(output_format):
        try:
            values[slot.name] = value = _json_value(slot.field, found[slot.name])
        except ReplyError as error:
            raise ReplyError(f"{slot.name}: {error}") from None
        if isinstance(slot.field, VerdictListField):
            values[slot.score] = slot.field.share(value)
    return values


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    # Python's parser would keep the last value of a duplicate key, so the reply's first score would vanish.
    if len(made) < len(pairs):
        raise ReplyError("the reply has a key twice")
    return made


def _leaves(made: object, shape: Any, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the value of each field by its name. Raises ReplyError for other keys than asked."""
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


def _json_value(field: AnyField, value: Any) -> Value:
    if isinstance(field, ScoreField) and isinstance(value, int | float) and not isinstance(value, bool):
        score = read_score(repr(value), field)  # JSON has one kind of number: 3.0 is 3
        if score not in field.written:
            return score
    return _whole(field, json.dumps(value, ensure_ascii=False), True)


def _whole(field: AnyField, text: str, in_json: bool) -> Value:
    """Return the value that is the whole text. Raises ReplyError."""
    value, end = field.read(text, 0, Ending(""), in_json)
    if end < len(text):
        raise ReplyError("it is of another kind than asked for")
    return value
