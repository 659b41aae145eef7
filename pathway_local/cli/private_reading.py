"""What every command does before it reads cases: it tells who else can, and keeps itself off the network."""

from pathlib import Path

from pathway_local.cli.terminal import notice
from pathway_local.errors import CasesError, SealError
from pathway_local.sealing.launch import give_up_sockets
from pathway_local.sealing.levels import NO_FILTER
from pathway_local.system.private_file import exposed_to


def read_privately(*files: Path) -> None:
    """Tell of files that others can read, then give up sockets until this process ends. Raises CasesError."""
    # In this order: the names of a directory service's groups come through a socket.
    tell_exposed(*files)
    close_off()


def tell_exposed(*files: Path, strict: bool = False) -> None:
    """Tell of files that others can read; `strict` refuses them. Raises CasesError."""
    for path in files:
        try:
            others = exposed_to(path) if path.exists() else ""
        except OSError as error:
            raise CasesError(f"{path} can't be read: {error.strerror}") from None
        if others and strict:
            raise CasesError(f"{path} can be read by {others}", f"Run: chmod 600 {path}")
        if others:
            notice(f"{path} can be read by {others}: chmod 600 {path}")


def close_off(*, required: bool = False) -> None:
    """Keep this process, which will hold the cases' texts, from opening sockets. Raises SealError if it is required."""
    if not give_up_sockets():
        if required:
            raise SealError("the kernel filters no system calls for this process, which holds the cases", NO_FILTER)
        notice("this kernel filters no system calls: nothing but our own code keeps this process off the network")
