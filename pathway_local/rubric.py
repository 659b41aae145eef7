"""A rubric: the judge's instructions, the inputs they need and the output format with its scores."""

import hashlib
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from functools import cached_property
from pathlib import Path
from typing import Literal

from pathway_local.adopt.finding import Source
from pathway_local.adopt.formats import FoundFormat, find_format
from pathway_local.adopt.inputs import find_inputs
from pathway_local.adopt.placeholders import Placeholders, shown
from pathway_local.adopt.schemas import schema_candidates
from pathway_local.case import Case
from pathway_local.consistency import Rule, read_rules
from pathway_local.criteria import criteria_prompty, is_criteria
from pathway_local.errors import MissingInput, RubricError, UnknownName
from pathway_local.fields import Text
from pathway_local.output_format import OutputFormat
from pathway_local.prompty import Prompty, Turn, parse_prompty
from pathway_local.references import resolved
from pathway_local.shipped import shipped

SUFFIX = ".prompty"
INPUT_KEYS = {
    "type",
    "kind",
    "description",
    "empty",
    "default",
    "sample",
    "optional",
    "required",
    "is_required",
    "strict",
}
LEAST_TOKENS = 32
"""What a text is left with when a prompt's own limit is short."""


@dataclass(frozen=True, slots=True)
class Input:
    """What a rubric needs of a case; `empty` says whether an empty text is judged or fails the case.

    `default` stands in where the case has no such input at all; None fails the case.
    """

    name: str
    description: str = ""
    empty: Literal["judge", "fail"] = "fail"
    default: str | None = None


@dataclass(frozen=True)
class Rubric:
    """A rubric as its file declares it. `text` is the whole file: its hash tells rubrics apart.

    `notices` are what its user should know of how the file was read.
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

    @cached_property
    def sha256(self) -> str:
        """Hash of the file's text, 64 hex digits."""
        return hashlib.sha256(self.text.encode()).hexdigest()

    def texts_of(self, case: Case) -> dict[str, str]:
        """The texts of `case` that this rubric reads, as far as they are there."""
        return {name: case.inputs[name] for name in self.inputs if name in case.inputs}

    def inputs_of(self, case: Case) -> dict[str, str]:
        """The texts of `case` that this rubric reads, all of them. Raises MissingInput."""
        texts = self.texts_of(case)
        for name, wanted in self.inputs.items():
            if name not in texts and wanted.default is not None:
                texts[name] = wanted.default
            elif name not in texts:
                raise MissingInput(f"the input {name!r} is missing")
            elif wanted.empty == "fail" and not texts[name].strip():
                raise MissingInput(f"the input {name!r} is empty")
        return {name: texts[name] for name in self.inputs}


def parse_rubric(text: str, where: str) -> Rubric:
    """The rubric that a Prompty or criteria text declares; `where` names it in errors. Raises RubricError."""
    prompty = criteria_prompty(text, where) if is_criteria(text) else parse_prompty(text, where)
    if not prompty.declared:
        prompty = _with_inputs_used(prompty)
    source = Source(shown(prompty.body, prompty.template.syntax), prompty.first_line)
    found = None if _is_declared(prompty.outputs) else _found_format(prompty, source)
    output_format = _load_format(found.outputs if found else prompty.outputs, prompty)
    notices = list(prompty.notices)
    if found:
        notices.append(f"the output format was found in the prompt: {found.findings[0].value}")
        output_format = _fitted(output_format, found, prompty.model.max_tokens)
    notices += [*_length_notices(output_format, prompty.model.max_tokens), *prompty.model.notices]
    inputs = {name: _input(name, declared, prompty) for name, declared in prompty.inputs.items()}
    inputs = _settled(inputs, prompty, output_format, notices)
    inputs = _with_empties(inputs, prompty, source, notices)
    fields = [*output_format.scores, *output_format.fields]
    rules = prompty.rules if prompty.rules is not None or found is None else (found.rules or None)
    return Rubric(
        name=prompty.name or Path(where).stem,
        description=prompty.description,
        inputs=inputs,
        format=output_format,
        turns=prompty.turns,
        sampling=prompty.model.sampling,
        notes=prompty.notes,
        text=text,
        rules=read_rules(rules, inputs, fields, prompty.places),
        notices=tuple(notices),
        sample=prompty.sample,
    )


