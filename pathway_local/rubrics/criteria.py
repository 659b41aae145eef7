"""Rubrics that have criteria and no prompt get a standard prompt and layout; a new one is written in five languages.

A file is YAML or JSON, in one of three shapes: Prometheus' (`criteria` and `score1_description` …), flow-judge's
(`criteria`, `rubric` with score and description, `required_inputs`), and our own (`criteria`, `levels`).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pathway_local.errors import RubricError
from pathway_local.rubrics.fields import EchoField, ScoreField, TextField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.front_matter import ModelBlock, write_front
from pathway_local.rubrics.marks import escaped
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.rubrics.prompty_file import Prompty, checked_turn, people_in
from pathway_local.system.safe_yaml import Places, load_ours, load_yaml

WORDS_FILE = Path(__file__).with_suffix(".yaml")
MOST_LEVELS = 11
"""Levels at most that a prompt lists one by one."""


@cache
def phrases() -> Mapping[str, Mapping[str, str]]:
    """Return the words of the prompt and of the questions, by language."""
    return dict(load_ours(WORDS_FILE))


def new_rubric(
    name: str, language: str, criterion: str, inputs: Sequence[str], outputs: object, meanings: Mapping[str, str]
) -> str:
    """Return the text of the rubric's file, with its `outputs:` block as it is declared.

    `meanings` are those of the scores' levels, as the judge writes them. No input may be empty.
    """
    criterion = " ".join(criterion.split())
    wanted = {each: {"type": "string", "empty": "fail"} for each in inputs}
    front = {"name": name, "description": criterion, "inputs": wanted, "outputs": outputs}
    system, user = standard_prompt(language, criterion, inputs, Outputs.model_validate(outputs), meanings)
    return f"---\n{write_front(front)}---\nsystem:\n{system}\n\nuser:\n{user}\n"


def standard_prompt(
    language: str, criterion: str, inputs: Sequence[str], outputs: Outputs, meanings: Mapping[str, str]
) -> tuple[str, str]:
    """Return a system and a user turn for this criterion; all inputs stand in the user turn."""
    said = phrases()[language]
    levels = "\n".join(f"- {level}: {' '.join(meaning.split())}" for level, meaning in meanings.items())
    parts = (
        said["opening"],
        f"# {said['criterion']}\n{criterion}",
        f"# {said['levels']}\n{levels}" if levels else "",
        f"# {said['output']}\n{said['form']}\n{skeleton(outputs)}",
    )
    case = (f"<{each}>\n{{{{ {each} }}}}\n</{each}>" for each in inputs)
    # Braces in a criterion are text.
    return escaped("\n\n".join(filter(None, parts))), "\n\n".join((*case, said["closing"]))


def with_meanings(outputs: Outputs, ask: Callable[[str, str], str]) -> tuple[Outputs, dict[str, str]]:
    """Return the format with a name for each level, and what each level means.

    `ask` gets a score and a level that no name explains, and returns its meaning or an empty text.
    """
    fields, meanings = dict(outputs.fields), dict[str, str]()
    scores = [(name, field) for name, field in fields.items() if isinstance(field, ScoreField)]
    for name, field in scores:
        levels = dict(field.levels)
        for text, value in field.values_by_text(False).items() if len(field.values) <= MOST_LEVELS else ():
            named = levels.get(value, "")
            if meaning := named if named not in ("", text) else ask(name, text):
                meanings[f"{name} {text}" if len(scores) > 1 else text] = meaning
                levels[value] = named or meaning
        fields[name] = field.model_copy(update={"levels": levels})
    return outputs.model_copy(update={"fields": fields}), meanings


def skeleton(outputs: Outputs) -> str:
    """Return the reply's form as a prompt shows it, such as `Score: <1-5>`."""
    output_format = OutputFormat(outputs)
    parts = (part if isinstance(part, str) else _mark(part, output_format.in_json) for part in output_format.parts)
    return "".join(parts)


def _mark(slot: Slot, in_json: bool) -> str:
    field = slot.field
    if isinstance(field, EchoField):
        return f"<{field.input}>"
    if not isinstance(field, ScoreField | TextField):
        return field.write(field.example(slot.name), in_json)
    mark = f"<{_values(field) if isinstance(field, ScoreField) else field.description or slot.name}>"
    return f'"{mark}"' if in_json and field.write(field.example(slot.name), True).startswith('"') else mark


def _values(field: ScoreField) -> str:
    values = field.values_by_text(False)
    texts = sorted(values, key=lambda text: values[text] in field.special)
    if field.written or field.step != 1 or field.special:
        return " | ".join(texts) if len(texts) <= 2 * MOST_LEVELS else f"{texts[0]}-{texts[-1]}"
    return f"{texts[0]}-{texts[-1]}"


KEYS = {"name", "description", "criteria", "levels", "inputs", "notes", "people", "rules", "rubric", "score_rubric"}
FLOW_KEYS = {"required_inputs", "required_output"}
INPUTS = ("instruction", "response")
PROMETHEUS = "Feedback: {feedback} [RESULT] {score}"
FLOW = "<feedback>\n{feedback}\n</feedback>\n<score>\n{score}\n</score>"

_KEYS = (r"[\"']?criteria[\"']?\s*:", r"[\"']?(?:levels|rubric|score\d{1,3}_description)[\"']?\s*:")
_WHOLE = re.compile(r"-?\d{1,9}")
_SCORE = re.compile(r"score(\d{1,3})_description")


