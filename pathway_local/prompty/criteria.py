"""Rubrics that have criteria and no prompt: they get a standard prompt and a standard layout.

A file is YAML or JSON, in one of three shapes: Prometheus' (`criteria` and `score1_description` …), flow-judge's
(`criteria`, `rubric` with score and description, `required_inputs`), and our own (`criteria`, `levels`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pathway_local.errors import RubricError
from pathway_local.prompty.front_matter import ModelBlock
from pathway_local.prompty.new_rubric import standard_prompt
from pathway_local.prompty.prompty_file import Prompty, people_in
from pathway_local.rubrics.output_format import Outputs
from pathway_local.rubrics.turn import placed_turn
from pathway_local.system.safe_yaml import Places, load_yaml

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
        # Braces in a criterion are text.
        turns=(placed_turn("system", system), placed_turn("user", user, "double-braces", list(read.inputs))),
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
