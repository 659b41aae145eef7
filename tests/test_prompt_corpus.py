"""Each prompt of the corpus is proposed rightly, asked about or left to be declared; no proposal is a misreading.

A prompt's expected reading stands beside it in tests/prompt_corpus: `read` has its fields in order, `levels` the names
of their values. Where prose alone says what a reply looks like, `right` is asked or declared instead. A field's name
counts unless it begins with an underscore. `swap` has the inputs of two responses that a prompt compares; the choices
of such a score stand in the order B, tie, A. `conversations` has the inputs that may list messages.
"""

import re
from collections import Counter
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import yaml

from pathway_local.adopt.adoption import propose, rubric_text
from pathway_local.adopt.prompt import read_prompt
from pathway_local.adopt.questions import doubts
from pathway_local.errors import PathwayError
from pathway_local.rendering.rubric_check import check_grammars, example_inputs
from pathway_local.rubrics.fields import ScoreField
from pathway_local.rubrics.kind import FieldKind
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.rubrics.verdict_list import VerdictListField

FOLDER = Path(__file__).parent / "prompt_corpus"
CORPUS = {
    f"{path.stem}: {entry['name']}": entry
    for path in sorted(FOLDER.glob("*.yaml"))
    for entry in yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.BaseLoader)
}
MISREAD = "misread"


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
        prompt = read_prompt(str(entry["prompt"]).encode(), "mine.txt")
        found = propose(prompt)
        if not found.fields or not found.inputs.said:
            return "to declare", "", None
        if found.open:
            return "open", str(found.fields), None
        rubric = parse_rubric(rubric_text(prompt, found, "mine.txt", confirmed=True), "mine.prompty")
        check_grammars(rubric.format, example_inputs(rubric), None)
    except PathwayError as error:
        return "refused", str(error), None
    right = (
        "right" if is_right(rubric, entry) else "asked" if found.questions or doubts(prompt.source, rubric) else MISREAD
    )
    return right, shown(rubric), rubric


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
    swap = dict(rubric.pair.swap) if rubric.pair else {}
    talks = [name for name, wanted in rubric.inputs.items() if wanted.conversation or wanted.looped]
    if entry.get("conversations", talks) != talks:
        return False
    right = readings == [read_as(field) for field in fields.values()] and swap == entry.get("swap", {})
    return right and named and list(rubric.inputs) == declared


def test_no_proposal_is_a_misreading() -> None:
    misread = {name: said for name in CORPUS for became, said, _ in [outcome(name)] if became == MISREAD}
    assert not misread


def test_half_of_the_prompts_and_more_are_proposed_rightly() -> None:
    counts = Counter(outcome(name)[0] for name in CORPUS)
    assert len(CORPUS) == 322
    assert 2 * counts["right"] >= len(CORPUS) and counts["refused"] <= 15, counts


if __name__ == "__main__":
    for name, (became, said, _) in {name: outcome(name) for name in CORPUS}.items():
        print(f"{became}: {name}\n    {said}")
    print(Counter(outcome(name)[0] for name in CORPUS))
