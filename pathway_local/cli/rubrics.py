"""`pathway-local rubrics`: list and show rubrics."""

from typing import Annotated

import typer

from pathway_local.cli.terminal import data, print_json, table
from pathway_local.fields import Score
from pathway_local.output_format import layout_text
from pathway_local.rubric import Rubric, builtin_names, load_rubric

app = typer.Typer(pretty_exceptions_enable=False, no_args_is_help=True, help="List and show rubrics.")


@app.command(name="list")
def list_rubrics() -> None:
    """List the rubrics that ship with the package."""
    rubrics = [load_rubric(name) for name in builtin_names()]
    rows = [[r.name, ", ".join(r.inputs), ", ".join(r.format.scores), r.description] for r in rubrics]
    data.print(table("", ["rubric", "inputs", "scores", "what it judges"], rows, left=4))


@app.command()
def show(
    name: Annotated[str, typer.Argument(help="A rubric's name, or a rubric file.", show_default=False)],
    as_schema: Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of its output alone.")] = False,
) -> None:
    """Show a rubric: its inputs, scores and output, and its text."""
    rubric = load_rubric(name)
    if as_schema:
        print_json(rubric.format.schema())
        return
    data.print(f"{rubric.name}: {rubric.description}", style="bold", markup=False)
    inputs = [[i.name, "judged" if i.empty == "judge" else "fails", i.description] for i in rubric.inputs.values()]
    data.print(table("Inputs", ["input", "when empty", "what it is"], inputs, left=3))
    _show_scores(rubric)
    print_text("Output", layout_text(rubric.format.outputs))
    print_text("Notes", rubric.notes)
    for turn in rubric.turns:
        print_text(f"{turn.role} turn", turn.template)


def _show_scores(rubric: Rubric) -> None:
    for name, score in rubric.format.scores.items():
        rows = [[str(value), score.levels.get(value, ""), _note(score, value)] for value in reversed(score.values)]
        data.print(table(f"{name} ({score.scale})", ["value", "level", ""], rows, left=3))


def _note(score: Score, value: int) -> str:
    return "off the scale" if value in score.special else ""


def print_text(title: str, text: str) -> None:
    """A heading and a text as it is."""
    if text:
        data.print(f"\n{title}", style="bold", markup=False)
        data.print(text, markup=False, soft_wrap=True)
