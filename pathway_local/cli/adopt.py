"""`pathway-local rubrics adopt`: turns a prompt into a rubric."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.adopt.adoption import adopt as adopt_prompt
from pathway_local.cli.command_help import option
from pathway_local.cli.declared import Fields, Lines, declared_outputs
from pathway_local.cli.options import Force
from pathway_local.cli.terminal import check_new, data, notice
from pathway_local.errors import RubricError, UsageError
from pathway_local.prompty.criteria import is_criteria
from pathway_local.prompty.rubric_file import load_rubric, read_prompt
from pathway_local.system.output_file import output_file
from pathway_local.system.visible import visible


def adopt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .txt, .md or any other text.")],
    out: Annotated[Path | None, option("FILE", "The rubric file to write.", "", "--output", "-o")] = None,
    fields: Fields = "",
    lines: Lines = None,
    layout: Annotated[
        str, option("LAYOUT", "score-line: the usual output format, for a prompt that asks for none.")
    ] = "",
    force: Force = False,
) -> None:
    """Find a prompt's inputs and output format, and write it as a rubric; only chat tokens in it are replaced."""
    if layout not in ("", "score-line"):
        raise UsageError(f"unknown layout {layout!r}", "Use --layout score-line, or leave it out.")
    if layout and (fields or lines):
        raise UsageError("--layout and --fields both say what the reply looks like", "Give one of them.")
    outputs = declared_outputs(fields, lines) if fields or lines else None
    check_new(out, force=force)
    prompt = read_prompt(file)
    if is_criteria(prompt.decode("utf-8", "replace")):
        raise UsageError(
            f"{file} is a rubric already: criteria with levels", f"Use it as it is: --rubric {shlex.quote(str(file))}"
        )
    asks = sys.stdin.isatty() and sys.stderr.isatty()
    adoption = adopt_prompt(prompt, str(file), outputs=outputs, layout=layout, ask=_ask if asks else None)
    rows = [[found.what, found.value, str(found.line or ""), found.doubt] for found in adoption.findings]
    data.show_table(f"Found in {file}", ["what", "found", "line", "not certain"], rows, left=4)
    if adoption.reconciliation:
        heads = ["the prompt demands", "line", "the format writes", "difference"]
        data.show_table("Demanded and written", heads, [list(row) for row in adoption.reconciliation], left=4)
    if out is None:
        notice("nothing was written: give -o NEW.prompty")
        return
    with output_file(out, force=force) as rubric:
        rubric.write(adoption.data)
    notice(f"wrote {out}")
    if adoption.unsettled:
        notice(f"{adoption.unsettled} point(s) are not settled: correct the lines below each # UNSETTLED mark in {out}")
        return
    try:
        load_rubric(str(out))
    except RubricError as error:
        notice(f"the file's own declarations make it an invalid rubric: {error}. {error.hint}")


def _ask(question: str, proposed: str) -> str:
    answer: str = typer.prompt(visible(question), default=proposed, err=True)
    return answer
