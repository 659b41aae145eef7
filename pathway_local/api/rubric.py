"""A rubric as a Python program loads and checks it, and the names and paths that a program gives."""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from inspect import cleandoc

from pathway_local.errors import RubricError, UsageError
from pathway_local.judging.plan import OPTIONS
from pathway_local.rendering.rubric_check import inspect
from pathway_local.rubrics.rubric import Rubric as FileRubric
from pathway_local.rubrics.rubric_file import declare_rubric, load_rubric, parse_rubric
from pathway_local.system.options import flag
from pathway_local.system.shipped import with_pages
from pathway_local.verdict import Number

Name = str | os.PathLike[str]


def path_text(given: object) -> str:
    """Return the name or path that a program gave as a text. Raises UsageError for anything else."""
    if not isinstance(given, str | os.PathLike):
        raise UsageError(f"a name or path is of type {type(given).__name__}", "Give a text or a Path.")
    return os.fsdecode(given)


_MAPS = re.compile(r"--map (?:'(\w+=[^']+)'|(\w+=[^\s']+?)(?=[.,;]?(?:\s|$)))")


def in_python(text: str, options: Iterable[str] = OPTIONS) -> str:
    """Return a message or hint with a program's arguments in place of the command's options: `without_text`."""
    if maps := list(_MAPS.finditer(text)):
        told = dict((each[1] or each[2]).split("=", 1) for each in maps)
        text = f"{text[: maps[0].start()]}map={told}{text[maps[-1].end() :]}"
    names = {flag(name): name for name in options}
    return re.sub(r"(?<![\w-])--[a-z][a-z-]*", lambda found: names.get(found[0], found[0]), with_pages(text))


class Rubric:
    """A rubric: a built-in one, one of a file, or one that a program declares."""

    def __init__(self, read: FileRubric) -> None:
        self.name, self.description, self.read = read.name, read.description, read

    @classmethod
    def load(cls, name: Name) -> "Rubric":
        """Return a built-in rubric by its name, or the rubric in a file. Raises RubricError, UsageError."""
        return cls(load_rubric(path_text(name)))

    @classmethod
    def from_text(
        cls,
        text: str,
        outputs: object = None,
        *,
        name: str = "rubric",
        inputs: Sequence[str] = (),
        swap: Mapping[str, str] | None = None,
    ) -> "Rubric":
        """Return the rubric whose file would hold this text; with `outputs`, of a prompt and its reply's format.

        `outputs` is a text such as "reasons: text; score: 1-5", a JSON Schema, or a Pydantic model; a field of the
        model says by `json_schema_extra={"spelling": "no < yes"}` what its type can't. Without `inputs`, they are those
        that the prompt marks, such as {{answer}}. `swap` maps response A's input to B's, if a field prefers one of
        them. Raises RubricError, UsageError.
        """
        schema = getattr(outputs, "model_json_schema", None)
        outputs = schema() if schema else outputs
        inputs = [inputs] if isinstance(inputs, str) else inputs
        for what, given, kinds in (
            ("text", text, str),
            ("name", name, str),
            ("outputs", "" if outputs is None else outputs, str | Mapping),
            ("swap", swap or {}, Mapping),
            ("inputs", inputs, Sequence),
        ):
            if not isinstance(given, kinds):
                raise UsageError(f"{what} is of type {type(given).__name__}", "help(pathway_local.Rubric.from_text)")
        if outputs is None and (inputs or swap):
            said = f"{'inputs' if inputs else 'swap'} needs outputs"
            raise UsageError(said, "A rubric's file declares it itself.")
        told = outputs is not None
        return cls(declare_rubric(name, text, outputs, inputs, swap) if told else parse_rubric(text, name))

    @classmethod
    def of_model(cls, model: object) -> "Rubric":
        """Return the rubric of a Pydantic model, which is the reply's format; its docstring is the prompt.

        Raises UsageError for anything else, RubricError.
        """
        prompt = cleandoc(getattr(model, "__doc__", None) or "")
        if not isinstance(model, type) or not hasattr(model, "model_json_schema"):
            said = f"a rubric is a {type(model).__name__}"
            raise UsageError(said, "Give a rubric's name or file, a Rubric, or a Pydantic model.")
        if not prompt:
            said = f"the model {model.__name__} has no docstring, which would be the prompt"
            hint = f"Write one, with inputs such as {{{{answer}}}}, or: Rubric.from_text(PROMPT, {model.__name__})."
            raise RubricError(said, hint)
        return cls.from_text(prompt, model, name=model.__name__)

    def __repr__(self) -> str:
        return f"Rubric({self.name!r})"

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
        inspect(self.read)
        return list(self.read.notices)
