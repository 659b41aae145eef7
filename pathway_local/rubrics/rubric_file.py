"""Reads a rubric from its file, the only place where prompts' files become rubrics."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from pathway_local.errors import FormatError, RubricError, UnknownName, UsageError
from pathway_local.rubrics.consistency import read_rules
from pathway_local.rubrics.examples import learns_from_cases, read_examples
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.marks import converted
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.pair import FIELDS, SWAPPED, Pair
from pathway_local.rubrics.prompty_file import (
    Prompty,
    parse_prompty,
    read_front,
    read_text,
    split_front_matter,
    write_front,
)
from pathway_local.rubrics.rubric import Input, Rubric
from pathway_local.rubrics.schema import outputs_of_schema
from pathway_local.system.private_file import closing_command
from pathway_local.system.safe_yaml import Places, load_ours
from pathway_local.system.shipped import shipped

INPUT_KEYS = {"type", "description", "empty", "default", "optional"}


def read_inputs(prompty: Prompty, output_format: OutputFormat) -> dict[str, Input]:
    """Return the inputs by name; those that the prompt uses, if none is declared.

    Raises RubricError if the rubric uses other inputs than it declares.
    """
    used = set().union(*(turn.variables for turn in prompty.turns)) | set(output_format.echoes.values())
    if not used:
        hint = "Insert inputs as {{ answer }}; `rubrics adopt` converts a prompt that marks them otherwise."
        raise RubricError(f"{prompty.places.where}: the prompt has no input, so no case would reach the judge", hint)
    declared = prompty.inputs or dict.fromkeys(sorted(used, key=prompty.body.find))
    inputs = {name: _input(name, each, prompty.places) for name, each in declared.items()}
    unused = [name for name in inputs if name not in used]
    for name in sorted(used - inputs.keys()):
        near = get_close_matches(name, unused, n=1) or get_close_matches(name, inputs, n=1)
        hint = f"Is {near[0]!r} meant? Use one name in both places." if near else "Declare it under inputs."
        raise RubricError(f"{_place_of(name, prompty)}: the prompt uses {name!r}, which inputs does not declare", hint)
    for name in unused:  # unquoted: a line of an example whose inputs are not indented looks like one
        said = f"{prompty.places.of('inputs', name)}: the prompt never uses this input"
        raise RubricError(said, "Use it or remove it.")
    return inputs


def _input(name: str, declared: object, places: Places) -> Input:
    if not isinstance(declared, Mapping):
        return Input(name)
    strange = sorted(set(map(str, declared)) - INPUT_KEYS)
    optional = declared.get("optional") is True
    empty = declared.get("empty", "judge" if optional else "fail")
    if strange or empty not in ("judge", "fail"):
        said = "unknown key of an input" if strange else "empty must be judge or fail"
        where = places.of("inputs", name, strange[0] if strange else "empty")
        raise RubricError(f"{where}: {said}", f"Known keys are {', '.join(sorted(INPUT_KEYS))}.")
    default = declared.get("default", "" if optional else None)
    conversation = declared.get("type") == "conversation"
    description = str(declared.get("description", ""))
    return Input(name, description, empty, None if default is None else str(default), conversation)


def _place_of(name: str, prompty: Prompty) -> str:
    """Return the file, line and column of a name in the prompt's template."""
    found = re.search(rf"\{{[{{%][^{{}}\n]*?\b({re.escape(name)})\b", prompty.body)
    if not found:
        return prompty.places.of("outputs")
    line = prompty.first_line + prompty.body[: found.start(1)].count("\n")
    column = found.start(1) - (prompty.body.rfind("\n", 0, found.start(1)) + 1) + 1
    return f"{prompty.places.where} line {line}, column {column}"


_SWAP = "Name A's input and B's: swap: {response_a: response_b}."


