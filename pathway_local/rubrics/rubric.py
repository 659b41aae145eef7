"""A rubric: the judge's instructions, the inputs they need and the output format with its scores; as a run keeps it.

What a prompt's file means is read once, when the rubric is loaded. A run would read it again whenever it is opened, and
a later release could read it otherwise: then the scale of verdicts that are stored by now would change.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import msgspec
from jinja2 import TemplateSyntaxError

from pathway_local.case import Case
from pathway_local.errors import CaseError, MissingInput, RubricError
from pathway_local.rubrics.consistency import Rule
from pathway_local.rubrics.conversation import conversation_text, messages_in
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import Order, Pair
from pathway_local.rubrics.turn import Turn
from pathway_local.verdict import Number


@dataclass(frozen=True, slots=True)
class Input:
    """A text that a rubric needs of each case. `empty` says whether an empty text is judged or fails the case.

    `default` replaces an input that the case lacks; with None, the case fails. An input that is a `conversation` may be
    a list of messages, which the prompt shows in our rendering.
    """

    name: str
    description: str = ""
    empty: Literal["judge", "fail"] = "fail"
    default: str | None = None
    conversation: bool = False


class Example(msgspec.Struct, frozen=True):
    """A case that people have scored; one without the id of a `case` is made up.

    A run keeps of it a keyed hash of the id, and nothing else.
    """

    case: str = ""
    inputs: Mapping[str, str] = {}
    scores: Mapping[str, Number] = {}
    notes: str = ""


@dataclass(frozen=True)
class Rubric:
    """A rubric as its file declares it. `text` is the whole file; its hash identifies the rubric.

    `notices` tell the user what of the file is ignored. `pair` says how it compares two responses, if it does. `people`
    tells persons how to rate. With `examples`, `text` is the file without them, and `file_hash` the hash of the file.
    Ratings by people under the rubric called `rated_as` count under this one, too.
    """

    name: str
    description: str
    inputs: Mapping[str, Input]
    format: OutputFormat
    turns: tuple[Turn, ...]
    notes: str
    text: str
    rules: tuple[Rule, ...] = ()
    notices: tuple[str, ...] = ()
    pair: Pair | None = None
    people: str = ""
    examples: tuple[Example, ...] = ()
    file_hash: str = ""
    rated_as: str = ""

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's text, in 64 hex digits."""
        return self.file_hash or hashlib.sha256(self.text.encode()).hexdigest()

    @property
    def needs_file(self) -> bool:
        """Whether it comes from a run, which keeps no texts of its examples."""
        return any(not each.inputs for each in self.examples)

    def texts_of(self, case: Case) -> dict[str, str]:
        """Return the texts of `case` that this rubric uses, without those that the case lacks."""
        return {name: case.inputs[name] for name in self.inputs if name in case.inputs}

    def inputs_of(self, case: Case, order: Order = "ab") -> dict[str, str]:
        """Return the texts of `case` that this rubric reads, all of them, in their places. Raises MissingInput."""
        return self.placed(self.completed(self.texts_of(case)), order)

    def placed(self, texts: Mapping[str, str], order: Order) -> dict[str, str]:
        """Return texts by their places in the prompt; those of a comparison have other places in another order."""
        return self.pair.ordered(texts, order) if self.pair else dict(texts)

    def can_read(self, case: Case) -> bool:
        """Whether `case` has all texts that this rubric reads."""
        try:
            self.inputs_of(case)
        except CaseError:
            return False
        return True

    def completed(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return these texts with defaults for those that are missing, and conversations as the prompt shows them.

        Raises MissingInput or BadConversation.
        """
        texts = dict(given)
        shown: dict[str, str] = {}
        for name, wanted in self.inputs.items():
            if name not in texts and wanted.default is not None:
                texts[name] = wanted.default
            elif name not in texts:
                raise MissingInput(f"the input {name!r} is missing")
            elif wanted.empty == "fail" and not texts[name].strip():
                raise MissingInput(f"the input {name!r} is empty")
            shown[name] = _shown(wanted, texts[name])
        return shown


def _shown(wanted: Input, text: str) -> str:
    """Return an input as the prompt shows it. Raises CaseError."""
    messages = messages_in(text, wanted.name) if wanted.conversation else None
    if messages == [] and wanted.empty == "fail":
        raise MissingInput(f"the input {wanted.name!r} has no messages")
    return text if messages is None else conversation_text(messages)


def compiled(rubric: Rubric) -> str:
    """Return the rubric as JSON, without its file's text; the same for the same rubric."""
    return msgspec.json.encode(replace(rubric, text="", notices=()), enc_hook=_plain).decode()


def _plain(value: object) -> object:
    if isinstance(value, OutputFormat):
        return value.outputs.model_dump(mode="json")
    assert isinstance(value, Rule)
    return value.model_dump(mode="json", exclude_none=True)


def read_compiled(text: str, stored: str) -> Rubric:
    """Return the rubric of which `compiled` made `stored`; `text` is that of its file. Raises RubricError."""
    try:
        read = msgspec.json.decode(stored, type=Rubric, dec_hook=_made)
        used = set().union(*(turn.variables for turn in read.turns))
    except (msgspec.MsgspecError, TemplateSyntaxError, RecursionError) as error:
        raise RubricError(f"a stored rubric can't be read ({type(error).__name__})") from None
    named = used | set(read.format.echoes.values())
    if read.pair:
        named |= {*read.pair.swap, *read.pair.swap.values()}
    if not named <= read.inputs.keys() or (read.pair and read.pair.score not in read.format.scores):
        raise RubricError("a stored rubric names what it does not have")
    return replace(read, text=text)


def _made(kind: type, value: object) -> object:
    return OutputFormat.load(value) if kind is OutputFormat else Rule.model_validate(value)
