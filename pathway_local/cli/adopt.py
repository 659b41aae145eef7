"""`pathway-local rubrics adopt`: makes a rubric of a prompt, shows what its reply would be, and asks for a yes."""

import readline
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.new import (
    Fields,
    Inputs,
    Lines,
    answer,
    declared_outputs,
    input_names,
    show_rubric,
    write_rubric,
)
from pathway_local.cli.options import Force, option
from pathway_local.cli.terminal import check_new, data, need_consent, notice
from pathway_local.declare.prompt import Prompt, propose, read_prompt, rubric_text
from pathway_local.errors import RubricError, UsageError
from pathway_local.rubrics.prompty_file import read_text
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.system.visible import visible

RIGHT = "Is this the reply that you want, and is a higher value, or a later word, better?"


def adopt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .txt, .md or any other text.")],
    out: Annotated[Path | None, option("FILE", "The rubric file to write.", "--out", "-o")] = None,
    fields: Fields = "",
    lines: Lines = None,
    inputs: Inputs = "",
    swap: Annotated[str, option("A:B", "The inputs with response A and B of a comparison, such as one:other.")] = "",
    yes: Annotated[bool, option("", "Say yes to the example reply.", "--yes")] = False,
    force: Force = False,
) -> None:
    """Make a rubric of a prompt: shows the reply that it declares, and asks for what the prompt leaves open."""
    check_new(out, force=force)
    if lines and not fields:
        raise UsageError("--line needs --fields", "Declare the fields that the line names.")
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not yes
    prompt = _read(file, inputs, asks=asks)
    first, _, second = (part.strip() for part in swap.partition(":"))
    if swap and not (first != second and {first, second} <= set(prompt.inputs)):
        raise UsageError(f"--swap {swap} does not name two of the inputs", f"There are: {', '.join(prompt.inputs)}.")
    begun = ["pathway-local", "rubrics", "adopt", str(file), *(["--inputs", inputs] if inputs else [])]
    declared, shown = (fields, lines or []) if fields else _declared(prompt, shlex.join(begun), asks=asks)
    text = rubric_text(prompt, declared_outputs(declared, shown), str(out or file), {first: second} if swap else {})
    show_rubric(parse_rubric(text, str(out or file)), declared, shown)
    for line in prompt.strange:
        notice(f"is there the mark of an input in {line!r}? Then write it as {{{{ name }}}}")
    if out is None:
        notice("nothing was written: give -o NEW.prompty")
        return
    if not (yes or (fields and not asks)):
        hint = "Add --yes if the example is right, and a higher value, or a later word, is better."
        need_consent(RIGHT, "nothing was written", hint)
    write_rubric(out, text, force=force)


def _read(file: Path, inputs: str, *, asks: bool) -> Prompt:
    """Return the prompt in the file. Raises UsageError for one that is a rubric already, or that has no inputs."""
    text = read_text(file)
    with suppress(RubricError):
        parse_rubric(text, str(file))
        raise UsageError(f"{file}: its front matter has outputs already", "Change them there.")
    prompt = read_prompt(text, str(file), input_names(inputs))
    if not prompt.inputs and asks:
        told = "The prompt marks no inputs. Which texts is the judge given? Separate names with commas"
        return answer("", told, None, lambda names: read_prompt(text, str(file), input_names(names)))
    if not prompt.inputs:
        hint = f"Complete, with names such as question, answer: rubrics adopt {shlex.quote(str(file))} --inputs '?, ?'"
        raise UsageError("the prompt marks no inputs; declare the names of the texts that the judge is given", hint)
    return prompt


def _declared(prompt: Prompt, begun: str, *, asks: bool) -> tuple[str, Sequence[str]]:
    """Return the fields and lines that the prompt shows, completed by the person. Raises UsageError."""
    found = propose(prompt)
    data.say(visible(f"Read from {found.told}" if found.told else "The prompt shows no form of the reply, or several"))
    if found.doubt:
        notice(f"may this line add a value or a part? {found.doubt!r}")
    if not found.open:
        return found.declared, found.lines
    more = "".join(f" --line {shlex.quote(line)}" for line in found.lines)
    if not asks:
        said = "the prompt does not show all of the reply: complete each ?"
        raise UsageError(said, f"{begun} --fields {shlex.quote(found.declared)}{more}")
    told = f"Complete each ? in the fields of the reply{more and f', whose lines are{more}'}"
    readline.set_startup_hook(partial(readline.insert_text, found.declared))
    try:
        read = answer("", visible(told), None, lambda typed: (declared_outputs(typed, found.lines), typed)[1])
    finally:
        readline.set_startup_hook(None)
    return read, found.lines
