"""Turns a hosted judge's raw reply into an outcome: read strictly first, then leniently, with a mark for each break."""

from collections.abc import Mapping
from dataclasses import dataclass

from pathway_local.case import fingerprint
from pathway_local.errors import ReplyError
from pathway_local.ratings.reply_json import read_json
from pathway_local.ratings.reply_layout import read_layout
from pathway_local.rubrics.fields import EchoField, TextField
from pathway_local.rubrics.form import Form, Reading, Slot
from pathway_local.rubrics.output_format import OutputFormat
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
                read_json(text, output_format) if in_json else read_layout(text, output_format, unfinished=unfinished)
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
