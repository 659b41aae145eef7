"""A rubric: the judge's instructions, the inputs they need and the output format with its scores."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pathway_local.case import Case
from pathway_local.errors import CaseError, MissingInput, RubricError, UnknownName
from pathway_local.prompty.prompty_file import LIMIT, parse_prompty, text_of
from pathway_local.prompty.turn import Turn
from pathway_local.rubrics.consistency import Rule, read_rules
from pathway_local.rubrics.conversation import BadConversation, listed, messages_in, parts, written
from pathway_local.rubrics.criteria import criteria_prompty, is_criteria
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import Order, Pair, read_pair
from pathway_local.rubrics.references import resolved
from pathway_local.rubrics.rubric_format import read_format
from pathway_local.rubrics.rubric_inputs import Input, read_inputs, with_inputs_used
from pathway_local.system.shipped import shipped

SUFFIX = ".prompty"
MOST_BYTES = 4 * LIMIT


FormatFrom = Literal["file", "criteria"]


@dataclass(frozen=True)
class Rubric:
    """A rubric as its file declares it. `text` is the whole file; its hash identifies the rubric.

    `notices` tell the user how the file was read. `pair` says how it compares two responses, if it does. `format_from`
    says whether the file declares the output format or has criteria alone.
    """

    name: str
    description: str
    inputs: Mapping[str, Input]
    format: OutputFormat
    turns: tuple[Turn, ...]
    sampling: Mapping[str, float]
    notes: str
    text: str
    rules: tuple[Rule, ...] = ()
    notices: tuple[str, ...] = ()
    sample: Mapping[str, str] | None = None
    pair: Pair | None = None
    format_from: FormatFrom = "file"

    @cached_property
    def sha256(self) -> str:
        """SHA-256 of the file's text, in 64 hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

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

    def as_listed(self, texts: Mapping[str, str]) -> dict[str, str]:
        """Return stand-ins for a case's texts, each as one message where the rubric goes through messages."""
        looped = {name for name, wanted in self.inputs.items() if wanted.looped and not texts[name].startswith("[")}
        return {name: listed(text) if name in looped else text for name, text in texts.items()}

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
            shown |= _shown(wanted, texts[name])
        return shown


def _shown(wanted: Input, text: str) -> dict[str, str]:
    """Return an input as the prompt shows it, with the parts of each message for a loop. Raises CaseError."""
    messages = messages_in(text, wanted.name) if wanted.conversation or wanted.looped else None
    if messages == [] and wanted.empty == "fail":
        raise MissingInput(f"the input {wanted.name!r} has no messages")
    if wanted.looped and messages is None and text.strip():
        raise BadConversation(f"the input {wanted.name!r} is not a list of messages, such as [{{role, content}}, …]")
    shown = {wanted.name: text if messages is None else written(messages)}
    return shown | parts(wanted.name, messages) if wanted.looped and messages else shown


def parse_rubric(text: str, where: str) -> Rubric:
    """Return the rubric in a Prompty or criteria text; errors call it `where`. Raises RubricError."""
    criteria = is_criteria(text)
    prompty = criteria_prompty(text, where) if criteria else parse_prompty(text, where)
    if not prompty.declared:
        prompty = with_inputs_used(prompty)
    output_format, format_notices = read_format(prompty)
    inputs, input_notices = read_inputs(prompty, output_format)
    fields = [*output_format.scores, *output_format.fields]
    return Rubric(
        name=prompty.name or Path(where).stem,
        description=prompty.description,
        inputs=inputs,
        format=output_format,
        turns=prompty.turns,
        sampling=prompty.model.sampling,
        notes=prompty.notes,
        text=text,
        rules=read_rules(prompty.rules, inputs, fields, prompty.places),
        notices=(*prompty.notices, *format_notices, *input_notices, *prompty.model.notices),
        sample=prompty.sample,
        pair=read_pair(prompty, output_format, inputs),
        format_from="criteria" if criteria else "file",
    )


def builtin_names() -> list[str]:
    """Return the names of the rubrics that ship with the package."""
    return sorted(path.stem for path in shipped("prompts").glob(f"*{SUFFIX}"))


def load_rubric(name: str, *, references: bool = False) -> Rubric:
    """Return the rubric called `name`: a built-in one, or the path of a file. Raises UnknownName or RubricError.

    With `references`, values replace ${env:…} and ${file:…} in its front matter first, also in the rubric's text.
    """
    path = rubric_path(name)
    text = read_text(path)
    return parse_rubric(resolved(text, path) if references else text, str(path))


def rubric_path(name: str) -> Path:
    """Return the file of the rubric called `name`. Raises UnknownName."""
    if name in builtin_names():
        return shipped("prompts") / f"{name}{SUFFIX}"
    if not Path(name).is_file():
        hint = "Name a rubric of your own by its path, such as ./my-rubric.prompty"
        raise UnknownName("rubric", name, builtin_names(), hint)
    return Path(name)


def read_text(path: Path) -> str:
    """Return the text of a rubric's file, with \\n as line ends. Raises RubricError."""
    return text_of(read_prompt(path), str(path)).replace("\r\n", "\n").replace("\r", "\n")


def read_prompt(path: Path) -> bytes:
    """Return the bytes of a prompt's file. Raises RubricError if it can't be read or is too large for a prompt."""
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise RubricError(f"{path} can't be read: {error.strerror}", "Check the path.") from None
    if len(data) > MOST_BYTES:
        raise RubricError(f"{path}: more than {MOST_BYTES:,} bytes are too long for a prompt", "Name another file.")
    return data
