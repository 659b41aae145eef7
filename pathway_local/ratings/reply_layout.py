"""Reads a text reply that breaks its rubric's layout, by the headings and tags that it has."""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import assert_never

from pathway_local.errors import ReplyError
from pathway_local.ratings.score_text import read_score
from pathway_local.rubrics.ending import Ending
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
from pathway_local.rubrics.form import Part, Slot
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.verdict_list import VerdictListField
from pathway_local.verdict import Value

SPACING = "spacing"
"""The break of a reply that differs from its format only in blanks and line ends."""

_FENCE, _FENCE_END = re.compile(r"```[\w-]*[ \t]*\r?\n"), "```"


@dataclass(slots=True)
class LooseReading:
    """Values by field, the `breaks` of the format, and the `rest`: text that belongs to no field."""

    values: dict[str, Value] = field(default_factory=dict)
    breaks: dict[str, None] = field(default_factory=dict)
    rest: list[str] = field(default_factory=list)
    _reason: str = ""

    def mark(self, name: str) -> None:
        """Note a break, once."""
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
        kept = [text.strip() for text in texts if text.strip()]
        if kept:
            self.mark("text-around")
            self.rest += kept

    def take(self, slot: Slot, read: Callable[[], tuple[Value, str]]) -> None:
        """Fill a field with the value that `read` returns and mark its departure; on ReplyError mark it unreadable."""
        try:
            self.values[slot.name], how = read()
        except ReplyError as error:
            self._reason = self._reason or f"{slot.name}: {error}"
            self.mark(f"unreadable:{slot.name}")
            return
        if how:
            self.mark(how)

    def checked(self, slots: Sequence[Slot]) -> "LooseReading":
        """This reading if it has a score. Raises ReplyError if not."""
        if not any(slot.score in self.values for slot in slots):
            raise ReplyError(self._reason or "it has no readable score")
        if not self.breaks:
            self.mark(SPACING)
        return self


