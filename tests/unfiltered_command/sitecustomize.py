"""The command finds no filter on system calls, though its engine does."""

import sys

if any("pathway-local" in each or "with_scripted_engine" in each for each in sys.orig_argv):
    from pathway_local.sealing import launch

    def refuse(*_: object) -> int:
        raise OSError

    launch.install = refuse  # type: ignore[assignment]
