"""The part of a reply that a judge generates: literals and fields of every kind, grammar, and how they are read."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated

from msgspec import Struct
from pydantic import Field

from pathway_local.errors import ReplyError
from pathway_local.rubrics.ending import Ending
from pathway_local.rubrics.fields import BooleanField, ChoiceField, EchoField, ScoreField, TextField
from pathway_local.rubrics.grammar import literal
from pathway_local.rubrics.lists import TextListField, VerdictListField
from pathway_local.verdict import Number, Value

AnyField = Annotated[
    TextField | ScoreField | EchoField | ChoiceField | BooleanField | TextListField | VerdictListField,
    Field(discriminator="type"),
]


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a field in a format."""

    name: str
    field: AnyField

    @property
    def score(self) -> str:
        """The name of the score that the field is, or that its verdicts make; empty if it gives none."""
        if isinstance(self.field, VerdictListField):
            return self.field.score
        return self.name if isinstance(self.field, ScoreField) else ""


Part = str | Slot


class Reading(Struct, frozen=True):
    """A reply taken apart: the value of each generated field, and where it stands in the text (start, end).

    `values` also has the score that a list of verdicts makes.
    """

    values: Mapping[str, Value]
    spans: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, eq=False)
class Form:
    """The part of a reply that the judge generates.

    All cases share one form, unless a case's own text (an echo) stands behind the first generated field. `cores` are
    the parts of the layout that end a text.
    """

    parts: tuple[Part, ...]
    in_json: bool
    cores: tuple[str, ...] = ()
    _grammars: dict[tuple[int, ...], str] = field(default_factory=dict, init=False, repr=False)
    _texts: dict[tuple[str, str], Mapping[Number, str]] = field(default_factory=dict, init=False, repr=False)

    @cached_property
    def limit(self) -> int:
        """The most tokens that the reply can take, including its end token."""
        return self._fixed + sum(slot.field.budget(self.in_json) for slot in self.slots)

    @cached_property
    def reserve(self) -> int:
        """The tokens to keep free for the reply."""
        return self._fixed + sum(slot.field.reserve(self.in_json) for slot in self.slots)

    @cached_property
    def _fixed(self) -> int:
        # A judge may spell a literal byte by byte. Counted in the tokenizer's usual tokens instead, 39 of 128 replies
        # ran into their limit. The other two are end tokens: a family's own and the tokenizer's.
        endings = sum(ending.longest for ending in self._endings.values())
        return len(text_at(self.parts, 0).encode()) + endings + 2

    @cached_property
    def slots(self) -> list[Slot]:
        """The generated fields in order."""
        return [part for part in self.parts if isinstance(part, Slot)]

    def before(self, name: str) -> str:
        """Return the literal in front of a field; empty before the first."""
        return text_at(self.parts, self._places[name] - 1)

    def ending(self, name: str) -> Ending:
        """Return what ends a field."""
        return self._endings[name]

    @cached_property
    def _endings(self) -> dict[str, Ending]:
        found = {}
        for slot in self.slots:
            cores = self.cores if isinstance(slot.field, TextField) and not self.in_json else ()
            found[slot.name] = Ending.of(text_at(self.parts, self._places[slot.name] + 1), cores)
        return found

    @cached_property
    def _places(self) -> dict[str, int]:
        return {part.name: at for at, part in enumerate(self.parts) if isinstance(part, Slot)}

    def score_texts(self, slot: Slot, gap: str) -> Mapping[Number, str]:
        """Return for each value of a score the text from `gap` in front of it to the end of the literal behind it."""
        assert isinstance(slot.field, ScoreField)
        if (slot.name, gap) not in self._texts:
            after, written = self.ending(slot.name).literal, slot.field.values_by_text(self.in_json)
            self._texts[slot.name, gap] = {value: f"{gap}{text}{after}" for text, value in written.items()}
        return self._texts[slot.name, gap]

    def grammar(self, end_ids: Sequence[int] = ()) -> str:
        """Return the Lark grammar of the form.

        `end_ids` are end-of-turn tokens that the tokenizer does not name as its end. llguidance lets through only the
        one that the tokenizer names, so without them a last free text could never end before its budget.
        """
        key = tuple(end_ids)
        if key not in self._grammars:
            self._grammars[key] = self._make_grammar(key)
        return self._grammars[key]

    def _make_grammar(self, end_ids: tuple[int, ...]) -> str:
        body, rules = [literal(first)] if (first := text_at(self.parts, 0)) else [], []
        for at, slot in enumerate(self.slots):
            ending = self.ending(slot.name)
            body.append(f"f{at}")
            rules.append(slot.field.rules(f"f{at}", ending, self.in_json))
            if ending.pattern:
                body.append(f"e{at}" if ending.literal else f"e{at}?")
                rules.append(f"e{at}: E{at}\nE{at}: /{ending.pattern}/\n")
        end = f" ({' | '.join(f'<[{i}]>' for i in end_ids)})?" if end_ids else ""
        return f"start: {' '.join(body)}{end}\n{''.join(rules)}"

    def read(self, text: str) -> Reading:
        """Return the values in `text`, which the judge generated behind the start. Raises ReplyError."""
        at = self._behind(text, 0, Ending(text_at(self.parts, 0)), "at the start")
        values: dict[str, Value] = {}
        spans: dict[str, tuple[int, int]] = {}
        for slot in self.slots:
            ending = self.ending(slot.name)
            try:
                value, end = slot.field.read(text, at, ending, self.in_json)
            except ReplyError as error:
                raise ReplyError(f"{slot.name}: {error}") from None
            values[slot.name], spans[slot.name] = value, (at, end)
            if isinstance(slot.field, VerdictListField):
                values[slot.field.score] = slot.field.share(value)
            at = self._behind(text, end, ending, f"behind {next(reversed(values))}")
        if at != len(text):
            raise ReplyError("more text follows the end of the format")
        return Reading(values, spans)

    def _behind(self, text: str, at: int, ending: Ending, where: str) -> int:
        behind = ending.skip(text, at)
        if behind < 0:
            # A literal may hold an echo, the case's own text: the message only says where it belongs.
            raise ReplyError(f"the layout's text {where} is missing")
        return behind

    def write(self, values: Mapping[str, Value]) -> str:
        """Return the text that a judge would generate for these values."""
        return "".join(
            part if isinstance(part, str) else part.field.write(values[part.name], self.in_json) for part in self.parts
        )


class Reply(Struct, frozen=True):
    """The reply to one case: a fixed start, which is filled in, then the form, which the judge generates.

    `start` holds texts, each with whether it comes from the case. It ends before a blank: many tokenizers join a blank
    and the word behind it, and with the blank in the prompt they could no longer write that word their usual way.
    """

    start: tuple[tuple[str, bool], ...]
    form: Form


def text_at(parts: Sequence[Part], at: int) -> str:
    """Return the literal at that place of a form or layout; empty if none stands there."""
    part = parts[at] if 0 <= at < len(parts) else ""
    return part if isinstance(part, str) else ""
