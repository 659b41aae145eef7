"""Turns a hosted judge's raw reply into an outcome: read strictly first, then leniently, with a mark for each break.

JSON is read leniently no further than a code fence around it and the order of its keys. A text layout is read by its
headings and tags, in any case, markup and order: no service can be made to keep one.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pathway_local.errors import ReplyError
from pathway_local.ratings.score_text import on_scale, read_score
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import EchoField, ScoreField, TextField, TextListField
from pathway_local.rubrics.form import AnyField, Form, Part, Reading, Slot, text_at
from pathway_local.rubrics.kind import Listed
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Failure, Outcome, Score, Value, Verdict

BREAK = "format:"
"""Prefix of each mark that says how a reply breaks its format."""

SPACING = "spacing"
"""The break of a reply that differs from its format only in blanks and line ends."""

REST = "rest"
"""The field for text outside the format."""

_FENCE, _FENCE_END = re.compile(r"```[\w-]*[ \t]*\r?\n"), "```"

# Judges put headings in lists, quotes and bold: "- **Score**: 4", "## Score", "3) Score – 4". Runs of markup have a
# bound: without one, a line of 20,000 asterisks and blanks takes half a minute instead of a millisecond.
_TOKENS = re.compile(r"<\s*/?\s*[\w:.-]+\s*>|\w+")
_TAG = re.compile(r"<\s*(/?)\s*([\w:.-]+)\s*>")
_MARKUP = r"[ \t>*_#`\-•]{0,20}"
_BETWEEN = r"[\s*_`'’.,–—-]{0,20}"
_COLON = r"[ \t*_`]*(?:[:：=][*_`]{0,3}[ \t]*|[–—-][ \t]+|(?=\r?\n|$))"
_CLOSING = " \t\r\n*_`"


def read_reply(text: str, output_format: OutputFormat, *, unfinished: bool = False) -> Outcome:
    """Return the verdict in a whole reply, including the fixed start that a local judge's prompt would hold.

    Marks say how it breaks the format: `format:spacing`, `format:heading`, `format:missing:FIELD` and so on; a reply
    that keeps the format to the letter has none. Text outside all fields is kept as the field "rest". A reply
    without a readable score, or with an ambiguous one, is a Failure, and so is one that should be JSON of the rubric's
    shape and is not. `unfinished`: the service cut it off.
    """
    marks = [f"{BREAK}unfinished"] if unfinished else []
    rest: list[str] = []
    try:
        values = read_strictly(text, output_format).values
        ends_in_score = _ends_in_score(output_format)
    except ReplyError:
        try:
            loose = _read_json(text, output_format) if output_format.in_json else _read_layout(text, output_format)
        except (ReplyError, RecursionError) as error:
            reason = str(error) if isinstance(error, ReplyError) else "it is nested too deeply"
            return Failure("unfinished-reply" if unfinished else "unreadable-reply", reason)
        values, rest, ends_in_score = loose.values, loose.rest, loose.ends_in_score
        marks += [f"{BREAK}{name}" for name in loose.breaks or [SPACING]]
    if unfinished and ends_in_score:
        return Failure("unfinished-reply", "the reply was cut off at its score")
    return _verdict(values, output_format, rest, marks)


def read_strictly(text: str, output_format: OutputFormat) -> Reading:
    """Read a reply that keeps the layout to the letter; echoes may hold any text. Raises ReplyError."""
    return Form(_parts(output_format), output_format.in_json).read(text)


def _ends_in_score(output_format: OutputFormat) -> bool:
    """Whether nothing behind the last score shows that it was written to its end: 1 may be the beginning of 10."""
    last = output_format.parts[-1]
    return isinstance(last, Slot) and isinstance(last.field, ScoreField)


def _parts(output_format: OutputFormat) -> tuple[Part, ...]:
    """Return the parts of the layout, with a text in the place of each echo."""
    return tuple(
        Slot(part.name, TextField()) if isinstance(part, Slot) and isinstance(part.field, EchoField) else part
        for part in output_format.parts
    )


def _verdict(values: Mapping[str, Value], output_format: OutputFormat, rest: list[str], marks: list[str]) -> Verdict:
    scores = {name: Score(value) for name in output_format.scores if isinstance(value := values.get(name), int | float)}
    given = {name: values[name] for name in output_format.fields if name in values}
    fields = {name: value.strip() if isinstance(value, str) else value for name, value in given.items()}
    if rest:
        fields[output_format.apart(REST)] = "\n\n".join(rest)
    return Verdict(scores, fields, tuple(marks))


@dataclass(slots=True)
class _Loose:
    """Values by field, the `breaks` of the format, each once, and the `rest`: text that belongs to no field.

    `ends_in_score`: nothing shows that the last score was written to its end.
    """

    values: dict[str, Value] = field(default_factory=dict)
    breaks: dict[str, None] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    ends_in_score: bool = False

    def mark(self, name: str) -> None:
        """Note a break."""
        self.breaks[name] = None

    def unfenced(self, text: str) -> str:
        """Return the text inside the reply's only code fence; text outside it is kept as rest."""
        fences = islice(_fences(text), 2)
        opening, end = next(fences, (None, -1))
        if opening is None or next(fences, None):
            return text
        self.mark("code-fence")
        self.keep_outside(text[: opening.start()], text[end + len(_FENCE_END) :])
        return text[opening.end() : end].rstrip(" \t").removesuffix("\n").removesuffix("\r")

    def keep_outside(self, *texts: str) -> None:
        """Keep texts that stand outside the format as rest."""
        if kept := [text.strip() for text in texts if text.strip()]:
            self.mark("text-around")
            self.rest += kept

    def mark_score(self, score: ScoreField, value: Value) -> None:
        """Note a score that is no level and lies between two: it is kept as it is, never rounded."""
        if value not in score.values:
            self.mark("between-levels")


