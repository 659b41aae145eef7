"""The inputs of a rubric: compares those that its front matter declares with those that its prompt uses."""

import re
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches

from pathway_local.errors import RubricError
from pathway_local.prompty.prompty_file import Prompty
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Input

KEYS = {"type", "kind", "description", "empty", "default", "sample", "optional", "required", "is_required", "strict"}


def read_inputs(prompty: Prompty, output_format: OutputFormat) -> tuple[dict[str, Input], tuple[str, ...]]:
    """Return the inputs by name, and notes for the user. Raises RubricError."""
    notices: list[str] = []
    inputs = {name: _input(name, declared, prompty) for name, declared in prompty.inputs.items()}
    inputs = _settled(inputs, prompty, output_format, notices)
    if not inputs:
        hint = "Insert inputs as {{ answer }}, or declare how the prompt marks them (template:)."
        raise RubricError(f"{prompty.places.where}: the prompt has no input, so no case would reach the judge", hint)
    looped = frozenset[str]().union(*(turn.loops for turn in prompty.turns))
    return {name: replace(wanted, looped=name in looped) for name, wanted in inputs.items()}, tuple(notices)


def with_inputs_used(prompty: Prompty) -> Prompty:
    """Return the prompt, which declares no inputs, with the names in its template as inputs."""
    used = sorted(set().union(*(turn.variables for turn in prompty.turns)), key=prompty.body.find)
    if not used:
        return prompty
    notice = f"no inputs are declared: the prompt uses {', '.join(used)}"
    return replace(prompty, inputs=dict.fromkeys(used), notices=(*prompty.notices, notice))


def _input(name: str, declared: object, prompty: Prompty) -> Input:
    if not isinstance(declared, Mapping):
        return Input(name)
    strange = sorted(set(map(str, declared)) - KEYS)
    optional = declared.get("optional") is True or False in (declared.get("required"), declared.get("is_required"))
    empty = declared.get("empty", "judge" if optional else "fail")
    if strange or empty not in ("judge", "fail"):
        said = f" has an unknown key {strange[0][:60]!r}" if strange else ".empty must be judge or fail"
        where = prompty.places.of("inputs", name, strange[0] if strange else "empty")
        raise RubricError(f"{where}: inputs.{name}{said}", "Known keys are type, description and empty: judge | fail.")
    default = declared.get("default", "" if optional else None)
    text = None if default is None else "" if default in ({}, []) else str(default)
    conversation = declared.get("type", declared.get("kind")) == "conversation"
    return Input(name, str(declared.get("description", "")), empty, text, conversation)


def _settled(
    inputs: Mapping[str, Input], prompty: Prompty, output_format: OutputFormat, notices: list[str]
) -> dict[str, Input]:
    """Return the inputs that the rubric uses. Raises RubricError if it declares others."""
    used = set().union(*(turn.variables for turn in prompty.turns)) | set(output_format.echoes.values())
    where = prompty.places.where
    unused = [name for name in inputs if name not in used]
    for name in sorted(used - inputs.keys()):
        near = get_close_matches(name, unused, n=1) or get_close_matches(name, inputs, n=1)
        hint = f"Is {near[0]!r} meant? Use one name in both places." if near else "Declare it under inputs."
        raise RubricError(f"{_place_of(name, prompty)}: the prompt uses {name!r}, which inputs does not declare", hint)
    for name in unused:
        if inputs[name].default is None:
            at = prompty.places.of("inputs", name) if prompty.declared else where
            raise RubricError(f"{at}: inputs declares {name!r}, which the prompt never uses", "Use it or remove it.")
        notices.append(f"the optional input {name!r} is ignored: the prompt never uses it")
    return {name: wanted for name, wanted in inputs.items() if name in used}


def _place_of(name: str, prompty: Prompty) -> str:
    """Return the file, line and column of a name in the prompt's template."""
    found = re.search(rf"\{{[{{%][^{{}}\n]*?\b({re.escape(name)})\b", prompty.body)
    if not found:
        return prompty.places.of("outputs")
    line = prompty.first_line + prompty.body[: found.start(1)].count("\n")
    column = found.start(1) - (prompty.body.rfind("\n", 0, found.start(1)) + 1) + 1
    return f"{prompty.body_file} line {line}, column {column}"
