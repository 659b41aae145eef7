"""Arguments and options that several commands have in common, in the same words."""

from pathlib import Path
from typing import Annotated

import typer

from pathway_local.cli.command_help import CASES, OUTPUT, PRIVACY, RATERS, declared, option
from pathway_local.judging.option import ENCODING, HEADER_ROW, ID, MAP, MODELS
from pathway_local.words import languages

Run = Annotated[Path, typer.Argument(metavar="RUN", help="The run file.")]
RunToBe = Annotated[Path, typer.Argument(metavar="RUN", help="The run file; with --rubric it may be a new one.")]
CasesOption = Annotated[Path, option("FILE", "The cases file.", CASES)]
HeaderRow = Annotated[int | None, declared(HEADER_ROW)]
Encoding = Annotated[str, declared(ENCODING)]
IdColumn = Annotated[str | None, declared(ID, "--id")]
Map = Annotated[list[str], declared(MAP, "--map")]
KeyFile = Annotated[Path | None, option("KEYFILE", "Key of the run's pseudonyms.", PRIVACY)]
Models = Annotated[Path | None, declared(MODELS)]
RubricOfRun = Annotated[str | None, option("RUBRIC", "Only this rubric; default: all.", RATERS)]
RubricIfSeveral = Annotated[str | None, option("RUBRIC", "The rubric; needed if the run has several.", RATERS)]
PairBy = Annotated[
    str,
    option("NAME", "With --between: column or input with the shared question; default: found in the run.", CASES),
]
Cluster = Annotated[str, option("COLUMN", "Column that groups related cases, e.g. student or conversation.", CASES)]
Out = Annotated[Path | None, option("FILE", "Write all tables to a page (.html) or a file such as .xlsx.", OUTPUT)]
Full = Annotated[bool, option("", "Show every table and column, and how to read each figure.", OUTPUT, "--full")]
Page = Annotated[Path, option("FILE", "The page, an .html file.", OUTPUT)]
Title = Annotated[str, option("TEXT", "The page's title.", OUTPUT)]
Lang = Annotated[str, option("LANGUAGE", f"Language of what is shown: {', '.join(languages())}.", OUTPUT)]
Yes = Annotated[bool, option("", "Do not ask first.", PRIVACY, "--yes")]
Force = Annotated[bool, option("", "Replace the output file if it exists.", OUTPUT, "--force")]
AsJson = Annotated[bool, option("", "Print JSON instead of tables.", OUTPUT, "--json")]