def read_pair(prompty: Prompty, output_format: OutputFormat, inputs: Mapping[str, Input]) -> Pair | None:
    """Return the comparison that `kind` and `swap` make of a rubric; None without them. Raises RubricError."""
    places, kind = prompty.places, prompty.front.get("kind")
    if kind not in (None, "pair"):
        raise RubricError(f"{places.of('kind')}: kind may only be pair", "Correct it, or remove it.")
    if kind is None and "swap" in prompty.front:
        raise RubricError(f"{places.of('swap')}: swap belongs to a comparison", "Add kind: pair.")
    if kind is None:
        _refuse_preference(places, output_format)
        return None
    swap = _swap(prompty, inputs)
    if len(output_format.scores) != 1:
        said = f"{places.of('outputs')}: a comparison needs exactly one score"
        raise RubricError(said, "Its values above 0 prefer response A, those below 0 prefer B, and 0 is a tie.")
    [(name, score)] = output_format.scores.items()
    taken = [each for each in output_format.outputs.fields if each in FIELDS or each.startswith(SWAPPED)]
    if taken:
        said = f"a comparison fills the field {taken[0][:60]!r} itself"
        raise RubricError(f"{places.of('outputs', 'fields', taken[0])}: {said}", "Give the field another name.")
    if not _is_symmetric(score):
        said = f"{places.of('outputs', 'fields', name)}: {name} does not treat A and B alike"
        raise RubricError(said, "Write levels such as {1: A is better, 0: tie, -1: B is better}; the 0 is optional.")
    return Pair(swap, name, score.special)


def _refuse_preference(places: Places, output_format: OutputFormat) -> None:
    """Raise RubricError if a score prefers A or B: without the inputs that hold them, it would be mere categories."""
    for name, score in output_format.scores.items():
        if score.scale == "nominal" and _is_symmetric(score):
            said = f"{name} prefers one of two responses, and nothing says which inputs hold them"
            hint = (
                "Name them: kind: pair with swap: {response_a: response_b}, --swap of rubrics adopt, swap= in Python."
            )
            raise RubricError(f"{places.of('outputs', 'fields', name)}: {said}", hint)


def _swap(prompty: Prompty, inputs: Mapping[str, Input]) -> dict[str, str]:
    """Return the inputs of response A, each with the one of response B."""
    where = prompty.places.of("swap")
    declared = prompty.front.get("swap")
    if not isinstance(declared, Mapping) or not declared:
        raise RubricError(f"{where}: a comparison must say which inputs change places", _SWAP)
    swap = {str(first): str(second) for first, second in declared.items()}
    named = [*swap, *swap.values()]
    for name in named:
        if name not in inputs:
            raise RubricError(f"{where}: swap names {name[:60]!r}, which is not an input", _SWAP)
        if named.count(name) > 1:
            raise RubricError(f"{where}: swap names {name[:60]!r} twice", _SWAP)
    for first, second in swap.items():
        if replace(inputs[first], name="", description="") != replace(inputs[second], name="", description=""):
            said = f"{where}: {first} and {second} differ in empty or default"
            raise RubricError(said, "Declare both alike, or only one order of a case could be judged.")
    return swap


def _is_symmetric(score: ScoreField) -> bool:
    values = {value for value in score.values if value not in score.special}
    return any(values) and values == {-value for value in values}


SUFFIX = ".prompty"
PRIVATE = """\
# This file holds texts of cases, as private as the cases file. Nobody but you may be able to read it (chmod 600), and
# it is deleted with the cases.
"""
PEOPLE = Path(__file__).with_name("people.yaml")
"""How people rate by each built-in rubric."""


def parse_rubric(text: str, where: str) -> Rubric:
    """Return the rubric in a Prompty text; errors call it `where`. Raises RubricError."""
    prompty = parse_prompty(text, where)
    output_format = _read_format(prompty)
    inputs = read_inputs(prompty, output_format)
    fields = [*output_format.scores, *output_format.fields]
    rubric = Rubric(
        name=prompty.text("name") or Path(where).stem,
        description=prompty.text("description"),
        inputs=inputs,
        format=output_format,
        turns=prompty.turns,
        notes=prompty.text("notes"),
        text=text,
        rules=read_rules(prompty.front.get("rules"), inputs, fields, prompty.places),
        notices=tuple(_notices(prompty.front.get("model"))),
        pair=read_pair(prompty, output_format, inputs),
        people=prompty.text("people"),
        rated_as=prompty.text("rated_as"),
    )
    if examples := read_examples(prompty.front.get("examples"), rubric, prompty.places):
        without = f"---\n{write_front({**prompty.front, 'examples': rubric.sha256})}---\n{prompty.body}"
        return replace(rubric, examples=examples, text=without, file_hash=rubric.sha256)
    return rubric


