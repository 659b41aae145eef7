"""`pathway-local rubrics adopt`: proposes a rubric for a prompt, shows what it would mean, and asks for a yes."""

import re
import shlex
import sys
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.adopt.adoption import Proposal, propose, rubric_text
from pathway_local.adopt.inputs import Inputs as FoundInputs
from pathway_local.adopt.pairs import swap_of
from pathway_local.adopt.prompt import Prompt, read_prompt
from pathway_local.adopt.questions import doubts
from pathway_local.adopt.values import OPEN, is_open
from pathway_local.cli.command_help import OUTPUT, option
from pathway_local.cli.new import Fields, Inputs, Lines, answer, declared_outputs, input_names, show_rubric
from pathway_local.cli.options import Force
from pathway_local.cli.terminal import check_new, data, notice, print_text
from pathway_local.errors import RubricError, UsageError
from pathway_local.rubrics.criteria import is_criteria
from pathway_local.rubrics.declaration import Declaration, lines_of, quoted_name, spelling_of
from pathway_local.rubrics.output_format import OutputFormat
from pathway_local.rubrics.rubric_file import parse_rubric
from pathway_local.rubrics.rubric_file import read_prompt as read_bytes
from pathway_local.system.private_file import output_file
from pathway_local.system.visible import visible

NOT_FOUND = "I could not find the reply's format; declare it"
LINE = "--fields 'reasons: text; score: ?'"


def adopt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .txt, .md or any other text.")],
    out: Annotated[Path | None, option("FILE", "The rubric file to write.", OUTPUT, "--out", "-o")] = None,
    fields: Fields = "",
    lines: Lines = None,
    inputs: Inputs = "",
    swap: Annotated[str, option("A:B", "The inputs with response A and B of a comparison, such as one:other.")] = "",
    yes: Annotated[bool, option("", "Confirm what is proposed.", "", "--yes")] = False,
    force: Force = False,
) -> None:
    """Propose a rubric for a prompt, and show an example reply; the prompt stays as it is."""
    check_new(out, force=force)
    text = read_bytes(file)
    if is_criteria(text.decode("utf-8", "replace")):
        hint = f"Use it as it is: --rubric {shlex.quote(str(file))}"
        raise UsageError(f"{file} is a rubric already: criteria with levels", hint)
    prompt = read_prompt(text, str(file))
    if not {"outputs", "outputSchema"}.isdisjoint(prompt.front):
        with suppress(RubricError):
            parse_rubric(text.decode("utf-8", "replace"), str(file))
            raise UsageError(f"{file}: its front matter has outputs already", "Change them there.")
        notice("the front matter's own outputs declare no format that a judge could keep to; they are replaced")
    proposal = _with_options(propose(prompt), fields, lines, inputs, swap)
    asks = sys.stdin.isatty() and sys.stderr.isatty() and not yes
    _show_lines(prompt, proposal)
    proposal = _completed(proposal) if asks else proposal
    _check(prompt, proposal, f"{shlex.quote(str(file))}{f' --inputs {shlex.quote(inputs)}' if inputs else ''}", yes=yes)
    if proposal.open:
        print_text("Declaration, to complete", _options(proposal))
    else:
        rubric = parse_rubric(rubric_text(prompt, proposal, str(out or file), confirmed=True), str(out or file))
        proposal = replace(proposal, questions=(*proposal.questions, *doubts(prompt.source, rubric)))
        show_rubric(rubric)
    declared = bool(fields) and not proposal.questions
    for question in proposal.asked:
        notice(question)
    if asks and out is None:
        where = "Write the rubric to which file? Press Enter for none"
        out = answer("", where, "-", lambda typed: _new_file(typed, force=force))
    if out is None:
        notice("nothing was written: give -o NEW.prompty")
        return
    sure = yes or declared or (asks and typer.confirm("Is the example the reply that you want?", err=True))
    settle = "complete each ? in it, then delete" if proposal.open else "confirm it by deleting"
    with output_file(out, force=force) as written:
        written.write(rubric_text(prompt, proposal, str(out), confirmed=sure).encode())
    notice(f"wrote {out}" if sure else f"wrote {out}: {settle} its line confirmed: false")


def _with_options(proposal: Proposal, fields: str, lines: Sequence[str] | None, inputs: str, swap: str) -> Proposal:
    """Return the proposal with the user's own declarations in place of what was read. Raises UsageError."""
    if fields:
        outputs = OutputFormat.load(declared_outputs(fields, lines)).outputs
        spelled = {name: spelling_of(each) for name, each in outputs.fields.items()}
        told = "declared with --fields"
        compared = any(spelling.startswith("prefer ") for spelling in spelled.values())
        swapped = swap_of(list(proposal.inputs.said)) if compared else {}
        proposal = replace(proposal, recogniser=told, layout=outputs.layout, fields=spelled, rows={}, closing="")
        proposal = replace(proposal, swap=swapped, questions=proposal.inputs.asked)
    elif lines:
        raise UsageError("--line needs --fields", "Declare the fields that the line names.")
    if inputs:
        kept = tuple(each for each in proposal.questions if each not in proposal.inputs.questions)
        given = FoundInputs(dict.fromkeys(input_names(inputs), ""), foreign=proposal.inputs.foreign)
        proposal = replace(proposal, inputs=given, questions=kept)
    if swap:
        first, colon, second = (part.strip() for part in swap.partition(":"))
        if not colon or not {first, second} <= proposal.inputs.said.keys():
            said = ", ".join(proposal.inputs.said)
            raise UsageError(f"--swap must name two inputs, such as one:other; there are {said}", "Correct the names.")
        proposal = replace(proposal, swap={first: second})
    return proposal


