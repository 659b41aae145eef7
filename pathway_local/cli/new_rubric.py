"""`pathway-local rubrics new`, `adopt` and `align`: make a rubric of a criterion, a prompt, or people's scores."""

import re
import readline
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer

from pathway_local.case import Case
from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import CasesOption, Force, Run, option, options_of
from pathway_local.cli.show import note_export
from pathway_local.cli.terminal import check_new, complain, data, need_consent, notice, print_text, talk
from pathway_local.declare.prompt import Prompt, propose, read_prompt, rubric_text
from pathway_local.errors import CasesError, RubricError, UnknownName, UsageError
from pathway_local.rendering.rubric_check import inspect
from pathway_local.results.alignment import AlignOptions, Labelled, chosen_examples
from pathway_local.rubrics.criteria import new_rubric, phrases, with_meanings
from pathway_local.rubrics.examples import shortened
from pathway_local.rubrics.output_format import OutputFormat, Outputs
from pathway_local.rubrics.prompty_file import read_text
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import parse_rubric, taught_text
from pathway_local.rubrics.spelling import block_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubric_of
from pathway_local.scores.scores import Scores
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.system.options import checked
from pathway_local.system.private_file import output_file
from pathway_local.system.visible import visible

Fields = Annotated[str, option("FIELDS", "Declare the reply's fields, such as 'reasons: text; score: 1-5'.")]
Lines = Annotated[
    list[str] | None,
    option("LINE", "A line of the reply, with fields' names in braces; repeatable (default: JSON).", "--line"),
]
Inputs = Annotated[str, option("NAMES", "The inputs that the judge is given, separated by commas.")]
T = TypeVar("T")

ALIGN = options_of(AlignOptions)
USUAL = "reasons: text; score: 1-5"
RIGHT = "Is this the reply that you want, and is a higher value, or a later word, better?"


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
    if missing and not _at_terminal():
        raise UsageError(f"{missing[0]} is missing", "Give it, or answer the questions in a terminal.")

    def ask(score: str, level: str) -> str:
        question = said["ask_level"].format(score=score, level=level)
        return str(typer.prompt(question, default="", show_default=False, err=True)) if missing else ""

    criterion = _answer(criterion, said["ask_criterion"], None, str.strip)
    names = _answer(inputs, said["ask_inputs"], "question, answer", _input_names)
    declared, block = _answer(fields, said["ask_fields"], USUAL, partial(_declaration, lines=lines or ()))
    outputs = OutputFormat.load(block).outputs
    named, meanings = with_meanings(outputs, ask)
    text = new_rubric(file.stem, language, criterion, names, block if named == outputs else _in_full(named), meanings)
    _show(parse_rubric(text, str(file)), declared, lines or (), language)
    if missing and not _agreed(said["ask_yes"], *said["letters"]):
        notice("nothing was written")
        return
    _write(file, text, force=force)
    notice(f"judge with it: pathway-local judge CASES --rubric {shlex.quote(str(file))}")


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
    asks = _at_terminal() and not yes
    prompt = _prompt_in(file, inputs, asks=asks)
    first, _, second = (part.strip() for part in swap.partition(":"))
    if swap and not (first != second and {first, second} <= set(prompt.inputs)):
        raise UsageError(f"--swap {swap} does not name two of the inputs", f"There are: {', '.join(prompt.inputs)}.")
    begun = ["pathway-local", "rubrics", "adopt", str(file), *(["--inputs", inputs] if inputs else [])]
    declared, shown = (fields, lines or []) if fields else _declared(prompt, shlex.join(begun), asks=asks)
    _, block = _declaration(declared, shown)
    text = rubric_text(prompt, block, str(out or file), {first: second} if swap else {})
    _show(parse_rubric(text, str(out or file)), declared, shown)
    for line in prompt.strange:
        notice(f"is there the mark of an input in {line!r}? Then write it as {{{{ name }}}}")
    if out is None:
        notice("nothing was written: give -o NEW.prompty")
        return
    if not (yes or (fields and not asks)):
        hint = "Add --yes if the example is right, and a higher value, or a later word, is better."
        need_consent(RIGHT, "nothing was written", hint)
    _write(out, text, force=force)


def align(
    run: Run,
    cases: CasesOption,
    out: Annotated[Path, option("FILE", "The rubric file to write; its name becomes the rubric's.", "--out", "-o")],
    given: dict[str, Any],
    force: Force = False,
) -> None:
    """Make a rubric with examples of cases that people have scored.

    They are chosen among one third of the cases, whose labels are then never compared with the new rubric's judges:
    first one for each level, then those on which the judge errs most.
    """
    options = checked(AlignOptions, {name: given.pop(name) for name in ALIGN if name in given})
    check_new(out, force=force)
    read_privately(cases, run)
    with RunFile.read(run) as opened, opened.database.snapshot():
        scores, own = Scores(opened), rubric_of(opened, options.rubric or None)
        if out.stem == own.name:
            raise UsageError(f"the run has a rubric {own.name!r} already", "Name another file with -o.")
        chosen = chosen_examples(scores, own, options)
        text = taught_text(own, out.stem, _examples(scores, own, chosen, sheet_of(opened, cases, [own], given)))
    parse_rubric(text, str(out))
    _write(out, text, force=force)
    note_export(run, out)
    if len(chosen) < options.examples:
        notice(f"only {len(chosen)} labelled cases of different questions and groups are set aside for examples")
    notice(f"{out} holds texts of cases: nobody else may be able to read it")
    talk.say(f"{len(chosen)} examples. To see whether they help:")
    again = ["judge", str(cases), "--rubric", str(out), "--run", str(run)]
    proof = ["agreement", str(run), "--between", f"{own.name},{out.stem}", "--against", options.against]
    proof += ["--cluster", options.cluster] if options.cluster else []
    for words in (again, proof):
        talk.say(f"pathway-local {shlex.join(words)}", indent=2)


