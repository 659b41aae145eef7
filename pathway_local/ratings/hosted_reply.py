"""Turns a hosted judge's raw reply into an outcome, by the rubric's own layout: nothing else in it is a score.

No service can be made to keep a text layout to the letter. So a reply that a local judge's reader refuses may spell the
layout's text with other blanks and emphasis, and JSON may have its blanks and the order of its keys as it likes.
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
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Failure, Outcome, Score, Value, Verdict

BREAK = "format:"
"""Prefix of each mark that says how a reply breaks its format."""

UNREADABLE, UNFINISHED = "unreadable-reply", "unfinished-reply"

_FENCE = "```"
_FENCED = re.compile(r"```[\w-]*[ \t]*\r?\n(.*)```", re.DOTALL)
_THOUGHT, _THOUGHT_END = "<think>", "</think>"
_EMPHASIS = "[*_]{0,3}"
_HEADING = "(?:#{1,6} )?"
_SPELLING = re.compile(r"\*+|(?<!\w)_+|_+(?!\w)|^#{1,6} |\s+|.", re.DOTALL | re.MULTILINE)


def read_reply(text: str, output_format: OutputFormat, *, unfinished: bool = False) -> Outcome:
    """Return the verdict in a whole reply, including the fixed start that a local judge's prompt would hold.

    A thought in front of it and a code fence around it are left out. Marks say how it breaks the format:
    `format:code-fence`, `format:spelling`, `format:between` (a score lies between two levels), `format:incomplete` (it
    ends behind its last score). `unfinished`: the service cut it off.
    """
    try:
        answer, marks = _answer(text)
        if output_format.in_json:
            values, ends_in_score = _read_json(answer, output_format), False
        else:
            values, ends_in_score, spelled = _read_text(answer, output_format)
            marks += spelled
        if unfinished and ends_in_score:
            raise ReplyError("the reply was cut off at its score")  # 1 may be the beginning of 10
    except (ReplyError, RecursionError) as error:
        reason = str(error) if isinstance(error, ReplyError) else "it is nested too deeply"
        return Failure(UNFINISHED if unfinished else UNREADABLE, reason)
    if unfinished or not values.keys() >= {*output_format.given, *output_format.fields}:
        marks += [f"{BREAK}incomplete"]
    if any(_is_between(part, values) for part in output_format.parts):
        marks += [f"{BREAK}between"]
    return _verdict(values, output_format, marks)


def _read_text(text: str, output_format: OutputFormat) -> tuple[dict[str, Value], bool, list[str]]:
    """Return the values of a text layout, whether it ends in a score, and a mark if no local judge may write it so."""
    parts = _parts(output_format)
    try:
        form = Form(parts, in_json=False, cores=cores_of(part for part in parts if isinstance(part, str)))
        return dict(form.read(text).values), _is_score(parts[-1]), []
    except ReplyError:
        return *_read_layout(text, parts, set(output_format.given)), [f"{BREAK}spelling"]


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


def _parts(output_format: OutputFormat) -> tuple[Part, ...]:
    """Return the parts of the layout, with a text in the place of each echo."""
    return tuple(
        Slot(part.name, TextField()) if isinstance(part, Slot) and isinstance(part.field, EchoField) else part
        for part in output_format.parts
    )


def _is_score(part: Part) -> bool:
    return isinstance(part, Slot) and isinstance(part.field, ScoreField)


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
    parts = _parts(output_format)
    found = dict(_leaves(made, json.loads("".join("0" if isinstance(part, Slot) else part for part in parts)), ""))
    values: dict[str, Value] = {}
    for slot in (part for part in parts if isinstance(part, Slot)):
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
    return _whole(field, json.dumps(value, ensure_ascii=False), in_json=True)


def _whole(field: AnyField, text: str, *, in_json: bool) -> Value:
    """Return the value that is the whole text. Raises ReplyError."""
    value, end = field.read(text, 0, Ending(""), in_json)
    if end < len(text):
        raise ReplyError("it is of another kind than asked for")
    return value


def _read_layout(text: str, parts: Sequence[Part], due: set[str]) -> tuple[dict[str, Value], bool]:
    """Return the values of a reply with each literal of the layout in its place, and whether it ends in a score.

    What stands behind the last of the scores that are `due` may be missing. Raises ReplyError.
    """
    values: dict[str, Value] = {}
    scores, at, slot, found = frozenset(due), 0, None, None
    for place, part in enumerate((*parts, "") if isinstance(parts[-1], Slot) else parts):
        if isinstance(part, Slot):
            slot = part
            continue
        is_asked = place + 1 < len(parts) and _is_score(parts[place + 1])
        found = _find(part, text, at, first=place == 0, alone=is_asked) if part else None
        end = found.start() if found else len(text)
        if slot:
            values[slot.name] = _section(slot, text[at:end])
            due.discard(slot.name)
        if not found and (due or (slot is None)):
            raise ReplyError("the layout's text is missing " + (f"behind {slot.name}" if slot else "at the start"))
        at, slot = found.end() if found else end, None
        if not found:
            break
    if text[at:].strip(" \t\r\n*_"):
        raise ReplyError("more text follows the end of the format")
    return values, not found and next(reversed(values)) in scores


def _find(literal: str, text: str, at: int, *, first: bool, alone: bool) -> re.Match[str] | None:
    """Return where a literal stands behind `at`: the first at the start, one in front of a score only once."""
    pattern = re.compile(_pattern(literal, first=first), re.MULTILINE)
    found = pattern.search(text, at)
    if found and first and text[: found.start()].strip():
        return None
    if found and alone and literal.strip() and pattern.search(text, found.end()):
        raise ReplyError("it gives two answers: the layout's text in front of a score stands there twice")
    return found


def _pattern(literal: str, *, first: bool) -> str:
    """Return a pattern for a literal with any blanks and emphasis; a label counts only at the start of a line."""
    core = literal.strip()
    if not core:
        return r"\n" if "\n" in literal else r"[ \t]"
    begins = first or "\n" in literal[: literal.index(core)]
    made = rf"^[ \t]*{_HEADING}{_EMPHASIS}" if begins else _EMPHASIS
    for piece in _SPELLING.findall(core):
        if piece.isspace():
            made += (r"\s+" if made[-1:].isalnum() else r"\s*") + (_HEADING + _EMPHASIS) * ("\n" in piece)
        elif piece == ":":
            made += f"{_EMPHASIS}:{_EMPHASIS}"
        elif piece.strip("*_") and not piece.endswith("# "):
            made += re.escape(piece)
    # A word alone on its line is a label only there: "Score 1 would be too low" is a sentence.
    alone = core[-1].isalnum() and "\n" in literal[literal.index(core) + len(core) :]
    return made + rf"{_EMPHASIS}[ \t]*$" * alone


def _section(slot: Slot, text: str) -> Value:
    """Return the value of a field whose section of the reply is this text. Raises ReplyError."""
    try:
        if isinstance(slot.field, ScoreField):
            return read_score(text.strip(" \t\r\n*_"), slot.field)
        bare = text.strip() if isinstance(slot.field, TextField) else text.strip(" \t\r\n*_")
        return _whole(slot.field, bare, in_json=False)
    except ReplyError as error:
        raise ReplyError(f"{slot.name}: {error}") from None
