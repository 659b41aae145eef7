"""`pathway-local rubrics`: list, show, adopt and check rubrics."""

import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from pathway_local.adopt.adoption import adopt as adopt_prompt
from pathway_local.cli.command_help import App, option
from pathway_local.cli.options import Force, Models
from pathway_local.cli.terminal import check_new, data, notice, print_json
from pathway_local.errors import RubricError, UsageError, WeightsMissing
from pathway_local.judges.placement import sure_context
from pathway_local.judges.registry import load_registry
from pathway_local.judges.weights import find_folder
from pathway_local.rendering.chat import chat_of
from pathway_local.rendering.rubric_check import Inspection, JudgeUse, budgets, example_inputs, inspect
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.criteria import is_criteria
from pathway_local.rubrics.guide import guide_to
from pathway_local.rubrics.output_format import OutputFormat, layout_text
from pathway_local.rubrics.rubric import Rubric, builtin_names, load_rubric, read_prompt, rubric_path
from pathway_local.rubrics.spelling import outputs_in
from pathway_local.system.output_file import output_file
from pathway_local.system.visible import visible

app = App(
    "List, show, adopt and check rubrics.", "pathway-local rubrics list", "pathway-local rubrics show pathway-answer"
)

Name = Annotated[str, typer.Argument(metavar="RUBRIC", help="A rubric's name, or a rubric file.")]
References = Annotated[
    bool, option("", "Resolve ${env:NAME} and ${file:NAME} in the file's front matter.", "", "--allow-references")
]
Schema = Annotated[bool, option("", "Print only the JSON Schema of its output.", "", "--schema")]


@app.with_examples("pathway-local rubrics list", "pathway-local rubrics list | grep follow-up", name="list")
def list_rubrics() -> None:
    """List the built-in rubrics."""
    rubrics = [load_rubric(name) for name in builtin_names()]
    rows = [[r.name, ", ".join(r.inputs), ", ".join(r.format.scores), r.description] for r in rubrics]
    data.show_table("", ["rubric", "inputs", "scores", "what it judges"], rows, left=4)


@app.with_examples("pathway-local rubrics show pathway-answer", "pathway-local rubrics show groundedness --full")
def show(
    name: Name,
    full: Annotated[bool, option("", "Also show output format, rules, notes and text.", "", "--full")] = False,
    as_schema: Schema = False,
    references: References = False,
) -> None:
    """Show a rubric's purpose, audience, languages, inputs and the levels of its scores."""
    rubric = load_rubric(name, references=references)
    if as_schema:
        print_json(rubric.format.schema())
        return
    guide = guide_to(name)
    data.say(f"{rubric.name}: {rubric.description}", "bold")
    if guide:
        data.say(f"For whom: {guide.audience}")
        data.say(f"Languages: {guide.languages}")
    _show_inputs(rubric)
    _show_scores(rubric)
    if guide:
        copied = f"cp {shlex.quote(str(rubric_path(name)))} my-{name}.prompty"
        data.say(f"For your own institution, copy its file and give it another `name`. {guide.fit}")
        data.say(copied, indent=2)
    if not full:
        data.say(f"Output format, notes and the whole text: pathway-local rubrics show {shlex.quote(name)} --full")
        return
    print_text("Output", layout_text(rubric.format.outputs))
    print_text("Rules", "\n".join(f"{rule.name}: {rule.says}" for rule in rubric.rules))
    print_text("Notes", rubric.notes)
    for turn in rubric.turns:
        print_text(f"{turn.role} turn", turn.template)


@app.with_examples(
    "pathway-local rubrics adopt my-prompt.txt", "pathway-local rubrics adopt my-prompt.txt -o my-rubric.prompty"
)
def adopt(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A prompt: .prompty, .txt, .md or any other text.")],
    out: Annotated[Path | None, option("FILE", "The rubric file to write.", "", "--output", "-o")] = None,
    fields: Annotated[str, option("FIELDS", "Declare the reply's fields, such as 'reasons: text; score: 1-5'.")] = "",
    line: Annotated[
        list[str] | None, option("LINE", "A line of the reply, with the names of its fields in braces; repeat it.")
    ] = None,
    layout: Annotated[
        str, option("LAYOUT", "score-line: the usual output format, for a prompt that asks for none.")
    ] = "",
    force: Force = False,
) -> None:
    """Find a prompt's inputs and output format, and write it as a rubric; only chat tokens in it are replaced."""
    if layout not in ("", "score-line"):
        raise UsageError(f"unknown layout {layout!r}", "Use --layout score-line, or leave it out.")
    if layout and (fields or line):
        raise UsageError("--layout and --fields both say what the reply looks like", "Give one of them.")
    outputs = _declared(fields, line or []) if fields or line else None
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


