"""A hosted judge's raw reply as an outcome: read strictly first, then as far as it can be, every break marked."""

from collections.abc import Mapping
from dataclasses import dataclass

from pathway_local.case import fingerprint
from pathway_local.errors import ReplyError
from pathway_local.ratings.reply_json import read_json
from pathway_local.ratings.reply_layout import read_layout
from pathway_local.rubrics.fields import EchoField, TextField
from pathway_local.rubrics.output_format import Form, OutputFormat, Reading, Slot
from pathway_local.verdict import Failure, Outcome, Value, Verdict
from pathway_local.verdict import Score as Given

BREAK = "format:"
"""Begins each mark that says how a reply breaks its format."""

SPACING = f"{BREAK}spacing"
REST = "rest"
"""The field with what a reply holds beside its format."""


@dataclass(frozen=True, slots=True)
class Echoes:
    """What a reply has to give back of its case: a keyed fingerprint of the text by echo field."""

    key: bytes
    expected: Mapping[str, str]

    @classmethod
    def of(cls, key: bytes, output_format: OutputFormat, inputs: Mapping[str, str]) -> "Echoes":
        """The fingerprints of a case's own texts."""
        return cls(
            key,
            {name: _print(key, inputs[asked]) for name, asked in output_format.echoes.items() if asked in inputs},
        )

    def changed(self, name: str, text: Value) -> bool:
        """Whether the reply gave back something else. Without a fingerprint, no."""
        return name in self.expected and _print(self.key, str(text)) != self.expected[name]


def read_reply(text: str, output_format: OutputFormat, echoes: Echoes, *, unfinished: bool = False) -> Outcome:
    """The verdict in a whole reply, with the start that a local judge would have had filled in.

    Marks say how it breaks the format: `format:spacing`, `format:case`, `format:missing:FIELD` and so on; there
    is none where the format is kept to the letter. What has no place in a field is kept as the field "rest". A
    reply in which no score can be read, or one in two ways, is a Failure. `unfinished`: the service cut it off.
    """
    marks = [f"{BREAK}unfinished"] if unfinished else []
    rest: list[str] = []
    try:
        values = _strict(text, output_format).values
    except ReplyError:
        read = read_json if output_format.in_json else read_layout
        try:
            loose = read(text, output_format, unfinished=unfinished)
        except (ReplyError, RecursionError) as error:
            reason = str(error) if isinstance(error, ReplyError) else "it is nested too deep"
            return Failure("unfinished-reply" if unfinished else "unreadable-reply", reason)
        values, rest = loose.values, loose.rest
        marks += [f"{BREAK}{name}" for name in loose.breaks]
    marks += [
        f"{BREAK}echo:{name}" for name in output_format.echoes if name in values and echoes.changed(name, values[name])
    ]
    return _verdict(values, output_format, rest, marks)


def _strict(text: str, output_format: OutputFormat) -> Reading:
    """The values of a reply that has the layout to the letter; echoes may hold any text."""
    parts = tuple(
        Slot(part.name, TextField()) if isinstance(part, Slot) and isinstance(part.field, EchoField) else part
        for part in output_format.parts
    )
    return Form(parts, output_format.in_json).read(text)


def _verdict(values: Mapping[str, Value], output_format: OutputFormat, rest: list[str], marks: list[str]) -> Verdict:
    scores = {name: Given(value) for name in output_format.scores if isinstance(value := values.get(name), int)}
    fields = {name: _clean(values[name]) for name in output_format.fields if name in values}
    if rest:
        fields[output_format.apart(REST)] = "\n\n".join(rest)
    return Verdict(scores, fields, tuple(marks))


def _clean(value: Value) -> Value:
    return value.strip() if isinstance(value, str) else value


def _print(key: bytes, text: str) -> str:
    return fingerprint(key, {"": text})
