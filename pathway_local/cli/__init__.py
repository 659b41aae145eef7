"""The command line: each command parses, calls one function and prints."""

import sys


def main() -> None:
    """Run the command line. An error becomes one line, a hint and an exit code."""
    try:
        from pathway_local.cli.command_line import run
    except KeyboardInterrupt:
        sys.exit(130)  # there is nothing to clean up yet, and a traceback would say nothing
    run()