@app.with_examples(
    "pathway-local rubrics check pathway-answer --judge demo",
    "pathway-local rubrics check ./my-rubric.prompty --grammar",
)
def check(
    name: Name,
    judge: Annotated[str, option("NAME", "Count tokens with this judge's tokenizer.")] = "",
    grammar: Annotated[bool, option("", "Print only the grammar of its replies.", "", "--grammar")] = False,
    schema: Schema = False,
    models: Models = None,
    references: References = False,
) -> None:
    """Check a rubric: its inputs, output format, lengths, an example reply, and how much its prompts share."""
    rubric = load_rubric(name, references=references)
    if grammar:
        written = rubric.format.reply(example_inputs(rubric)).form.grammar()
        data.print(visible(written, lines=True), soft_wrap=True, end="")
        return
    if schema:
        print_json(rubric.format.schema())
        return
    found = inspect(rubric, _judge(judge, models) if judge else None)
    for said in (*rubric.notices, *found.advice):
        notice(said)
    print_text("Example of a reply", found.reply)
    _show_inputs(rubric)
    _show_lengths(found, judge)
    _show_reconciliation(rubric)
    print_text("Example of a prompt", found.example)
    rubric.check_settled(name)


def _declared(fields: str, lines: Sequence[str]) -> dict[str, Any]:
    try:
        outputs = outputs_in(fields, lines)
        OutputFormat.load(outputs)
    except (ValueError, RubricError) as error:
        said = str(error).removeprefix("outputs.fields: ")
        raise UsageError(said, "docs/rubrics.md lists how to spell a field.") from None
    return outputs


def _judge(name: str, models: Path | None) -> JudgeUse | None:
    spec = load_registry(models).get(name)
    try:
        folder = find_folder(spec.name, spec.source, spec.revision)
        tokenizer = JudgeTokenizer(folder, spec.end_of_turn)
    except WeightsMissing as error:
        notice(f"checked without a judge: {error}")
        return None
    return JudgeUse(tokenizer, chat_of(spec, 0), sure_context(spec))


def _ask(question: str, proposed: str) -> str:
    answer: str = typer.prompt(visible(question), default=proposed, err=True)
    return answer


def _show_inputs(rubric: Rubric) -> None:
    inputs = [[i.name, "judged" if i.empty == "judge" else "fails", i.description] for i in rubric.inputs.values()]
    data.show_table("Inputs", ["input", "when empty", "what it is"], inputs, left=3)
    for first, second in rubric.pair.swap.items() if rubric.pair else ():
        data.say(f"compares {visible(first)} (A) with {visible(second)} (B); each case is judged in both orders")


def _show_reconciliation(rubric: Rubric) -> None:
    said = {"met": "", "settled": "settled: the rubric does without it", "open": "the format does not write it"}
    rows = [[row.demand, str(row.line), said[row.state]] for row in rubric.reconciliation]
    if rows:
        data.show_table("Demanded and written", ["the prompt demands", "line", "difference"], rows, left=3)


def _show_lengths(found: Inspection, judge: str) -> None:
    rows = [[name, kind, budget, f"{tokens:,}"] for name, kind, budget, tokens in budgets(found.rubric.format)]
    data.show_table("Output", ["field", "type", "budget", "tokens kept free"], rows, left=2)
    lengths = found.lengths
    if lengths is None:
        data.say(f"reply: up to {found.plan:,} tokens. Give --judge NAME to count the prompt's.")
        return
    rows = [
        ["the rubric's own text", f"{lengths.own:,}"],
        ["of it, shared by all prompts", f"{lengths.shared:,}"],
        ["kept free for the reply", f"{lengths.reply:,}"],
        ["left for the case", f"{lengths.room:,}"],
        ["context", f"{lengths.context:,}"],
    ]
    data.show_table(f"Tokens, as {judge} counts", ["what", "tokens"], rows)


def _show_scores(rubric: Rubric) -> None:
    for name, score in rubric.format.scores.items():
        rows = [
            [str(value), score.levels.get(value, ""), "off the scale" if value in score.special else ""]
            for value in reversed(score.values)
        ]
        data.show_table(f"{name} ({score.scale})", ["value", "level", ""], rows, left=3)


def print_text(title: str, text: str) -> None:
    """Print a heading, and a text as it is."""
    if text:
        data.print()
        data.say(title, "bold")
        data.say(text, lines=True)