def _new_file(typed: str, *, force: bool) -> Path | None:
    if typed.strip() in ("", "-"):
        return None
    check_new(out := Path(typed.strip()), force=force)
    return out


def _completed(proposal: Proposal) -> Proposal:
    """Return the proposal after the user has completed what is open; each answer is asked for until it can be read."""
    if not proposal.inputs.said:
        told = "Which inputs is the judge given? Separate names with commas"
        proposal = answer("", told, None, lambda names: _with_options(proposal, "", None, names, ""))
    if not proposal.fields:
        told = f"{NOT_FOUND}, such as reasons: text; score: 1-5"
        proposal = answer("", told, None, lambda fields: _with_options(proposal, fields, None, "", ""))
    for number, (told, (spelling, names)) in enumerate(zip(proposal.asked, proposal.open.items(), strict=False), 1):
        more = f"; one answer for all, or {len(names)} with ; between" if len(names) > 1 else ""
        spelled = answer("", visible(f"{number}. {told}{more}"), None, partial(_spelled, spelling, names))
        proposal = replace(proposal, fields={**proposal.fields, **spelled})
    if _prefers(proposal) and not proposal.swap:
        if swap := swap_of(list(proposal.inputs.said)):
            return replace(proposal, swap=swap)
        told = f"Which inputs hold response A and response B, of {', '.join(proposal.inputs.said)}? Write FIRST:SECOND"
        return answer("", visible(told), None, lambda pair: _with_options(proposal, "", None, "", pair))
    return proposal


def _spelled(spelling: str, names: Sequence[str], typed: str) -> dict[str, str]:
    """Return the spelling typed for each of these fields; a step alone completes a range. Raises UsageError."""
    parts = [part.strip() for part in typed.split(";")] if '"' not in typed else [typed.strip()]
    if len(parts) not in (1, len(names)):
        raise UsageError(f"there are {len(parts)} answers to {len(names)} fields", "Write one, or one for each.")
    steps = f" by {OPEN}" in spelling
    parts = [spelling.replace(OPEN, each) if steps and re.fullmatch(r"[\d.,]+", each) else each for each in parts]
    for each in parts:
        declared = declared_outputs(f"{quoted_name(names[0])}: {each}; {quoted_name(names[0] + '_')}: no < yes", None)
        if len(declared["fields"]) > 2 or is_open(each):
            raise UsageError(f"{each[:60]!r} is not the spelling of one field", "Write one such as 1-5 or no < yes.")
    return dict(zip(names, parts * len(names) if len(parts) == 1 else parts, strict=True))


def _prefers(proposal: Proposal) -> bool:
    return any(spelling.startswith("prefer ") for spelling in proposal.fields.values())


def _check(prompt: Prompt, proposal: Proposal, typed: str, *, yes: bool) -> None:
    """Raise UsageError with a line to complete, behind what the user `typed`, for what no file could leave open."""
    begin = f"pathway-local rubrics adopt {typed}"
    if not proposal.inputs.said:
        said = "I could not find the inputs; declare the names of the texts that the judge is given"
        raise UsageError(said, f"Complete, with names such as question, answer: {begin} --inputs '?, ?'")
    if not proposal.fields:
        raise UsageError(NOT_FOUND, f"Complete: {begin} {LINE}")
    if proposal.open and yes:
        said = f"a yes does not complete {', '.join(name for names in proposal.open.values() for name in names)}"
        raise UsageError(said, f"Complete each ? in: {begin} {_options(proposal)}")
    if _prefers(proposal) and not proposal.swap:
        said = ", ".join(proposal.inputs.said)
        raise UsageError(f"which inputs hold response A and response B? There are {said}", "Add --swap FIRST:SECOND.")


def _options(proposal: Proposal) -> str:
    """Return the proposal as options to paste into a command."""
    fields = "; ".join(f"{quoted_name(name)}: {spelling}" for name, spelling in proposal.fields.items())
    return Declaration(fields, lines_of(proposal.layout, list(proposal.fields))).options()


def _show_lines(prompt: Prompt, proposal: Proposal) -> None:
    """Show each field's spelling with the lines of the prompt that it was read from."""
    rows = [[name, spelling, _lines(prompt, proposal.rows.get(name, ()))] for name, spelling in proposal.fields.items()]
    if rows:
        data.show_table(f"Proposed from {proposal.recogniser}", ["field", "declaration", "read from"], rows, left=3)
    inputs = [[name, said] for name, said in proposal.inputs.said.items()]
    if inputs:
        told = _lines(prompt, proposal.inputs.rows)
        data.show_table(f"Inputs, read from {told}" if told else "Inputs", ["input", "what it is"], inputs, left=2)


def _lines(prompt: Prompt, rows: Sequence[int]) -> str:
    return "; ".join(
        f"line {prompt.source.line(row)}: {prompt.source.lines[row].strip()[:60]}" for row in dict.fromkeys(rows)
    )
