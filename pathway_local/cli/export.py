"""`pathway-local export`: a run's verdicts as a file."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import READING, App, Force, Run, option
from pathway_local.cli.show import note_export
from pathway_local.cli.terminal import check_new, notice, tell
from pathway_local.output.export import export as write
from pathway_local.output.export import export_onto
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.tables import check_table

app = App()


@app.with_examples("pathway-local export my.run --onto examples/pathway-answer.csv --out new.csv", given=READING)
def export(
    run: Run,
    out: Annotated[Path, option("FILE", ".csv, .tsv, .jsonl, .xlsx or .parquet; - prints CSV.")],
    given: dict[str, Any],
    onto: Annotated[Path | None, option("FILE", "Copy this cases file and add the scores to its rows.")] = None,
    columns: Annotated[str, option("NAMES", "Only these columns, such as case,score,label,reason.", "--columns")] = "",
    force: Force = False,
) -> None:
    """Write a run's verdicts to a file, or into a copy of the cases file."""
    if onto is None:
        check_table(out, force=force)
    else:
        check_new(out, force=force)
        read_privately(onto, run)
    only = [name.strip() for name in columns.split(",") if name.strip()]
    with RunFile.read(run) as read:
        if onto is None:
            remarks = write(read, out, force=force, only=only)
        else:
            sheet = sheet_of(read, onto, read.rubrics().values(), given)
            remarks = export_onto(read, sheet, out, force=force, only=only)
    for remark in remarks:
        notice(remark)
    note_export(run, out)
    if str(out) != "-":
        tell(f"written: {out}")
    if onto is None and out.suffix.lower() == ".csv":
        better = quote(str(out.with_suffix(".xlsx")))
        tell(f"for Excel, write --out {better}: it may misread a CSV file's numbers and umlauts")
