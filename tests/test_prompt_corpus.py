"""Each prompt of the corpus is declared as it shows its form, or asked about; nothing that is filled in is wrong.

A prompt's meaning stands beside it in tests/prompt_corpus: `read` has its fields in order, `levels` the names of their
values. A field's name counts unless it begins with an underscore. `conversations` has the inputs that may list
messages.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest
import yaml

from pathway_local.declare.prompt import propose, read_prompt, rubric_text
from pathway_local.errors import PathwayError
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rubrics.fields import FieldKind, ScoreField
from pathway_local.rubrics.lists import VerdictListField
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.rubrics.spelling import block_of

FOLDER = Path(__file__).parent / "prompt_corpus"
CORPUS = {
    f"{path.stem}: {entry['name']}": entry
    for path in sorted(FOLDER.glob("*.yaml"))
    for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
}
RIGHT = """
further: a yes or no with explanation in JSON
json: a skeleton
json: nested scores
json: a boolean verdict
json: two scales in one object
languages: reasons first beside a field for them
languages: a final line behind a labelled reason
last: a total that sums
last: a confidence as a percentage
last: YAML instead of JSON
more: an integer range in a string value
numbers: stars
numbers: feedback and result
pairs: both scored and compared
refused: a list that breaks off
tags_and_lines: tags shown
tags_and_lines: the score first, then the reason
tags_and_lines: a heading with the score
verdicts: a verdict for each claim
verdicts: levels
""".strip().split("\n")
"""The prompts that show all of their form."""


def read_as(field: FieldKind) -> str:
    """Return a field as the corpus writes it."""
    if isinstance(field, VerdictListField):
        return ", ".join(f"{name} {read_as(member)}" for name, member in field.members.items())
    if not isinstance(field, ScoreField):
        choices = getattr(field, "choices", ())
        return f"constant {choices[0]}" if len(choices) == 1 else " | ".join(choices) or str(getattr(field, "type", ""))
    written = {value: text.strip('"') for text, value in field.values_by_text(False).items()}
    joint = " | " if field.scale == "nominal" else " < "
    on_scale = joint.join(text for value, text in written.items() if value not in field.special)
    special = " ".join(text for value, text in written.items() if value in field.special)
    return on_scale + (f"; special {special}" if special else "")


def spelled(wanted: str) -> str:
    """Return an expected field in full: 1..3 is 1 < 2 < 3."""
    found = re.match(r"(-?\d+)\.\.(-?\d+)(?: step ([\d.]+))?", wanted.removeprefix("choice "))
    if not found:
        return wanted.removeprefix("choice ")
    low, high, step = int(found[1]), int(found[2]), found[3] or "1"
    places = len(step.partition(".")[2])
    values = [f"{low + at * float(step):.{places}f}" for at in range(round((high - low) / float(step)) + 1)]
    return " < ".join(values) + wanted.removeprefix("choice ")[found.end() :]


@cache
def outcome(name: str) -> tuple[str, str, Rubric | None]:
    """Return what became of a prompt, what was proposed or said, and the rubric."""
    entry = CORPUS[name]
    try:
        prompt = read_prompt(str(entry["prompt"]), "mine.txt")
    except PathwayError as error:
        return "refused", str(error), None
    if not prompt.inputs:
        return "asked for inputs", "", None
    found = propose(prompt)
    if found.open:
        return "asked in part" if found.told else "asked", found.declared, None
    text = rubric_text(prompt, block_of(found.declared, found.lines), "mine.txt", {})
    rubric = parse_rubric(text, "mine.prompty")
    check_grammars(rubric.format, example_inputs(rubric), None)
    return "right" if is_right(rubric, entry) else "wrong", shown(rubric), rubric


def shown(rubric: Rubric) -> str:
    fields = rubric.format.outputs.fields
    levels = {name: list(levels.values()) for name, field in fields.items() if (levels := getattr(field, "levels", {}))}
    return f"{ {name: read_as(field) for name, field in fields.items()} } {levels}"


def is_right(rubric: Rubric, entry: Mapping[str, object]) -> bool:
    wanted = entry.get("read")
    if not isinstance(wanted, Mapping):
        return False
    fields = rubric.format.outputs.fields
    readings = [spelled(str(reading)) for reading in wanted.values()]
    named = all(name == own or name.startswith("_") for name, own in zip(wanted, fields, strict=False))
    levels = [label for field in fields.values() for label in getattr(field, "levels", {}).values()]
    if levels and entry.get("levels", levels) != levels:
        return False
    declared = entry.get("inputs", list(rubric.inputs))
    talks = [name for name, wanted in rubric.inputs.items() if wanted.conversation]
    if entry.get("conversations", talks) != talks:
        return False
    right = readings == [read_as(field) for field in fields.values()]
    return right and named and list(rubric.inputs) == declared


@pytest.mark.parametrize("name", RIGHT)
def test_a_prompt_that_shows_its_form_is_declared_by_it(name: str) -> None:
    assert outcome(name)[0] == "right", outcome(name)


def test_every_other_prompt_is_asked_about_or_refused() -> None:
    counts = Counter(outcome(name)[0] for name in CORPUS)
    assert {name for name in CORPUS if outcome(name)[0] in ("right", "wrong")} == {*RIGHT}
    assert len(CORPUS) == 322 and counts["refused"] == 13 and counts["asked in part"] >= 115, counts


def test_what_is_filled_in_is_right_where_something_else_is_asked() -> None:
    for name, entry in CORPUS.items():
        became, declared, _ = outcome(name)
        wanted = entry.get("read")
        for field in declared.split("; ") if became == "asked in part" and isinstance(wanted, Mapping) else ():
            called, _, spelling = field.partition(": ")
            if "?" not in spelling and called in wanted:
                read = OutputFormat.load(f"{field}; more: 1-2").outputs.fields[called]
                assert read_as(read) == spelled(str(wanted[called])), name


if __name__ == "__main__":
    for name in CORPUS:
        print(*outcome(name)[:2], name, sep=": ")
    print(Counter(outcome(name)[0] for name in CORPUS))
