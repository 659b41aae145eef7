"""`pathway-local doctor`: what is wrong here, and how to fix it."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.check import Check
from pathway_local.checks.doctor import examine
from pathway_local.cli.options import App, AsJson, Models, option
from pathway_local.cli.terminal import print_json, show_check, talk
from pathway_local.errors import EngineError

app = App()


@app.with_examples("pathway-local doctor", "pathway-local doctor my.run --judge qwen3-8b")
def doctor(
    target: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="A run file or a cases file.", show_default=False)
    ] = None,
    judge: Annotated[
        str | None, option("NAME", "A judge's name or model folder; default: demo.", "--judge", "-j")
    ] = None,
    models: Models = None,
    as_json: AsJson = False,
) -> None:
    """Check this machine and a judge, and a run or cases file if you name one; print how to fix what is wrong.

    Exit code 5 if there is a problem.
    """
    found: list[Check] = []
    for check in examine(target, judge, models):
        found.append(check)
        if not as_json:
            show_check(check)
    problems = sum(check.status == "problem" for check in found)
    if as_json:
        print_json([asdict(check) for check in found])
    else:
        counted = "1 problem" if problems == 1 else f"{problems} problems"
        talk.say(counted if problems else "no problem was found")
    if problems:
        raise typer.Exit(EngineError.exit_code)
