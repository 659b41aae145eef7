"""Opens cases files for a command, which before gives up the network, and warns of files that others can read."""

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

from pathway_local.cli.terminal import notice
from pathway_local.errors import CasesError, SealError
from pathway_local.judging.plan import columns_by_input
from pathway_local.prompty.rubric_file import load_rubric
from pathway_local.ratings.cases_given import Given
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sealing.levels import NO_FILTER
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.system.private_file import closing_command, exposures


def sheet_of(run: RunFile, cases: Path, rubrics: Collection[Rubric], given: Mapping[str, Any]) -> CasesFile:
    """Return the cases file of a run, read as the options say, and note how it is read. Raises PathwayError."""
    how = _read(given)
    if key := how.pop("pseudonyms", None):
        how["pseudonyms"] = Pseudonyms.of_file(key)
    sheet = cases_of(cases, rubrics, run, **how)
    for note in sheet.notes:
        notice(note)
    return sheet


def cases_given(run: Path, cases: Path, rubric: str | None, given: Mapping[str, Any]) -> Given:
    """Return a run, which may be a new one, with a cases file, read as the options say. Raises UsageError."""
    return Given(run, cases, load_rubric, rubric, **_read(given))


def _read(given: Mapping[str, Any]) -> dict[str, Any]:
    return {**given, "mapping": columns_by_input(given.get("mapping", ()))}


def read_privately(*files: Path) -> None:
    """Warn of files that others can read, then give up sockets until this process ends. Raises CasesError."""
    # In this order: a directory service needs a socket to tell us the names of groups.
    tell_exposed(*files)
    close_off()


def tell_exposed(*files: Path, strict: bool = False) -> None:
    """Warn of files that others can read, or refuse them if `strict`. Raises CasesError."""
    for path, others in exposures(files):
        if strict:
            raise CasesError(f"{path} can be read by {others}", f"Run: {closing_command(path)}")
        notice(f"{path} can be read by {others}: {closing_command(path)}")


def close_off(*, required: bool = False) -> None:
    """Prevent this process, which will read cases, from opening sockets; if `required`, raise SealError if it can't."""
    if not give_up_sockets():
        if required:
            raise SealError("this kernel can't keep the process that reads the cases from opening sockets", NO_FILTER)
        notice("this kernel filters no system calls: only our own code keeps this process off the network")