def _examples(scores: Scores, rubric: Rubric, chosen: list[Labelled], sheet: CasesFile) -> list[dict[str, object]]:
    """Return the examples as the file has them, with their texts. Raises CasesError for texts that are not there."""
    wanted, written = {each.case for each in chosen}, list[dict[str, object]]()
    found = {item.id: item for item in sheet if isinstance(item, Case) and item.id in wanted}
    for each in chosen:
        case = found.get(each.case)
        if case is None or scores.hash_of(rubric.texts_of(case)) != each.hash:
            said = f"{sheet.path.name} lacks a labelled case, or has other texts than those that were judged"
            raise CasesError(said, "Name the file that the run was made from.")
        inputs = {name: shortened(text) for name, text in rubric.inputs_of(case).items()}
        notes = {"notes": shortened(each.notes)} if each.notes else {}
        written.append({"case": each.case, "inputs": inputs, "scores": dict(each.scores), **notes})
    return written


def _at_terminal() -> bool:
    return sys.stdin.isatty() and sys.stderr.isatty()


def _answer(given: str, question: str, default: str | None, read: Callable[[str], T]) -> T:
    """Return what was given as an option, or typed in answer to the question, which is asked until it can be read."""
    while not given.strip():
        try:
            return read(typer.prompt(question, default=default, err=True))
        except UsageError as error:
            complain(error)
    return read(given)


def _agreed(question: str, yes: str, no: str) -> bool:
    """Return whether the person says yes, by the letters of the dialog's language."""
    typed = ""
    while typed not in (yes, no):
        typed = typer.prompt(f"{question} ({yes}/{no})", err=True).strip().casefold()
    return typed == yes


def _declaration(fields: str, lines: Sequence[str]) -> tuple[str, str | dict[str, str]]:
    """Return the fields as they are declared, and their `outputs:` block. Raises UsageError."""
    try:
        outputs = block_of(fields, lines)
        OutputFormat.load(outputs)
    except (ValueError, RubricError) as error:
        said = str(error).removeprefix("outputs.fields: ")
        hint = error.hint if isinstance(error, RubricError) else ""
        raise UsageError(said, hint or "docs/rubrics.md lists how to spell a field.") from None
    return fields, outputs


def _input_names(given: str) -> list[str]:
    """Return the names in `question, answer`; blanks within one become `_`. Raises UsageError."""
    # Blanks must not part names: columns are called "student question", and judge finds them with `_`, too.
    names = list(dict.fromkeys("_".join(each.split()) for each in given.split(",") if each.strip()))
    if strange := next((name for name in names if not re.fullmatch(r"[A-Za-z_]\w*", name)), None):
        said = f"--inputs: {strange[:60]!r} is no name of an input"
        raise UsageError(said, "Use letters, digits and _; `judge --map INPUT=COLUMN` reads a column of another name.")
    return names


def _prompt_in(file: Path, inputs: str, *, asks: bool) -> Prompt:
    """Return the prompt in the file. Raises UsageError for one that is a rubric already, or that has no inputs."""
    text = read_text(file)
    with suppress(RubricError):
        parse_rubric(text, str(file))
        raise UsageError(f"{file}: its front matter has outputs already", "Change them there.")
    prompt = read_prompt(text, str(file), _input_names(inputs))
    if not prompt.inputs and asks:
        told = "The prompt marks no inputs. Which texts is the judge given? Separate names with commas"
        return _answer("", told, None, lambda names: read_prompt(text, str(file), _input_names(names)))
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
        return _answer("", visible(told), None, partial(_declaration, lines=found.lines))[0], found.lines
    finally:
        readline.set_startup_hook(None)


def _in_full(outputs: Outputs) -> dict[str, object]:
    """Return an `outputs:` block with the levels' names, which a declared line may lack."""
    full = {name: field.model_dump(mode="json", exclude_defaults=True) for name, field in outputs.fields.items()}
    fields = {name: {"type": outputs.fields[name].type, **each} for name, each in full.items()}
    return {"layout": outputs.layout, "fields": fields}


def _show(rubric: Rubric, fields: str, lines: Sequence[str], language: str = "en") -> None:
    """Show the declaration, an example reply, and an example prompt."""
    found, heads = inspect(rubric), phrases()[language]
    said = [f"--fields {shlex.quote(fields)}", *(f"--line {shlex.quote(line)}" for line in lines)]
    print_text(heads["declaration"], " ".join(said))
    show_pair(rubric)
    print_text(heads["example_reply"], found.reply)
    print_text(heads["example_prompt"], found.example)


def show_pair(rubric: Rubric) -> None:
    """Say which inputs a rubric compares, if it does."""
    for first, second in rubric.pair.swap.items() if rubric.pair else ():
        data.say(f"compares {visible(first)} (A) with {visible(second)} (B); each case is judged in both orders")


def _write(file: Path, text: str, *, force: bool) -> None:
    with output_file(file, force=force) as written:
        written.write(text.encode())
    notice(f"wrote {file}")
