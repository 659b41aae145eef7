"""Reads a rubric from its file, the only place where prompts' files become rubrics."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from pathway_local.errors import FormatError, RubricError, UnknownName
from pathway_local.rubrics.consistency import read_rules
from pathway_local.rubrics.criteria import criteria_prompty, is_criteria
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.front_matter import write_front
from pathway_local.rubrics.marks import converted
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import FIELDS, SWAPPED, Pair
from pathway_local.rubrics.prompty_file import LIMIT, Prompty, declared_inputs, parse_prompty, text_of
from pathway_local.rubrics.rubric import Input, Rubric
from pathway_local.rubrics.schema import outputs_of_schema
from pathway_local.system.safe_yaml import Places, load_ours, load_yaml
from pathway_local.system.shipped import shipped

KEYS = {"type", "kind", "description", "empty", "default", "sample", "optional", "required", "is_required", "strict"}


def read_inputs(prompty: Prompty, output_format: OutputFormat) -> tuple[dict[str, Input], tuple[str, ...]]:
    """Return the inputs by name, and notes for the user. Raises RubricError."""
    notices: list[str] = []
    inputs = {name: _input(name, declared, prompty) for name, declared in prompty.inputs.items()}
    inputs = _settled(inputs, prompty, output_format, notices)
    if not inputs:
        hint = "Insert inputs as {{ answer }}; `rubrics adopt` converts a prompt that marks them otherwise."
        raise RubricError(f"{prompty.places.where}: the prompt has no input, so no case would reach the judge", hint)
    return inputs, tuple(notices)


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


KIND = "pair"

_SWAP = "Name A's input and B's: swap: {response_a: response_b}."


def read_pair(prompty: Prompty, output_format: OutputFormat, inputs: Mapping[str, Input]) -> Pair | None:
    """Return the comparison that a rubric's front matter declares, None if it has none. Raises RubricError."""
    if prompty.kind != KIND:
        if prompty.swap is not None:
            raise RubricError(f"{prompty.places.of('swap')}: swap belongs to a comparison", "Add kind: pair.")
        _refuse_preference(prompty, output_format)
        return None
    swap = _swap(prompty, inputs)
    if len(output_format.scores) != 1:
        said = f"{prompty.places.of('outputs')}: a comparison needs exactly one score"
        raise RubricError(said, "Its values above 0 prefer response A, those below 0 prefer B, and 0 is a tie.")
    [(name, score)] = output_format.scores.items()
    taken = [each for each in output_format.outputs.fields if each in FIELDS or each.startswith(SWAPPED)]
    if taken:
        said = (
            f"{prompty.places.of('outputs', 'fields', taken[0])}: a comparison fills the field {taken[0][:60]!r} itself"
        )
        raise RubricError(said, "Give the field another name.")
    if not _is_symmetric(score):
        said = f"{prompty.places.of('outputs', 'fields', name)}: {name} does not treat A and B alike"
        raise RubricError(said, "Write levels such as {1: A is better, 0: tie, -1: B is better}; the 0 is optional.")
    return Pair(swap, name, score.special)


def _refuse_preference(prompty: Prompty, output_format: OutputFormat) -> None:
    """Raise RubricError if a score prefers A or B: without the inputs that hold them, it would be mere categories."""
    for name, score in output_format.scores.items():
        if score.scale == "nominal" and _is_symmetric(score):
            where = prompty.places.of("outputs", "fields", name)
            said = f"{where}: {name} prefers one of two responses, and nothing says which inputs hold them"
            hint = "Add kind: pair and swap: {response_a: response_b} (in Python: swap={...}), or number levels from 1."
            raise RubricError(said, hint)