def builtin_names() -> list[str]:
    """The names of the rubrics that ship with the package."""
    return sorted(path.stem for path in shipped("prompts").glob(f"*{SUFFIX}"))


def load_rubric(name: str, *, references: bool = False) -> Rubric:
    """The rubric called `name`: one of ours, or the path of a file.

    With `references`, ${env:…} and ${file:…} in its front matter are looked up first; the rubric's text then
    holds what they stood for. Raises UnknownName or RubricError.
    """
    path = rubric_path(name)
    text = read_text(path)
    return parse_rubric(resolved(text, path) if references else text, str(path))


def rubric_path(name: str) -> Path:
    """The file of the rubric called `name`. Raises UnknownName."""
    if name in builtin_names():
        return shipped("prompts") / f"{name}{SUFFIX}"
    if not Path(name).is_file():
        hint = "A rubric of your own is named by its path, such as ./my-rubric.prompty"
        raise UnknownName("rubric", name, builtin_names(), hint)
    return Path(name)


def read_text(path: Path) -> str:
    """The text of a rubric's file. Raises RubricError."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise RubricError(f"{path} can't be read: {reason}", "Check the path and the file's encoding.") from None


def _is_declared(outputs: object) -> bool:
    """Whether the block is one of ours: a schema has neither a layout nor fields."""
    return isinstance(outputs, Mapping) and not {"layout", "fields"}.isdisjoint(outputs)


def _found_format(prompty: Prompty, source: Source) -> FoundFormat:
    where = prompty.places.where
    adopt = f"`pathway-local rubrics adopt {where} -o NEW.prompty`"
    declared = prompty.outputs if prompty.outputs is not None else prompty.model.schema
    found = find_format(source, list(prompty.inputs), list(schema_candidates(declared)))
    if found is None:
        said = f"{where}: there is no outputs: block, and the prompt asks for no format that holds a score"
        raise RubricError(said, f"Declare one, or give the prompt one: {adopt[:-1]} --layout score-line`.")
    if found.doubt:
        open_point = next(finding for finding in found.findings if finding.doubt)
        at = f" line {open_point.line}" if open_point.line else ""
        hint = f"Settle it with {adopt}, which asks or marks what is open."
        raise RubricError(f"{where}{at}: the output format is not certain: {found.doubt}", hint)
    return found


def _load_format(outputs: object, prompty: Prompty) -> OutputFormat:
    try:
        return OutputFormat.load(outputs)
    except RubricError as error:
        keys = str(error).split(":")[0].split(".")
        where = prompty.places.of(*keys) if keys[0] == "outputs" else prompty.places.where
        raise type(error)(f"{where}: {error}", error.hint) from None


def _fitted(output_format: OutputFormat, found: FoundFormat, limit: int) -> OutputFormat:
    """The format with shorter texts, so that a reply keeps the prompt's own limit, where that leaves them sense."""
    texts = {name: slot.tokens for name, slot in output_format.fields.items() if isinstance(slot, Text)}
    fixed = _plan(output_format) - sum(texts.values())
    if not texts or not limit or _plan(output_format) <= limit or limit - fixed < LEAST_TOKENS * len(texts):
        return output_format
    share = (limit - fixed) / sum(texts.values())
    fields = {
        name: declared.field | ({"tokens": max(LEAST_TOKENS, int(texts[name] * share))} if name in texts else {})
        for name, declared in found.fields.items()
    }
    return OutputFormat.load({"layout": found.layout, "fields": fields})


def _plan(output_format: OutputFormat) -> int:
    return output_format.reply(dict.fromkeys(output_format.echoes.values(), "x")).plan


