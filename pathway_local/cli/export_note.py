"""What commands have in common that write something of a run to a file: its audit trail is to say so."""

import sys
from pathlib import Path

from pathway_local.cli.terminal import notice
from pathway_local.results.export import record_export


def note_export(run: Path, out: Path) -> None:
    """Note in the run's audit trail that this command wrote `out`, or tell the user that it could not be noted."""
    if not record_export(run, out, sys.argv):
        notice(f"{run} can't be written to, so this export is not in its audit trail")
