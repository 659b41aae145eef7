"""The command line: each command parses, calls one function and prints."""

from pathway_local.system.early_interrupt import leave_at_once


def main() -> None:
    """Run the command line. An error becomes one line, a hint and an exit code."""
    leave_at_once()
    # Imported here: an interrupt while this imports typer and rich would print a traceback.
    from pathway_local.cli.command_line import run

    run()