def _length_notices(output_format: OutputFormat, limit: int) -> Iterator[str]:
    needed = _plan(output_format)
    if limit and limit < needed:
        yield f"max_tokens {limit} can't hold the output format: raised to {needed}"


def _input(name: str, declared: object, prompty: Prompty) -> Input:
    if not isinstance(declared, Mapping):
        return Input(name)
    strange = sorted(set(map(str, declared)) - INPUT_KEYS)
    optional = declared.get("optional") is True or False in (declared.get("required"), declared.get("is_required"))
    empty = declared.get("empty", "judge" if optional else "fail")
    if strange or empty not in ("judge", "fail"):
        said = f"has an unknown key {strange[0]!r}" if strange else "has empty: neither judge nor fail"
        where = prompty.places.of("inputs", name, strange[0] if strange else "empty")
        raise RubricError(f"{where}: inputs.{name} {said}", "Known are type, description and empty: judge | fail.")
    default = declared.get("default", "" if optional else None)
    text = None if default is None else "" if default in ({}, []) else str(default)
    return Input(name, str(declared.get("description", "")), empty, text)


def _with_inputs_used(prompty: Prompty) -> Prompty:
    """The prompt with the names in its template as inputs: it declares none at all."""
    used = sorted(set().union(*(turn.variables for turn in prompty.turns)), key=prompty.body.find)
    if not used:
        return prompty
    notice = f"no inputs are declared: the prompt uses {', '.join(used)}"
    return replace(prompty, inputs=dict.fromkeys(used), notices=(*prompty.notices, notice))


def _settled(
    inputs: Mapping[str, Input], prompty: Prompty, output_format: OutputFormat, notices: list[str]
) -> dict[str, Input]:
    """The inputs that are used. Raises RubricError where declared and used ones differ."""
    used = set().union(*(turn.variables for turn in prompty.turns)) | set(output_format.echoes.values())
    where = prompty.places.where
    unused = [name for name in inputs if name not in used]
    for name in sorted(used - inputs.keys()):
        near = get_close_matches(name, unused, n=1) or get_close_matches(name, inputs, n=1)
        hint = f"Is {near[0]!r} meant? Use one name in both places." if near else "Declare it there."
        raise RubricError(f"{_place_of(name, prompty)}: the prompt uses {name!r}, which inputs does not declare", hint)
    for name in unused:
        if inputs[name].default is None:
            at = prompty.places.of("inputs", name) if prompty.declared else where
            raise RubricError(f"{at}: inputs declares {name!r}, which the prompt never uses", "Use it or leave it out.")
        notices.append(f"the optional input {name!r} is left out: the prompt never uses it")
    return {name: wanted for name, wanted in inputs.items() if name in used}


def _place_of(name: str, prompty: Prompty) -> str:
    """File, line and column of a name in the prompt's template."""
    found = re.search(rf"\{{[{{%][^{{}}\n]*?\b({re.escape(name)})\b", prompty.body)
    if not found:
        return prompty.places.of("outputs")
    line = prompty.first_line + prompty.body[: found.start(1)].count("\n")
    column = found.start(1) - (prompty.body.rfind("\n", 0, found.start(1)) + 1) + 1
    return f"{prompty.places.where} line {line}, column {column}"


def _with_empties(
    inputs: Mapping[str, Input], prompty: Prompty, source: Source, notices: list[str]
) -> dict[str, Input]:
    """Inputs of which the prompt says that they may be empty, and the front matter nothing, are judged so."""
    silent = [name for name in inputs if "empty" not in _mapping(prompty.inputs.get(name))]
    settled = dict(inputs)
    for found in find_inputs(source, Placeholders("none", {}), silent) if silent else ():
        if found.empty and inputs[found.name].empty == "fail":
            settled[found.name] = replace(inputs[found.name], empty="judge")
            notices.append(f"an empty {found.name!r} is judged: the prompt says that it may be empty")
    return settled


def _mapping(value: object) -> Mapping[object, object]:
    return value if isinstance(value, Mapping) else {}
