"""`pathway-local rubrics`: list, show, make, adopt and check rubrics."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.adopt import adopt
from pathway_local.cli.align import ALIGN, align
from pathway_local.cli.new import new
from pathway_local.cli.options import READING, App, Models, option
from pathway_local.cli.terminal import data, notice, print_text
from pathway_local.errors import WeightsMissing
from pathway_local.judges.judge_spec import chat_of
from pathway_local.judges.registry import load_registry
from pathway_local.judges.weights import find_folder
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import Inspection, inspect
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.criteria import skeleton
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import builtin_names, load_rubric, rubric_path
from pathway_local.system.safe_yaml import load_ours
from pathway_local.system.visible import visible

app = App("List, show, make, adopt and check rubrics.", "pathway-local rubrics list")

GUIDES = Path(__file__).with_name("guides.yaml")

Name = Annotated[str, typer.Argument(metavar="RUBRIC", help="A rubric's name, or a rubric file.")]


@app.with_examples("pathway-local rubrics list", name="list")
def list_rubrics() -> None:
    """List the built-in rubrics."""
    rubrics = [load_rubric(name) for name in builtin_names()]
    rows = [[r.name, ", ".join(r.inputs), ", ".join(r.format.scores), r.description] for r in rubrics]
    data.show_table("", ["rubric", "inputs", "scores", "what it judges"], rows, left=4)


@app.with_examples("pathway-local rubrics show pathway-answer", "pathway-local rubrics show groundedness --full")
def show(
    name: Name,
    full: Annotated[bool, option("", "Also show output format, rules, notes and text.", "--full")] = False,
) -> None:
    """Show a rubric's purpose, audience, languages, inputs and the levels of its scores."""
    rubric = load_rubric(name)
    guide = _guide_to(name)
    data.say(f"{rubric.name}: {rubric.description}", "bold")
    if guide:
        data.say(f"For whom: {guide['audience']}")
        data.say(f"Languages: {guide['languages']}")
    _show_inputs(rubric)
    _show_scores(rubric)
    if guide:
        copied = f"cp {shlex.quote(str(rubric_path(name)))} my-{name}.prompty"
        data.say(f"For your own institution, copy its file and give it another `name`. {guide['fit']}")
        data.say(copied, indent=2)
    if not full:
        data.say(f"Output format, notes and the whole text: pathway-local rubrics show {shlex.quote(name)} --full")
        return
    print_text("Output", skeleton(rubric.format.outputs))
    print_text("Rules", "\n".join(f"{rule.name}: {rule.says}" for rule in rubric.rules))
    print_text("Notes", rubric.notes)
    for turn in rubric.turns:
        print_text(f"{turn.role} turn", turn.template)


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
    _show_lengths(found, judge)
    print_text("Example of a prompt", found.example)


def _guide_to(name: str) -> dict[str, str]:
    """Return the audience and languages of a built-in rubric, and how to `fit` it elsewhere; empty for a file."""
    read = load_ours(GUIDES)
    return {"languages": read["languages"], **read[name]} if name in builtin_names() else {}


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
    for first, second in rubric.pair.swap.items() if rubric.pair else ():
        data.say(f"compares {visible(first)} (A) with {visible(second)} (B); each case is judged in both orders")


def _show_lengths(found: Inspection, judge: str) -> None:
    lengths = found.lengths
    if lengths is None:
        data.say(f"reply: up to {found.free:,} tokens. Give --judge NAME to count the prompt's.")
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
    for name, score in rubric.format.given.items():
        rows = [
            [str(value), score.levels.get(value, ""), "off the scale" if value in score.special else ""]
            for value in reversed(score.values)
        ]
        data.show_table(f"{name} ({score.scale})", ["value", "level", ""], rows, left=3)
    for name, total in rubric.format.outputs.totals.items():
        data.say(f"{name} is computed: {total.text}")