def _notices(model: object) -> Iterator[str]:
    """Yield a note on settings of a model that mean something: options of `judge` say how replies are drawn."""
    settings = model.get("parameters") if isinstance(model, Mapping) else None
    names = [str(name)[:60] for name, value in settings.items() if value] if isinstance(settings, Mapping) else []
    if names:
        yield f"{', '.join(names)} of model.parameters are ignored: judge has --temperature, --seed and --think"


def _read_format(prompty: Prompty) -> OutputFormat:
    """Return the format that the front matter declares. Raises RubricError, with the place."""
    outputs, places = prompty.front.get("outputs"), prompty.places
    if outputs is None:
        hint = f"`pathway-local rubrics adopt {places.where} -o NEW.prompty` proposes one."
        raise RubricError(f"{places.where}: nothing declares the reply's format", hint)
    if not isinstance(outputs, str) and not (isinstance(outputs, Mapping) and {"layout", "fields"} & outputs.keys()):
        try:
            outputs = outputs_of_schema(outputs)
        except ValueError as error:
            hint = "docs/rubrics.md opens with the spellings of fields."
            raise FormatError(f"{places.of('outputs')}: {error}", hint) from None
    totals = outputs.get("totals", {}) if isinstance(outputs, Mapping) else {}
    if not isinstance(totals, Mapping) or not all(isinstance(each, str) for pair in totals.items() for each in pair):
        said = f"{places.of('outputs', 'totals')}: totals must map names to formulas"
        raise FormatError(said, 'Such as totals: {total: "0.5 accuracy + 0.5 tone"}.')
    try:
        return OutputFormat.load(outputs)
    except RubricError as error:
        keys = str(error).split(":")[0].split(".")
        where = places.of(*keys) if keys[0] == "outputs" else places.where
        raise type(error)(f"{where}: {error}", error.hint) from None


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
    rubric = parse_rubric(read_text(path), str(path))
    if learns_from_cases(rubric) and path.stat().st_mode & 0o077:
        said = f"{path} holds texts of cases, so nobody but you may be allowed to read it"
        raise RubricError(said, f"Run: {closing_command(path)}")
    return rubric


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
    front |= {"kind": "pair", "swap": dict(swap)} if swap else {}
    try:
        return parse_rubric(f"---\n{write_front(front)}---\n{template}", name)
    except RubricError as error:  # its place in the front matter would be a line that nobody wrote
        said = re.sub(rf"^{re.escape(name)} line \d+, column \d+", name, str(error))
        raise type(error)(said, error.hint or "docs/rubrics.md opens with the spellings of fields.") from None


def taught_text(rubric: Rubric, name: str, examples: Sequence[Mapping[str, object]]) -> str:
    """Return the file of a rubric with these examples and another name, which people's ratings count for, too."""
    matter, body, _ = split_front_matter(rubric.text, rubric.name)
    front = {**read_front(matter, rubric.name), "name": name, "rated_as": rubric.rated_as or rubric.name}
    return f"---\n{PRIVATE}{write_front({**front, 'examples': examples})}---\n{body}"


def rubric_path(name: str) -> Path:
    """Return the file of the rubric called `name`. Raises UnknownName, UsageError."""
    if name in builtin_names():
        return shipped("prompts") / f"{name}{SUFFIX}"
    if not Path(name).is_file():
        if name.endswith(SUFFIX):
            raise UsageError(f"{name}: there is no such file", "Check the rubric's name and folder.")
        hint = "Name a rubric of your own by its path, such as ./my-rubric.prompty"
        raise UnknownName("rubric", name, builtin_names(), hint)
    return Path(name)
