"""`pathway-local export`: a run's verdicts as a file."""

from pathlib import Path
from shlex import quote
from typing import Annotated, Any

from pathway_local.cli.case_files import read_privately, sheet_of
from pathway_local.cli.options import READING, App, Force, Run, option
from pathway_local.cli.show import note_export, terminal_words
from pathway_local.cli.terminal import check_new, notice, tell
from pathway_local.errors import UsageError
from pathway_local.output.export import export as write
from pathway_local.output.export import export_onto
from pathway_local.results.agreement_options import AgreementOptions
from pathway_local.results.fitted import fitted_cases
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.sheets.tables import check_table, write_table

app = App()


@app.with_examples("pathway-local export my.run --onto examples/pathway-answer.csv --out new.csv", given=READING)
def export(
    run: Run,
    out: Annotated[Path, option("FILE", ".csv, .tsv, .jsonl, .xlsx or .parquet; - prints CSV.")],
    given: dict[str, Any],
    onto: Annotated[Path | None, option("FILE", "Copy this cases file and add the scores to its rows.")] = None,
    columns: Annotated[str, option("NAMES", "Only these columns, such as case,score,label,reason.", "--columns")] = "",
    panel: Annotated[str, option("fitted", "Write only the scores of this panel of `agreement`.", "--panel")] = "",
    against: Annotated[str, option("NAME", "With --panel: the people whose labels count.", "--against")] = "",
    cluster: Annotated[str, option("COLUMN", "With --panel: column that groups related cases.", "--cluster")] = "",
    force: Force = False,
) -> None:
    """Write a run's verdicts to a file, or into a copy of the cases file."""
    if (panel and (onto or columns)) or ((against or cluster) and not panel):
        raise UsageError("--panel goes with --against and --cluster alone", "Leave the other options out.")
    if onto is None:
        check_table(out, force=force)
    else:
        check_new(out, force=force)
        read_privately(onto, run)
    only = [name.strip() for name in columns.split(",") if name.strip()]
    with RunFile.read(run) as read:
        if panel:
            remarks = _write_panel(
                read, out, AgreementOptions(panel=panel, against=against, cluster=cluster), force=force
            )
        elif onto is None:
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


def _write_panel(run: RunFile, out: Path, options: AgreementOptions, *, force: bool) -> list[str]:
    data = Scores(run)
    columns, rows = fitted_cases(data, options)
    remarks = [terminal_words().note(said) for said in data.notices]
    if not rows:
        raise UsageError("; ".join(remarks) or "no case has a fitted score", "Let people rate more cases.")
    write_table(out, columns, rows, force=force)
    return remarks
