"""`pathway-local export`: a run's verdicts as a file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.terminal import check_new, notice, talk
from pathway_local.pseudonyms import Pseudonyms
from pathway_local.results.export import export as write
from pathway_local.results.export import export_onto, record_export
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of

app = typer.Typer(pretty_exceptions_enable=False)


@app.command()
def export(
    run: Annotated[Path, typer.Argument(help="A run file.", show_default=False)],
    out: Annotated[Path, typer.Option(help=".csv, .tsv, .jsonl, .xlsx or .parquet; - for CSV to stdout.")],
    onto: Annotated[
        Path | None, typer.Option(help="The sheet that the cases came from: its rows, with columns added.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="With --onto: the column with the cases' ids.")] = None,
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="With --onto: the key of the run's pseudonyms.")
    ] = None,
    force: Annotated[bool, typer.Option(help="Replace a file that exists.")] = False,
) -> None:
    """Write a run's verdicts to a file."""
    check_new(out, force=force)
    with RunFile.read(run) as read:
        if onto is None:
            remarks = write(read, out, force=force)
        else:
            key = Pseudonyms.of_file(pseudonyms) if pseudonyms else None
            sheet = cases_of(onto, rubrics_of(read).values(), read, id_column, pseudonyms=key)
            remarks = export_onto(read, sheet, out, force=force)
    for remark in remarks:
        notice(remark)
    if not record_export(run, out, sys.argv):
        notice(f"{run} can't be written to, so this export is not in its audit trail")
    if str(out) != "-":
        talk.print(f"written: {out}")
