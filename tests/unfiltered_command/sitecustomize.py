"""The command finds no filter on system calls, though its engine does."""

import sys

if any("pathway-local" in argument for argument in sys.orig_argv):
    from pathway_local.sealing import launch

    def refuse(*_: object) -> int:
        raise OSError

    launch.install = refuse  # type: ignore[assignment]
