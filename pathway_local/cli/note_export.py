"""Records what a command wrote from a run in its audit trail."""

import sys
from pathlib import Path

from pathway_local.cli.terminal import notice
from pathway_local.output.export import record_export


def note_export(run: Path, out: Path) -> None:
    """Record in the run's audit trail that this command wrote `out`, or tell the user that it can't be recorded."""
    if not record_export(run, out, sys.argv):
        notice(f"{run} is read-only, so its audit trail does not record this export")