def _fences(text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each code fence: the match of its opening, and where its closing begins.

    One pattern for a whole fence would take hours for a megabyte of blanks behind an opening.
    """
    opening = _FENCE.search(text)
    while opening and (end := text.find(_FENCE_END, opening.end())) >= 0:
        yield opening, end
        opening = _FENCE.search(text, end + len(_FENCE_END))


# Judges put headings in lists, quotes and bold: "- **Score**: 4", "## Score", "3) Score – 4". Runs of markup have a
# bound: without one, a line of 20,000 asterisks and blanks takes half a minute instead of a millisecond.
_TOKENS = re.compile(r"<\s*/?\s*[\w:.-]+\s*>|\w+")
_TAG = re.compile(r"<\s*(/?)\s*([\w:.-]+)\s*>")
_MARKUP = r"[ \t>*_#`\-•]{0,20}"
_BETWEEN = r"[\s*_`'’.,–—-]{0,20}"
_COLON = r"[ \t*_`]*(?:[:：=][*_`]{0,3}[ \t]*|[–—-][ \t]+|(?=\r?\n|$))"
_CLOSING = " \t\r\n*_`"


@dataclass(frozen=True, slots=True)
class _Anchor:
    """A field's heading, found from `start` to `end`; without a slot, the closing tag that ends a field."""

    slot: Slot | None
    start: int
    end: int
    exact: str = ""


def read_layout(text: str, output_format: OutputFormat, *, unfinished: bool = False) -> LooseReading:
    """Return the values of a reply whose headings or tags can be recognised, in any case, markdown or spacing.

    Raises ReplyError if no score can be read, for example because it has two different values. `unfinished`
    says that the reply was cut off.
    """
    reading = LooseReading()
    body = reading.unfenced(text)
    parts = output_format.parts
    slots = [part for part in parts if isinstance(part, Slot)]
    anchors = sorted(_anchors(body, parts), key=lambda anchor: (anchor.start, -anchor.end))
    if len(slots) == 1 and not anchors:
        anchors = [_Anchor(slots[0], 0, 0)]
    _mark_order(anchors, slots, reading)
    first = anchors[0].start if anchors else len(body)
    # A layout may begin with a field without a heading: it then owns the text before the first heading.
    if isinstance(parts[0], Slot) and not any(anchor.slot is parts[0] for anchor in anchors):
        anchors.insert(0, _Anchor(parts[0], 0, 0))
    else:
        reading.keep_outside(body[:first])
    sections = list(_sections(body, anchors, reading))
    for slot in slots:
        own = [(anchor, section) for anchor, section in sections if anchor.slot is slot]
        if own:
            _take(slot, own, reading, cut=unfinished and own[-1][0] is anchors[-1])
        else:
            reading.mark(f"missing:{slot.name}")
    return reading.checked(slots)


def _anchors(text: str, parts: Sequence[Part]) -> Iterator[_Anchor]:
    """Yield every place in the text that looks like a field's heading or closing tag."""
    for at, part in enumerate(parts):
        if isinstance(part, Slot):
            before, after = (parts[at - 1] if at else ""), (parts[at + 1] if at + 1 < len(parts) else "")
            heading = _heading(before) if isinstance(before, str) else ""
            pattern = _pattern(heading, isinstance(before, str) and ("\n" in before or at == 1))
            if pattern:
                for found in re.finditer(pattern, text, re.IGNORECASE | re.MULTILINE):
                    yield _Anchor(part, found.start(), found.end(), heading)
            closing = _TAG.match(after.lstrip()) if isinstance(after, str) else None
            if closing and closing.group(1):
                for found in re.finditer(rf"<\s*/\s*{re.escape(closing.group(2))}\s*>", text, re.IGNORECASE):
                    yield _Anchor(None, found.start(), found.end(), closing.group())


def _heading(literal: str) -> str:
    """Return the last line of the literal that has words or tags."""
    return next((line.strip() for line in reversed(literal.split("\n")) if _TOKENS.search(line)), "")


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


def _mark_order(anchors: Sequence[_Anchor], slots: Sequence[Slot], reading: LooseReading) -> None:
    found = list(dict.fromkeys(anchor.slot.name for anchor in anchors if anchor.slot))
    if found != [slot.name for slot in slots if slot.name in found]:
        reading.mark("order")


def _sections(text: str, anchors: Sequence[_Anchor], reading: LooseReading) -> Iterator[tuple[_Anchor, str]]:
    """Yield each heading with the text up to the next heading or tag; text behind a closing tag belongs to no field."""
    for at, anchor in enumerate(anchors):
        end = anchors[at + 1].start if at + 1 < len(anchors) else len(text)
        section = text[anchor.end : max(end, anchor.end)]
        if anchor.slot is None:
            reading.keep_outside(section)
            continue
        how = _departure(text[anchor.start : anchor.end], anchor.exact)
        if how:
            reading.mark(how)
        yield anchor, section


def _departure(found: str, exact: str) -> str:
    """Name how a heading departs from the layout's: "spacing", "case", "heading", or empty."""
    bare, wanted = "".join(found.split()), "".join(exact.split())
    if bare == wanted:
        return "" if found.strip() == exact else "spacing"
    return "case" if bare.casefold() == wanted.casefold() else "heading"


def _take(slot: Slot, own: Sequence[tuple[_Anchor, str]], reading: LooseReading, *, cut: bool) -> None:
    if len(own) > 1:
        reading.mark("repeated")
    if isinstance(slot.field, ScoreField):
        reading.take(slot, partial(_score, slot.field, [text for _, text in own], reading, cut))
    else:
        reading.take(slot, partial(_plain, slot, own[0][1]))
        reading.rest += [text.strip() for _, text in own[1:] if text.strip()]


def _score(field: ScoreField, sections: Sequence[str], reading: LooseReading, cut: bool) -> tuple[Value, str]:
    """Return the score on the first line of its section; lines below it are kept as rest."""
    values, departures = set(), ""
    for section in sections:
        line, _, below = section.strip().partition("\n")
        if cut and not below.strip():
            raise ReplyError("the reply was cut off at its score")
        value, how = read_score(line, field)
        values.add(value)
        departures = departures or how
        reading.keep_outside(below.strip(_CLOSING))
    if len(values) > 1:
        raise ReplyError("the reply gives several different values for the score")
    return values.pop(), departures


def _plain(slot: Slot, section: str) -> tuple[Value, str]:
    text = section.strip(_CLOSING if section.strip().startswith("*") else " \t\r\n")
    match slot.field:
        case ChoiceField() | BooleanField():
            texts = slot.field.texts(False)
            bare = text.strip(_CLOSING + ".")
            same = [value for name, value in texts.items() if name.casefold() == bare.casefold()]
            if len(same) != 1:
                raise ReplyError("it is not one of the choices")
            return same[0], "" if bare in texts else "case"
        case NumberField():
            bare = text.strip(_CLOSING)
            value, end = slot.field.read(bare, 0, Ending(""), False)
            return value, "" if end == len(bare) else "text-behind"
        case ScoreField() | TextField() | TextListField() | EchoField() | JsonField() | VerdictListField():
            return text, ""
        case unknown:
            assert_never(unknown)