@dataclass(frozen=True, slots=True)
class _Criteria:
    criteria: str
    levels: Mapping[int, str]
    inputs: Mapping[str, object]
    layout: str


def is_criteria(text: str) -> bool:
    """Return whether the text is a criteria file: without front matter, and with criteria and levels among its keys."""
    bare = text.lstrip("\ufeff \t\r\n")
    begins = r"[{,\s]" if bare.startswith("{") else r"^[ \t]*"
    return not bare.startswith("---") and all(re.search(rf"{begins}{key}", bare, re.MULTILINE) for key in _KEYS)


def criteria_prompty(text: str, where: str) -> Prompty:
    """Return the standard prompt for these criteria. Raises RubricError."""
    block = load_yaml(text, where, RubricError)
    if not isinstance(block, Mapping) or not all(isinstance(key, str) for key in block):
        raise RubricError(f"{where}: a criteria file must be keys and values", "Write criteria: and levels: in it.")
    places = Places(text, where)
    inner = block.get("score_rubric")
    read = _read({**block, **inner} if isinstance(inner, Mapping) else block, places)
    names = {number: " ".join(text.split()) for number, text in read.levels.items()}
    feedback = {"type": "text", "tokens": 300, "description": "why this score, held against the levels"}
    outputs = {"layout": read.layout, "fields": {"feedback": feedback, "score": {"type": "score", "levels": names}}}
    criterion = f"{read.criteria}\nJudge the {list(read.inputs)[-1]} by it."
    meanings = {str(number): text for number, text in names.items()}
    system, user = standard_prompt("en", criterion, list(read.inputs), Outputs.model_validate(outputs), meanings)
    return Prompty(
        name=str(block.get("name") or ""),
        description=str(block.get("description") or read.criteria),
        inputs=read.inputs,
        outputs=outputs,
        turns=(checked_turn("system", system, 1, where), checked_turn("user", user, 1, where)),
        model=ModelBlock(),
        notes=str(block.get("notes") or ""),
        places=places,
        rules=block.get("rules"),
        people=people_in(block, places) or (read.criteria if block.get("description") else ""),
    )


def _read(block: Mapping[str, object], places: Places) -> _Criteria:
    strange = sorted(key for key in block if key not in KEYS | FLOW_KEYS and not _SCORE.fullmatch(key))
    if strange:
        known = "Known are criteria, levels (or score1_description … or rubric), inputs, name, description, notes, "
        known += "people, rules."
        raise RubricError(f"{places.of(strange[0])}: unknown key {strange[0]!r}", known)
    criteria = block.get("criteria")
    if not isinstance(criteria, str) or not criteria.strip():
        raise RubricError(f"{places.of('criteria')}: criteria must be a text", "Write in it what to judge.")
    flow = isinstance(block.get("rubric"), Sequence)
    return _Criteria(criteria.strip(), _levels(block, places), _inputs(block, places), FLOW if flow else PROMETHEUS)


def _levels(block: Mapping[str, object], places: Places) -> dict[int, str]:
    found: dict[object, object] = {}
    for key, value in block.items():
        if described := _SCORE.fullmatch(key):
            found[int(described.group(1))] = value
    levels = block.get("levels")
    for key, value in levels.items() if isinstance(levels, Mapping) else ():
        number = int(key) if isinstance(key, str) and _WHOLE.fullmatch(key) else key  # a key of JSON is always a text
        if number in found:
            raise RubricError(f"{places.of('levels')}: the level {number} stands twice", "Describe each level once.")
        found[number] = value
    items = block.get("rubric")
    for item in items if isinstance(items, list) else ():
        plain = isinstance(item, Mapping) and set(item) == {"score", "description"} and isinstance(item["score"], int)
        if not plain or item["score"] in found:
            hint = "Such as - {score: 1, description: Wrong.}"
            raise RubricError(f"{places.of('rubric')}: each entry needs its own score and a description", hint)
        found[item["score"]] = item["description"]
    levels = {
        number: text.strip()
        for number, text in found.items()
        if isinstance(number, int) and not isinstance(number, bool) and isinstance(text, str)
    }
    numbers = sorted(levels)
    if len(levels) != len(found) or len(levels) < 2 or numbers != list(range(numbers[0], numbers[-1] + 1)):
        hint = "Describe each whole number of the scale; it has two numbers or more."
        raise RubricError(f"{places.of('levels')}: the levels are not a scale without gaps", hint)
    return {number: levels[number] for number in numbers}


def _inputs(block: Mapping[str, object], places: Places) -> dict[str, object]:
    """Return the inputs by name. The last one is judged."""
    declared = block.get("inputs")
    if isinstance(declared, Mapping):
        return {str(name): value for name, value in declared.items()}
    names = declared if isinstance(declared, list) else list(INPUTS)
    if "required_inputs" in block or "required_output" in block:
        before = block.get("required_inputs") or []
        names = [*(before if isinstance(before, list) else [None]), block.get("required_output") or "response"]
    if not names or not all(isinstance(name, str) and re.fullmatch(r"[A-Za-z_]\w*", name) for name in names):
        raise RubricError(f"{places.of('inputs')}: inputs must be names", "Such as inputs: [question, answer].")
    return dict.fromkeys(names)
