"""A rubric as a Python program loads and checks it."""

import os
from collections.abc import Mapping, Sequence

from pathway_local.errors import UsageError
from pathway_local.prompty.rubric_file import declare_rubric, load_rubric
from pathway_local.rendering.rubric_check import inspect
from pathway_local.rubrics.rubric import Rubric as FileRubric
from pathway_local.verdict import Number

Name = str | os.PathLike[str]


def check_names(*given: object) -> None:
    """Raise UsageError if a name or path, also one in a list, holds a NUL character: no file's name can."""
    for each in given:
        if isinstance(each, list | tuple):
            check_names(*each)
        elif isinstance(each, str | os.PathLike) and "\0" in os.fsdecode(each):
            raise UsageError(f"the name {os.fsdecode(each)!r} holds a NUL character", "No file's name can hold one.")


class Rubric:
    """A rubric, loaded from `file`: a built-in one's name, or a path."""

    def __init__(self, file: str, read: FileRubric) -> None:
        self.file = file
        self.name = read.name
        self.description = read.description
        self.read = read

    @classmethod
    def load(cls, name: Name) -> "Rubric":
        """Return a built-in rubric by its name, or the rubric in a file. Raises RubricError, UsageError."""
        check_names(name)
        return cls(os.fspath(name), load_rubric(os.fspath(name)))

    @classmethod
    def declare(cls, prompt: str, outputs: object, *, name: str, inputs: Sequence[str] = ()) -> "Rubric":
        """Return a rubric of a prompt and its reply's format. Raises RubricError.

        `outputs` is a text such as "reasons: text; score: 1-5", a JSON Schema, or a Pydantic model; a field of the
        model says by `json_schema_extra={"spelling": "no < yes"}` what its type can't. Without `inputs`, they are those
        that the prompt marks, such as {{answer}}.
        """
        schema = getattr(outputs, "model_json_schema", None)
        return cls(name, declare_rubric(name, prompt, schema() if schema else outputs, inputs))

    def __repr__(self) -> str:
        return f"Rubric({self.file!r})"

    @property
    def inputs(self) -> list[str]:
        """The columns that the cases need."""
        return list(self.read.inputs)

    @property
    def scores(self) -> dict[str, Mapping[Number, str]]:
        """The scores, each with its values and their names; an unnamed value has an empty one."""
        scores = self.read.format.scores
        return {name: {value: each.levels.get(value, "") for value in each.values} for name, each in scores.items()}

    def check(self) -> list[str]:
        """Return what `pathway-local rubrics check` notes. Raises RubricError if `judge` would refuse the rubric."""
        return [*self.read.notices, *inspect(self.read, None).advice]
