"""Prompty files: YAML front matter, then a prompt whose turns begin with a role on a line of its own."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from jinja2 import StrictUndefined, Template, TemplateError, TemplateSyntaxError, meta, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from pathway_local.errors import RubricError
from pathway_local.safe_yaml import load_yaml

ROLE = re.compile(r"^[ \t]*(system|user|assistant|developer)[ \t]*:[ \t]*\r?$", re.MULTILINE | re.IGNORECASE)
KEYS = frozenset(("name", "description", "version", "authors", "tags", "model", "inputs", "outputs", "sample", "notes"))
SAMPLING = frozenset(("temperature", "top_p", "top_k", "seed"))

JINJA = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)


_REFUSED = (nodes.Assign, nodes.AssignBlock, nodes.For, nodes.Macro, nodes.CallBlock, nodes.FilterBlock)
_FENCED = "fenced_"


@dataclass(frozen=True)
class Turn:
    """One turn of the prompt: a role and a Jinja template.

    The template may put inputs in (`{{ x }}`) and choose by them (`{% if x %}`), and nothing else: what it
    did to a case's text could not be told apart from the rubric's own words any more.
    """

    role: str
    template: str

    @cached_property
    def variables(self) -> frozenset[str]:
        """The names that the template takes from outside."""
        return frozenset(meta.find_undeclared_variables(JINJA.parse(self.template)))

    @cached_property
    def plain(self) -> bool:
        """Whether inputs are only put in, or asked whether they are empty.

        Then what is around them depends on nothing else, and can be prepared once for all cases.
        """
        tree = JINJA.parse(self.template)
        free = {id(node) for output in tree.find_all(nodes.Output) for node in output.nodes}
        for condition in tree.find_all(nodes.If):
            test = condition.test.node if isinstance(condition.test, nodes.Not) else condition.test
            free.add(id(test))
        return all(id(name) in free for name in tree.find_all(nodes.Name))

    def render(self, values: Mapping[str, str], fenced: Mapping[str, str]) -> str:
        """The turn's text: `values` are what conditions see, `fenced` what is put in. Raises RubricError."""
        named = {f"{_FENCED}{name}": text for name, text in fenced.items()}
        try:
            return self._compiled.render({**values, **named})
        except (TemplateError, TypeError, ValueError, ArithmeticError) as error:
            # The error's own text may quote a case: its kind is all that is told.
            raise RubricError(f"the prompt's template failed with {type(error).__name__}") from None

    def flaw(self) -> tuple[str, int]:
        """What the template may not do, and its line in the template; an empty text where it is fine."""
        tree = JINJA.parse(self.template)
        for refused in tree.find_all(_REFUSED):
            return f"{type(refused).__name__.lower()} is not taken in a rubric", refused.lineno
        for output in tree.find_all(nodes.Output):
            for node in output.nodes:
                if not isinstance(node, nodes.Name | nodes.TemplateData | nodes.Const):
                    return "an input is changed while it is put in", node.lineno
        return "", 0

    @cached_property
    def _compiled(self) -> Template:
        tree = JINJA.parse(self.template)
        for output in tree.find_all(nodes.Output):
            for node in output.nodes:
                if isinstance(node, nodes.Name):
                    node.name = f"{_FENCED}{node.name}"
        return Template.from_code(JINJA, JINJA.compile(tree), {})


@dataclass(frozen=True, slots=True)
class Prompty:
    """What a Prompty file holds; `outputs` is as written, None where the file declares no format."""

    name: str
    description: str
    inputs: Mapping[str, object]
    outputs: object
    turns: tuple[Turn, ...]
    sampling: Mapping[str, float]
    notes: str


def parse_prompty(text: str, where: str) -> Prompty:
    """The parts of a Prompty text; `where` names it in errors. Raises RubricError."""
    matter, body, first_line = split_front_matter(text, where)
    front = load_yaml(matter, where, RubricError, first_line=2)
    if not isinstance(front, Mapping):
        raise RubricError(
            f"{where}: the front matter holds no keys", "Write name:, inputs:, outputs: between the --- lines."
        )
    for key in front:
        if key not in KEYS:
            raise RubricError(f"{where}: unknown key {key!r}", f"Known are {', '.join(sorted(KEYS))}.")
    inputs = front.get("inputs") or {}
    if not isinstance(inputs, Mapping) or not all(isinstance(name, str) for name in inputs):
        raise RubricError(f"{where}: inputs must map names to their descriptions")
    return Prompty(
        name=str(front.get("name") or ""),
        description=str(front.get("description") or ""),
        inputs=inputs,
        outputs=front.get("outputs"),
        turns=split_turns(body, where, first_line),
        sampling=_sampling(front.get("model"), where),
        notes=str(front.get("notes") or ""),
    )


def split_front_matter(text: str, where: str) -> tuple[str, str, int]:
    """Front matter, body and the line number of the body's first line."""
    found = re.match(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$\n?", text, re.DOTALL | re.MULTILINE)
    if not found:
        raise RubricError(
            f"{where}: there is no front matter between two --- lines", "See docs/rubrics.md for the shape."
        )
    return found.group(1), text[found.end() :], found.group().count("\n") + 1


def split_turns(body: str, where: str, first_line: int) -> tuple[Turn, ...]:
    """The turns of a prompt, split on role markers before anything is filled in."""
    marks = list(ROLE.finditer(body))
    if not marks:
        return (_turn("user", body, where, first_line),)
    if body[: marks[0].start()].strip():
        raise RubricError(
            f"{where}: text stands before the first role marker", "Begin the prompt with system: or user:"
        )
    ends = [mark.start() for mark in marks[1:]] + [len(body)]
    return tuple(
        _turn(mark.group(1).lower(), body[mark.end() : end], where, first_line + body[: mark.end()].count("\n"))
        for mark, end in zip(marks, ends, strict=True)
    )


def _turn(role: str, template: str, where: str, line: int) -> Turn:
    turn = Turn("system" if role == "developer" else role, template.strip())
    line += template[: len(template) - len(template.lstrip())].count("\n")
    try:
        flaw, at = turn.flaw()
    except TemplateSyntaxError as error:
        raise RubricError(
            f"{where} line {line + error.lineno - 1}: {error.message}", "Mend the Jinja syntax."
        ) from None
    if flaw:
        hint = "Put inputs in as {{ name }}, and choose with {% if name %}."
        raise RubricError(f"{where} line {line + at - 1}: {flaw}", hint)
    return turn


def _sampling(model: object, where: str) -> dict[str, float]:
    parameters = model.get("parameters") if isinstance(model, Mapping) else None
    if not isinstance(parameters, Mapping):
        return {}
    found = {key: parameters[key] for key in SAMPLING & parameters.keys() if parameters[key] is not None}
    for key, value in found.items():
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise RubricError(f"{where}: model.parameters.{key} must be a number")
    return found
