"""Writes the prompt of a new rubric from its criterion, in five languages."""

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

from pathway_local.rubrics.fields import EchoField, ScoreField, TextField
from pathway_local.rubrics.form import Slot
from pathway_local.rubrics.marks import escaped
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.rubrics.prompty_file import write_front
from pathway_local.system.safe_yaml import load_ours

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