def _fences(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each code fence: the match of its opening, and where its closing begins.

    One pattern for a whole fence would take hours for a megabyte of blanks behind an opening.
    """
    opening = _FENCE.search(text)
    while opening and (end := text.find(_FENCE_END, opening.end())) >= 0:
        yield opening, end
        opening = _FENCE.search(text, end + len(_FENCE_END))


def _read_json(text: str, output_format: OutputFormat) -> _Loose:
    """Return the values of a reply that is the layout's JSON object, in a code fence or without. Raises ReplyError."""
    reading = _Loose()
    try:
        made = json.loads(reading.unfenced(text), object_pairs_hook=_unique)
    except (ValueError, RecursionError):
        raise ReplyError("it is not JSON") from None
    parts = _parts(output_format)
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
    return reading


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


def _value(field: AnyField, value: Any, reading: _Loose) -> Value:
    """Return the field's value. Raises ReplyError if it is none of the field's kind."""
    if isinstance(field, ScoreField) and isinstance(value, int | float) and not isinstance(value, bool):
        score = on_scale(value, field)  # JSON has one kind of number: 3.0 is 3
        reading.mark_score(field, score)
        if score not in field.written:
            return score
    if isinstance(field, TextListField | VerdictListField) and isinstance(value, list) and len(value) > field.items:
        # A service's schema may be unable to limit a list's length.
        reading.mark("list-length")
        field = field.model_copy(update={"items": len(value)})
    return _whole(field, json.dumps(value, ensure_ascii=False), in_json=True)


def _whole(field: AnyField, text: str, *, in_json: bool) -> Value:
    """Return the value that is the whole text. Raises ReplyError."""
    value, end = field.read(text, 0, Ending(""), in_json)
    if end < len(text):
        raise ReplyError("it is of another kind than asked for")
    return value


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A field's heading, found from `start` to `end`; without a slot, the closing tag that ends a field."""

    slot: Slot | None
    start: int
    end: int


def _read_layout(text: str, output_format: OutputFormat) -> _Loose:
    """Return the values of a reply whose headings or tags can be recognised. Raises ReplyError if no score can."""
    reading, parts, reason = _Loose(), _parts(output_format), ""
    body = reading.unfenced(text)
    slots = [part for part in parts if isinstance(part, Slot)]
    anchors = sorted(_anchors(body, parts), key=lambda anchor: (anchor.start, -anchor.end))
    found = [(anchor.slot.name, "".join(body[anchor.start : anchor.end].split())) for anchor in anchors if anchor.slot]
    named = {name for name, _ in found}
    if found != [(slot.name, "".join(_heading(parts, slot).split())) for slot in slots if slot.name in named]:
        reading.mark("heading")
    # A layout may begin with a field without a heading: it then owns the text before the first heading.
    if (slots[0] is parts[0] and slots[0].name not in named) or (len(slots) == 1 and not anchors):
        anchors.insert(0, _Anchor(slots[0], 0, 0))
    reading.keep_outside(body[: anchors[0].start] if anchors else body)
    sections = list(_sections(body, anchors, reading))
    for slot in slots:
        own = [section for owner, section in sections if owner is slot]
        if not own:
            reading.mark(f"missing:{slot.name}")
            continue
        try:
            reading.values[slot.name] = _value_in(slot.field, own, reading)
        except ReplyError as error:
            reason = reason or f"{slot.name}: {error}"
            reading.mark(f"unreadable:{slot.name}")
    if not any(slot.score in reading.values for slot in slots):
        raise ReplyError(reason or "it has no readable score")
    last, section = sections[-1]
    reading.ends_in_score = bool(last.score) and anchors[-1].slot is last and "\n" not in section.strip()
    return reading


def _anchors(text: str, parts: Sequence[Part]) -> Iterator[_Anchor]:
    """Yield every place in the text that looks like a field's heading or closing tag."""
    for at, part in enumerate(parts):
        if isinstance(part, Slot):
            pattern = _pattern(_heading(parts, part), "\n" in text_at(parts, at - 1) or at == 1)
            if pattern:
                for found in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
                    yield _Anchor(part, found.start(), found.end())
            closing = _TAG.match(text_at(parts, at + 1).lstrip())
            if closing and closing.group(1):
                for found in re.finditer(rf"<\s*/\s*{re.escape(closing.group(2))}\s*>", text, re.IGNORECASE):
                    yield _Anchor(None, found.start(), found.end())


def _heading(parts: Sequence[Part], slot: Slot) -> str:
    """Return the last line in front of a field that has words or tags."""
    before = text_at(parts, parts.index(slot) - 1)
    return next((line.strip() for line in reversed(before.split("\n")) if _TOKENS.search(line)), "")


def _pattern(heading: str, at_line_start: bool) -> str:
    """Return a pattern for the heading in any markdown; a tag is required, words behind a tag are optional."""
    tokens = _TOKENS.findall(heading)
    tags = [rf"<\s*{slash}\s*{re.escape(name)}\s*>" for slash, name in _TAG.findall(heading)]
    words = [re.escape(token) for token in tokens if not token.startswith("<")]
    ending = _COLON if ":" in heading else r"[ \t*_`:]*"
    spoken = _BETWEEN.join(words) + ending if words else ""
    if tags:
        return tags[-1] + (rf"(?:{_BETWEEN}{spoken})?" if spoken else "")
    if not spoken:
        return ""
    # Words count as a heading only where the layout puts them: "the score of 4" inside a sentence is no heading.
    return rf"^{_MARKUP}(?:\d+[.)][ \t]*)?{_MARKUP}{spoken}" if at_line_start else rf"\b{spoken}"


def _sections(text: str, anchors: Sequence[_Anchor], reading: _Loose) -> Iterator[tuple[Slot, str]]:
    """Yield each field with the text up to the next heading or tag; text behind a closing tag belongs to no field."""
    for at, anchor in enumerate(anchors):
        end = anchors[at + 1].start if at + 1 < len(anchors) else len(text)
        section = text[anchor.end : max(end, anchor.end)]
        if anchor.slot is None:
            reading.keep_outside(section)
        else:
            yield anchor.slot, section


def _listed(field: Listed, text: str, reading: _Loose) -> str:
    """Return the field's own spelling of a text that has another case or a full stop; else the text itself."""
    own = [each for each in field.texts(False) if each.casefold() == text.rstrip(".").casefold()]
    if text in field.texts(False) or len(own) != 1:
        return text
    reading.mark("choice-form")
    return own[0]


def _value_in(field: AnyField, sections: Sequence[str], reading: _Loose) -> Value:
    """Return the value of a field in its sections. A score stands on the first line; lines below it are kept as rest.

    Raises ReplyError if it can't be read, or if two sections give different scores.
    """
    if not isinstance(field, ScoreField):
        reading.rest += [text.strip() for text in sections[1:] if text.strip()]
        first = sections[0].strip()
        text = sections[0].strip(_CLOSING) if first.startswith("*") or not isinstance(field, TextField) else first
        if isinstance(field, Listed):
            text = _listed(field, text, reading)
        return _whole(field, text, in_json=False)
    lines = [section.strip().partition("\n") for section in sections]
    values = {read_score(line, field) for line, _, _ in lines}
    if len(values) > 1:
        raise ReplyError("the reply gives several different values for the score")
    if any(line.strip() not in field.values_by_text(False) for line, _, _ in lines):
        reading.mark("score-form")
    reading.keep_outside(*(below.strip(_CLOSING) for _, _, below in lines))
    value = values.pop()
    reading.mark_score(field, value)
    return value
