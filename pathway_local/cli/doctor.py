"""`pathway-local doctor`: what is wrong here, and how to mend it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from pathway_local.check import Check
from pathway_local.checks.doctor.examine import examine
from pathway_local.cli.options import AsJson, Models
from pathway_local.cli.terminal import data, print_json, talk
from pathway_local.errors import EngineError

MARKS = {"ok": ("ok", "green"), "note": ("note", "yellow"), "problem": ("PROBLEM", "bold red")}

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def doctor(
    target: Annotated[Path | None, typer.Argument(help="A run file or a cases file.", show_default=False)] = None,
    judge: Annotated[
        str | None, typer.Option("--judge", "-j", help="A judge's name, or a model folder; default: demo.")
    ] = None,
    models: Models = None,
    as_json: AsJson = False,
) -> None:
    """Look at this machine and a judge, and at a run or a cases file if one is named: a line each, with the fix.

    Exit code 5 where there is a problem.
    """
    found: list[Check] = []
    for check in examine(target, judge, models):
        found.append(check)
        if not as_json:
            _show(check)
    problems = sum(check.status == "problem" for check in found)
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        counted = "1 problem" if problems == 1 else f"{problems} problems"
        talk.print(counted if problems else "no problem was found")
    if problems:
        raise typer.Exit(EngineError.exit_code)


def _show(check: Check) -> None:
    word, style = MARKS[check.status]
    data.print(Text.assemble((f"{word:8}", style), f"{check.name}: {check.found}"), soft_wrap=True)
    if check.fix:
        data.print(Text(f"{'':8}→ {check.fix}"), soft_wrap=True)
