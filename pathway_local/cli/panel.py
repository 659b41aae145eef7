"""`pathway-local panel`: combine several raters into one."""

import sys
from typing import Annotated

import typer

from pathway_local.cli.options import Run
from pathway_local.cli.terminal import data, table
from pathway_local.results.panel import Rule, make_panel
from pathway_local.runs.run_file import RunFile

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def panel(
    run: Run,
    name: Annotated[str, typer.Option(help="The panel's name as a rater.")],
    of: Annotated[str, typer.Option(help="Its members, separated by commas.")],
    rule: Annotated[Rule, typer.Option(help="What is made of the members' scores.")] = "mean",
) -> None:
    """Make a rater of others: their mean, median or majority on each case, with the spread.

    Given again, it follows what its members have said since.
    """
    members = [member.strip() for member in of.split(",") if member.strip()]
    with RunFile.open(run) as opened:
        found = make_panel(opened, name, members, rule, sys.argv)
    rows = [
        [each.rubric, str(each.verdicts), str(each.partial or ""), str(each.failures.total() or "")] for each in found
    ]
    data.print(table(f"{name}: the {rule} of {', '.join(members)}", ["rubric", "verdicts", "partial", "failed"], rows))
    for each in found:
        for kind, count in sorted(each.failures.items()):
            data.print(f"{each.rubric}: {count} failed ({kind})")
        if each.partial:
            data.print(f"{each.rubric}: {each.partial} verdicts lack a member or a vote")
