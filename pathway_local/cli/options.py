"""Arguments and options that several commands have in common, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

Run = Annotated[Path, typer.Argument(help="A run file.", show_default=False)]
RunToBe = Annotated[Path, typer.Argument(help="A run file; a new one where --rubric is given.", show_default=False)]
CasesOption = Annotated[Path, typer.Option(help="The cases file.")]
IdColumn = Annotated[str | None, typer.Option("--id", help="The column with the cases' ids.")]
Map = Annotated[list[str], typer.Option("--map", help="INPUT=COLUMN where names differ.")]
KeyFile = Annotated[Path | None, typer.Option(metavar="KEYFILE", help="The key of the run's pseudonyms.")]
Models = Annotated[Path | None, typer.Option(help="A registry of your own over ours.")]
RubricOfRun = Annotated[str | None, typer.Option(help="A rubric of the run; default: all.")]
Cluster = Annotated[
    str, typer.Option(metavar="COLUMN", help="What cases depend on each other by: students, conversations.")
]
MinGroup = Annotated[int, typer.Option(min=1, help="With --by: leave out groups of fewer cases.")]
Figures = Annotated[Path | None, typer.Option(help="Write every figure to this .csv, .xlsx or .jsonl file.")]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that exists.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of tables.")]
