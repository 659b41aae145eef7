"""A rubric: the judge's instructions, the inputs they need and the output format with its scores."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Literal

from pathway_local.case import Case
from pathway_local.errors import MissingInput, RubricError, UnknownName
from pathway_local.output_format import OutputFormat
from pathway_local.prompty import Prompty, Turn, parse_prompty
from pathway_local.shipped import shipped

SUFFIX = ".prompty"


@dataclass(frozen=True, slots=True)
class Input:
    """What a rubric needs of a case; `empty` says whether an empty text is judged or fails the case."""

    name: str
    description: str = ""
    empty: Literal["judge", "fail"] = "fail"


@dataclass(frozen=True)
class Rubric:
    """A rubric as its file declares it. `text` is the whole file: its hash tells rubrics apart."""

    name: str
    description: str
    inputs: Mapping[str, Input]
    format: OutputFormat
    turns: tuple[Turn, ...]
    sampling: Mapping[str, float]
    notes: str
    text: str

    @cached_property
    def sha256(self) -> str:
        """Hash of the file's text, 64 hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def texts_of(self, case: Case) -> dict[str, str]:
        """The texts of `case` that this rubric reads, as far as they are there."""
        return {name: case.inputs[name] for name in self.inputs if name in case.inputs}

    def inputs_of(self, case: Case) -> dict[str, str]:
        """The texts of `case` that this rubric reads, all of them. Raises MissingInput."""
        for name, wanted in self.inputs.items():
            if name not in case.inputs:
                raise MissingInput(f"the input {name!r} is missing")
            if wanted.empty == "fail" and not case.inputs[name].strip():
                raise MissingInput(f"the input {name!r} is empty")
        return self.texts_of(case)


def parse_rubric(text: str, where: str) -> Rubric:
    """The rubric that the Prompty text declares; `where` names it in errors. Raises RubricError."""
    prompty = parse_prompty(text, where)
    if prompty.outputs is None:
        raise RubricError(
            f"{where}: there is no outputs: block", "Declare the output format; docs/rubrics.md shows how."
        )
    try:
        output_format = OutputFormat.load(prompty.outputs)
    except RubricError as error:
        raise type(error)(f"{where}: {error}", error.hint) from None
    inputs = {name: _input(name, declared, where) for name, declared in prompty.inputs.items()}
    _check_inputs(prompty, inputs, output_format, where)
    return Rubric(
        name=prompty.name or Path(where).stem,
        description=prompty.description,
        inputs=inputs,
        format=output_format,
        turns=prompty.turns,
        sampling=prompty.model.sampling,
        notes=prompty.notes,
        text=text,
    )


def builtin_names() -> list[str]:
    """The names of the rubrics that ship with the package."""
    return sorted(path.stem for path in shipped("prompts").glob(f"*{SUFFIX}"))


def load_rubric(name: str) -> Rubric:
    """The rubric called `name`: one of ours, or the path of a file. Raises UnknownName or RubricError."""
    path = Path(name)
    if name in builtin_names():
        path = shipped("prompts") / f"{name}{SUFFIX}"
    elif not path.is_file():
        hint = "A rubric of your own is named by its path, such as ./my-rubric.prompty"
        raise UnknownName("rubric", name, builtin_names(), hint)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RubricError(f"{path} can't be read: {reason}", "Check the path and the file's encoding.") from None
    return parse_rubric(text, str(path))


def _input(name: str, declared: object, where: str) -> Input:
    if not isinstance(declared, Mapping):
        return Input(name)
    strange = sorted(set(map(str, declared)) - {"type", "description", "empty", "default", "is_required", "required"})
    empty = declared.get("empty", "fail")
    if strange or empty not in ("judge", "fail"):
        said = f"has an unknown key {strange[0]!r}" if strange else "has empty: neither judge nor fail"
        raise RubricError(f"{where}: inputs.{name} {said}", "Known are type, description and empty: judge | fail.")
    return Input(name, str(declared.get("description", "")), empty)


def _check_inputs(prompty: Prompty, inputs: Mapping[str, Input], output_format: OutputFormat, where: str) -> None:
    used = set().union(*(turn.variables for turn in prompty.turns)) | set(output_format.echoes.values())
    for name in sorted(used - inputs.keys()):
        raise RubricError(f"{where}: the prompt uses {name!r}, which inputs does not declare", "Declare it there.")
    for name in sorted(inputs.keys() - used):
        raise RubricError(f"{where}: inputs declares {name!r}, which the prompt never uses", "Use it or leave it out.")
