"""Opens the cases file of a run for a command, and notes how it is read."""

from collections.abc import Collection, Mapping
from pathlib import Path

from pathway_local.cli.terminal import notice
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.pseudonyms import Pseudonyms


def sheet_of(
    run: RunFile,
    cases: Path,
    rubrics: Collection[Rubric],
    id_column: str | None,
    pseudonyms: Path | None,
    encoding: str,
    mapping: Mapping[str, str] | None = None,
) -> CasesFile:
    """Return the cases file of a run. Raises PathwayError."""
    key = Pseudonyms.of_file(pseudonyms) if pseudonyms else None
    sheet = cases_of(cases, rubrics, run, id_column, mapping, key, encoding)
    for note in sheet.notes:
        notice(note)
    return sheet
