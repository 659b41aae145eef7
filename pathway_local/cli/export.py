"""`pathway-local export`: a run's verdicts as a file."""

from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.export_note import note_export
from pathway_local.cli.options import Force, Run
from pathway_local.cli.private_reading import read_privately
from pathway_local.cli.terminal import check_new, notice, talk
from pathway_local.results.export import export as write
from pathway_local.results.export import export_onto
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.tables import check_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)


@app.command()
def export(
    run: Run,
    out: Annotated[Path, typer.Option(help=".csv, .tsv, .jsonl, .xlsx or .parquet; - for CSV to stdout.")],
    onto: Annotated[
        Path | None, typer.Option(help="The sheet that the cases came from: its rows, with columns added.")
    ] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="With --onto: the column with the cases' ids.")] = None,
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="With --onto: the key of the run's pseudonyms.")
    ] = None,
    force: Force = False,
) -> None:
    """Write a run's verdicts to a file."""
    if onto is None:
        check_table(out, force=force)
    else:
        check_new(out, force=force)
        read_privately(onto, run)
    with RunFile.read(run) as read:
        if onto is None:
            remarks = write(read, out, force=force)
        else:
            key = Pseudonyms.of_file(pseudonyms) if pseudonyms else None
            sheet = cases_of(onto, rubrics_of(read).values(), read, id_column, pseudonyms=key)
            remarks = export_onto(read, sheet, out, force=force)
    for remark in remarks:
        notice(remark)
    note_export(run, out)
    if str(out) != "-":
        talk.print(f"written: {out}")
