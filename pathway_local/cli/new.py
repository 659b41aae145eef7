"""`pathway-local rubrics new`: from nothing to a rubric that judges, in one dialog or one line of options."""

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from pathway_local.cli.options import Force, option
from pathway_local.cli.terminal import check_new, complain, data, notice, print_text
from pathway_local.errors import RubricError, UnknownName, UsageError
from pathway_local.rendering.rubric_check import inspect
from pathway_local.rubrics.criteria import new_rubric, phrases, with_meanings
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.rubrics.spelling import block_of
from pathway_local.system.private_file import output_file
from pathway_local.system.visible import visible

Fields = Annotated[str, option("FIELDS", "Declare the reply's fields, such as 'reasons: text; score: 1-5'.")]
Lines = Annotated[
    list[str] | None,
    option("LINE", "A line of the reply, with fields' names in braces; repeatable (default: JSON).", "--line"),
]

Inputs = Annotated[str, option("NAMES", "The inputs that the judge is given, separated by commas.")]


def declared_outputs(fields: str, lines: Sequence[str] | None) -> str | dict[str, str]:
    """Return the `outputs:` block that the options declare. Raises UsageError."""
    try:
        outputs = block_of(fields, lines or ())
        OutputFormat.load(outputs)
    except (ValueError, RubricError) as error:
        said = str(error).removeprefix("outputs.fields: ")
        hint = error.hint if isinstance(error, RubricError) else ""
        raise UsageError(said, hint or "docs/rubrics.md lists how to spell a field.") from None
    return outputs


def input_names(given: str) -> list[str]:
    """Return the names in `question, answer`; blanks within one become `_`. Raises UsageError."""
    # Blanks must not part names: columns are called "student question", and judge finds them with `_`, too.
    names = list(dict.fromkeys("_".join(each.split()) for each in given.split(",") if each.strip()))
    if strange := next((name for name in names if not re.fullmatch(r"[A-Za-z_]\w*", name)), None):
        said = f"--inputs: {strange[:60]!r} is no name of an input"
        raise UsageError(said, "Use letters, digits and _; `judge --map INPUT=COLUMN` reads a column of another name.")
    return names


def show_rubric(rubric: Rubric, fields: str, lines: Sequence[str], language: str = "en") -> None:
    """Show the declaration, an example reply, and an example prompt."""
    found, heads = inspect(rubric), phrases()[language]
    said = [f"--fields {shlex.quote(fields)}", *(f"--line {shlex.quote(line)}" for line in lines)]
    print_text(heads["declaration"], " ".join(said))
    for first, second in rubric.pair.swap.items() if rubric.pair else ():
        data.say(f"compares {visible(first)} (A) with {visible(second)} (B); each case is judged in both orders")
    print_text(heads["example_reply"], found.reply)
    print_text(heads["example_prompt"], found.example)


T = TypeVar("T")

USUAL = "reasons: text; score: 1-5"


def new(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The rubric file to write, such as polite.prompty.")],
    criterion: Annotated[str, option("TEXT", "What is judged, such as 'Is the answer polite?'.")] = "",
    inputs: Inputs = "",
    fields: Fields = "",
    lines: Lines = None,
    language: Annotated[str, option("LANGUAGE", "The prompt's and the questions': en, de, es, fr or pt.")] = "en",
    force: Force = False,
) -> None:
    """Write a rubric with its prompt from a criterion, the inputs and the declared format; asks for what is missing."""
    check_new(file, force=force)
    if language not in phrases():
        raise UnknownName("language", language, phrases())
    said, given = phrases()[language], {"--criterion": criterion, "--inputs": inputs, "--fields": fields}
    missing = [flag for flag, value in given.items() if not value.strip()]
    if missing and not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{missing[0]} is missing", "Give it, or answer the questions in a terminal.")
    criterion = answer(criterion, said["ask_criterion"], None, str.strip)
    names = answer(inputs, said["ask_inputs"], "question, answer", input_names)
    declared = answer(fields, said["ask_fields"], USUAL, lambda typed: (declared_outputs(typed, lines), typed)[1])

    def ask(score: str, level: str) -> str:
        question = said["ask_level"].format(score=score, level=level)
        return str(typer.prompt(question, default="", show_default=False, err=True)) if missing else ""

    declaration = declared_outputs(declared, lines)
    outputs = OutputFormat.load(declaration).outputs
    named, meanings = with_meanings(outputs, ask)
    block = declaration if named == outputs else _in_full(named)
    text = new_rubric(file.stem, language, criterion, names, block, meanings)
    show_rubric(parse_rubric(text, str(file)), declared, lines or (), language)
    if missing and not _agreed(said["ask_yes"], *said["letters"]):
        notice("nothing was written")
        return
    write_rubric(file, text, force=force)
    notice(f"judge with it: pathway-local judge CASES --rubric {shlex.quote(str(file))}")


def write_rubric(file: Path, text: str, *, force: bool) -> None:
    """Write a rubric's file and say so. Raises OutputExists."""
    with output_file(file, force=force) as written:
        written.write(text.encode())
    notice(f"wrote {file}")


def _agreed(question: str, yes: str, no: str) -> bool:
    """Return whether the person says yes, by the letters of the dialog's language."""
    typed = ""
    while typed not in (yes, no):
        typed = typer.prompt(f"{question} ({yes}/{no})", err=True).strip().casefold()
    return typed == yes


def _in_full(outputs: Outputs) -> dict[str, object]:
    """Return an `outputs:` block with the levels' names, which a declared line may lack."""
    full = {name: field.model_dump(mode="json", exclude_defaults=True) for name, field in outputs.fields.items()}
    fields = {name: {"type": outputs.fields[name].type, **each} for name, each in full.items()}
    return {"layout": outputs.layout, "fields": fields}


def answer(given: str, question: str, default: str | None, read: Callable[[str], T]) -> T:
    """Return what was given as an option, or typed in answer to the question, which is asked until it can be read."""
    while not given.strip():
        try:
            return read(typer.prompt(question, default=default, err=True))
        except UsageError as error:
            complain(error)
    return read(given)
