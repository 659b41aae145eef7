"""`pathway-local rubrics`: list, show, make, adopt and check rubrics."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.new_rubric import ALIGN, adopt, align, new, show_pair
from pathway_local.cli.options import READING, App, Models, option
from pathway_local.cli.terminal import data, notice, print_text
from pathway_local.errors import WeightsMissing
from pathway_local.judges.judge_spec import chat_of
from pathway_local.judges.registry import load_registry
from pathway_local.judges.weights import find_folder
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import inspect
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.prompty_file import read_text
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, rubric_path

app = App("List, show, make, adopt and check rubrics.", "pathway-local rubrics list")

Name = Annotated[str, typer.Argument(metavar="RUBRIC", help="A rubric's name, or a rubric file.")]


@app.with_examples("pathway-local rubrics list", name="list")
def list_rubrics() -> None:
    """List the built-in rubrics."""
    rubrics = [load_rubric(name) for name in builtin_names()]
    rows = [[r.name, ", ".join(r.inputs), ", ".join(r.format.scores), r.description] for r in rubrics]
    data.show_table("", ["rubric", "inputs", "scores", "what it judges"], rows, left=4)


@app.with_examples("pathway-local rubrics show pathway-answer", "pathway-local rubrics show groundedness --full")
def show(name: Name, full: Annotated[bool, option("", "Show the rubric's file as it is.", "--full")] = False) -> None:
    """Show a rubric's purpose, inputs and the levels of its scores."""
    rubric, path = load_rubric(name), rubric_path(name)
    if full:
        data.say(read_text(path), lines=True)
        return
    data.say(f"{rubric.name}: {rubric.description}", "bold")
    _show_inputs(rubric)
    for score_name, score in rubric.format.given.items():
        rows = [
            [str(value), score.levels.get(value, ""), "off the scale" if value in score.special else ""]
            for value in reversed(score.values)
        ]
        data.show_table(f"{score_name} ({score.scale})", ["value", "level", ""], rows, left=3)
    for total, formula in rubric.format.outputs.totals.items():
        data.say(f"{total} is computed: {formula.text}")
    data.say(f"Its whole file: pathway-local rubrics show {shlex.quote(name)} --full")
    if name in builtin_names():
        data.say("For your own institution, copy it, give it another `name`, and put your own words and examples in:")
        data.say(f"cp {shlex.quote(str(path))} my-{name}.prompty", indent=2)


app.with_examples("pathway-local rubrics new polite.prompty --language pt")(new)
app.with_examples("pathway-local rubrics adopt my-prompt.txt -o my-rubric.prompty")(adopt)
app.with_examples(
    "pathway-local rubrics align my.run --against author --examples 10 \\",
    "    --cases examples/pathway-answer.csv -o b.prompty",
    given=ALIGN | READING,
)(align)


@app.with_examples("pathway-local rubrics check pathway-answer --judge demo")
def check(
    name: Name,
    judge: Annotated[str, option("NAME", "Count tokens with this judge's tokenizer.")] = "",
    models: Models = None,
) -> None:
    """Check a rubric: its inputs, output format, lengths, an example reply, and how much its prompts share."""
    rubric = load_rubric(name)
    found = inspect(rubric, _writer(rubric, judge, models) if judge else None)
    for said in (*rubric.notices, *found.advice):
        notice(said)
    print_text("Example of a reply", found.reply)
    _show_inputs(rubric)
    if lengths := found.lengths:
        counts = {
            "the rubric's own text": lengths.own,
            "of it, shared by all prompts": lengths.shared,
            "kept free for the reply": lengths.reply,
            "left for the case": lengths.room,
            "context": lengths.context,
        }
        rows = [[what, f"{count:,}"] for what, count in counts.items()]
        data.show_table(f"Tokens, as {judge} counts", ["what", "tokens"], rows)
    else:
        data.say(f"reply: up to {found.free:,} tokens. Give --judge NAME to count the prompt's.")
    print_text("Example of a prompt", found.example)


def _writer(rubric: Rubric, name: str, models: Path | None) -> PromptWriter | None:
    spec = load_registry(models).get(name)
    try:
        folder = find_folder(spec.name, spec.source, spec.revision)
        tokenizer = JudgeTokenizer(folder, spec.end_of_turn)
    except WeightsMissing as error:
        notice(f"checked without a judge: {error}")
        return None
    return PromptWriter(rubric, tokenizer, chat_of(spec, 0), context=spec.most_tokens)


def _show_inputs(rubric: Rubric) -> None:
    inputs = [[i.name, "judged" if i.empty == "judge" else "fails", i.description] for i in rubric.inputs.values()]
    data.show_table("Inputs", ["input", "when empty", "what it is"], inputs, left=3)
    show_pair(rubric)
