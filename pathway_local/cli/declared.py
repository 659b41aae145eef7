"""Declares the options of commands that make a rubric, and shows what they need a yes for."""

import re
from collections.abc import Sequence
from typing import Annotated, Any

from pathway_local.cli.command_help import option
from pathway_local.cli.terminal import data, print_text
from pathway_local.errors import RubricError, UsageError
from pathway_local.rendering.rubric_check import inspect
from pathway_local.rubrics.declaration import declaration_of
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.spelling import outputs_in
from pathway_local.system.visible import visible

Fields = Annotated[str, option("FIELDS", "Declare the reply's fields, such as 'reasons: text; score: 1-5'.")]
Lines = Annotated[
    list[str] | None,
    option("LINE", "A line of the reply, with fields' names in braces; repeatable (default: JSON).", "", "--line"),
]

Inputs = Annotated[str, option("NAMES", "The inputs that the judge is given, separated by commas.")]


def declared_outputs(fields: str, lines: Sequence[str] | None) -> dict[str, Any]:
    """Return the `outputs:` block that the options declare. Raises UsageError."""
    try:
        outputs = outputs_in(fields, lines or ())
        OutputFormat.load(outputs)
    except (ValueError, RubricError) as error:
        said = str(error).removeprefix("outputs.fields: ")
        hint = error.hint if isinstance(error, RubricError) else ""
        raise UsageError(said, hint or "docs/rubrics.md lists how to spell a field.") from None
    return outputs


def input_names(given: str) -> list[str]:
    """Return the names in `question, answer`. Raises UsageError."""
    names = [name for name in re.split(r"[\s,]+", given) if name]
    if strange := next((name for name in names if not re.fullmatch(r"[A-Za-z_]\w*", name)), None):
        said = f"--inputs: {strange[:60]!r} is no name of an input"
        raise UsageError(said, "Use letters, digits and _; `judge --map INPUT=COLUMN` reads a column of another name.")
    return names


def show_rubric(rubric: Rubric) -> None:
    """Show the declaration, an example reply, the longest one, and an example prompt."""
    found = inspect(rubric)
    print_text("Declaration", declaration_of(rubric.format.outputs).options())
    for first, second in rubric.pair.swap.items() if rubric.pair else ():
        data.say(f"compares {visible(first)} (A) with {visible(second)} (B); each case is judged in both orders")
    print_text("Example of a reply", found.reply)
    print_text("The longest reply", found.longest)
    print_text("Example of a prompt", found.example)
