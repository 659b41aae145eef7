"""Warns of cases files that others can read, and keeps a command off the network before it reads cases."""

from pathlib import Path

from pathway_local.cli.terminal import notice
from pathway_local.errors import CasesError, SealError
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sealing.levels import NO_FILTER
from pathway_local.system.private_file import closing_command, exposures


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