def _swap(prompty: Prompty, inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the inputs of response A, each with the one of response B."""
    where = prompty.places.of("swap")
    if not isinstance(prompty.swap, Mapping) or not prompty.swap:
        raise RubricError(f"{where}: a comparison must say which inputs change places", _SWAP)
    swap = {str(first): str(second) for first, second in prompty.swap.items()}
    named = [*swap, *swap.values()]
    for name in named:
        if name not in inputs:
            raise RubricError(f"{where}: swap names {name[:60]!r}, which is not an input", _SWAP)
        if named.count(name) > 1:
            raise RubricError(f"{where}: swap names {name[:60]!r} twice", _SWAP)
    for first, second in swap.items():
        if _rules(inputs[first]) != _rules(inputs[second]):
            said = f"{where}: {first} and {second} differ in empty or default"
            raise RubricError(said, "Declare both alike, or only one order of a case could be judged.")
    return swap


def _rules(wanted: Input) -> Input:
    return replace(wanted, name="", description="")


def _is_symmetric(score: ScoreField) -> bool:
    values = {value for value in score.values if value not in score.special}
    return any(values) and values == {-value for value in values}


SUFFIX = ".prompty"
PEOPLE = Path(__file__).with_name("people.yaml")
"""How people rate by each built-in rubric."""
MOST_BYTES = 4 * LIMIT


def parse_rubric(text: str, where: str, prompt_file: str = "") -> Rubric:
    """Return the rubric in a Prompty or criteria text; errors call it `where`. Raises RubricError.

    Its prompt may come from another file, `prompt_file`.
    """
    criteria = is_criteria(text)
    prompty = criteria_prompty(text, where) if criteria else parse_prompty(text, where, prompt_file)
    if not prompty.declared:
        prompty = with_inputs_used(prompty)
    output_format, format_notices = _read_format(prompty)
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
        people=prompty.people,
    )


def _read_format(prompty: Prompty) -> tuple[OutputFormat, tuple[str, ...]]:
    """Return the format, and notes for the user. Raises RubricError."""
    output_format = _load_format(_declared(prompty), prompty)
    return output_format, tuple(_length_notices(output_format, prompty.model.max_tokens))


def _declared(prompty: Prompty) -> object:
    outputs = prompty.outputs if prompty.outputs is not None else prompty.model.schema
    if isinstance(outputs, str) or (isinstance(outputs, Mapping) and not {"layout", "fields"}.isdisjoint(outputs)):
        return outputs
    where = prompty.places.where
    if outputs is None:
        said = f"{where}: nothing declares the reply's format"
        raise RubricError(said, f"`pathway-local rubrics adopt {where} -o NEW.prompty` proposes one.")
    try:
        return outputs_of_schema(outputs)
    except ValueError as error:
        at = prompty.places.of("outputs") if prompty.outputs is not None else where
        raise FormatError(f"{at}: {error}", "docs/rubrics.md opens with the spellings of fields.") from None


def _load_format(outputs: object, prompty: Prompty) -> OutputFormat:
    try:
        return OutputFormat.load(outputs)
    except RubricError as error:
        keys = str(error).split(":")[0].split(".")
        where = prompty.places.of(*keys) if keys[0] == "outputs" else prompty.places.where
        raise type(error)(f"{where}: {error}", error.hint) from None


def _length_notices(output_format: OutputFormat, limit: int) -> Iterator[str]:
    needed = output_format.reply(dict.fromkeys(output_format.echoes.values(), "x")).form.reserve
    if limit and limit < needed:
        yield f"max_tokens {limit} can't hold the output format: raised to {needed}"


def builtin_names() -> list[str]:
    """Return the names of the rubrics that ship with the package."""
    return sorted(path.stem for path in shipped("prompts").glob(f"*{SUFFIX}"))


def load_rubric(name: str) -> Rubric:
    """Return the rubric called `name`: a built-in one, or the path of a file. Raises UnknownName or RubricError."""
    return _built_in(name) if name in builtin_names() else _read(rubric_path(name))


@cache
def _built_in(name: str) -> Rubric:
    return replace(_read(rubric_path(name)), people=load_ours(PEOPLE).get(name, "").strip())


def _read(path: Path) -> Rubric:
    text, prompt_file = beside_prompt(read_text(path), path)
    return parse_rubric(text, str(path), prompt_file)


def beside_prompt(text: str, path: Path) -> tuple[str, str]:
    """Return a rubric's text, with that file's prompt in it if its first line is `prompt: FILE`; and that file.

    Raises RubricError for a prompt outside the rubric's folder or with front matter of its own.
    """
    found = re.match(r"\ufeff?prompt:[ \t]*(\S.*?)[ \t]*\n", text)
    if not found:
        return text, ""
    prompt = path.parent / found[1].strip("'\"")
    if not prompt.resolve().is_relative_to(path.parent.resolve()):
        raise RubricError(f"{path}: {found[1]} lies outside the rubric's folder", "Move the prompt beside the rubric.")
    body, front = read_text(prompt), text[found.end() :].rstrip("\n") + "\n"
    if body.startswith("---\n"):
        raise RubricError(f"{path}: {found[1]} has front matter of its own", "Declare the format there.")
    read = load_yaml(front, str(path), RubricError, first_line=2)
    names = declared_inputs(read, Places(front, str(path), first_line=2)) if isinstance(read, Mapping) else {}
    return f"---\n{front}---\n{converted(body, names, str(prompt))[0]}", str(prompt)


def declare_rubric(
    name: str, prompt: str, outputs: object, inputs: Sequence[str] = (), swap: Mapping[str, str] | None = None
) -> Rubric:
    """Return a rubric of a prompt and the declaration of its reply: spelled fields, or a JSON Schema.

    Without `inputs`, they are those that the prompt marks. `swap` makes it a comparison. Raises RubricError.
    """
    template, names = converted(prompt, inputs, f"the prompt of {name}")
    front: dict[str, object] = {
        "name": name,
        "outputs": outputs,
        "inputs": {each: {"type": "string"} for each in names},
    }
    front |= {"kind": KIND, "swap": dict(swap)} if swap else {}
    try:
        return parse_rubric(f"---\n{write_front(front)}---\n{template}", name, f"the prompt of {name}")
    except RubricError as error:  # its place in the front matter would be a line that nobody wrote
        said = re.sub(rf"^{re.escape(name)} line \d+, column \d+", name, str(error))
        raise type(error)(said, error.hint or "docs/rubrics.md opens with the spellings of fields.") from None


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
