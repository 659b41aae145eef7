"""How well an engine's process is sealed: a word for each level, and its caution for users."""

from typing import Final, Literal

from pathway_local.errors import SealError

Wanted = Literal["auto", "required", "off"]
"""As strong a seal as the kernel allows; no network and no local sockets, else refuse to run; or no seal."""

NAMESPACE = "namespace"
ISOLATED = "already-isolated"
OFF_SWITCHES = "off-switches"
FILTER = "filter"
UNFILTERED: Final = "unfiltered"
Attempt = Wanted | Literal["unfiltered"]
"""How to seal an engine's process: as wanted, or as strongly as possible without the filter on system calls."""

OFF = "off"
CLUSTER = "cluster:"
"""Begins the level of an engine on another machine: its own seal there follows."""

NO_FILTER = (
    "Other programs' local sockets could be reached: take a kernel and a container that allow filters (seccomp), "
    "or leave --seal required out."
)

NO_NAMESPACE = "the kernel allows no network namespace here"
FILTERS_NOTHING = "the kernel filters no system calls here"
LEAVE_OUT = "Leave --seal required out: the engine then runs under the strongest seal that lets it start."


def is_closed(level: str) -> bool:
    """Whether this level has no network at all."""
    return level.partition("+")[0] in (NAMESPACE, ISOLATED)


def caution_about(level: str, why: str) -> str:
    """Return a warning about a level, with the reason why it is not stronger; empty for the strongest here."""
    if level.startswith(CLUSTER):
        own = caution_about(level.removeprefix(CLUSTER), why)
        return f"prompts and replies travel to the cluster's nodes{'; there: ' if own else ''}{own}"
    if level == FILTER:
        return f"{why or NO_NAMESPACE}: a filter on system calls keeps the engine from connecting"
    if is_closed(level) and not _is_filtered(level):
        return (
            f"{why or FILTERS_NOTHING}: the engine reaches no network, but it can reach other programs' local sockets"
        )
    if level == OFF_SWITCHES:
        said = why or "the kernel allows neither a network namespace nor a filter"
        return f"NOT SEALED: {said}; give --seal required to refuse"
    return ""


def require(level: str, why: str) -> None:
    """Raise SealError unless the engine reaches no network and no other program's local socket.

    `why` says what prevented a stronger level, if it was not the kernel.
    """
    if why:
        raise SealError(f"{why}, so the engine can't be sealed completely (only: {level})", LEAVE_OUT)
    if not is_closed(level):
        raise SealError(
            f"this machine allows no network namespace (only: {level})",
            "Run in a container without network (--network none), allow user namespaces (docs/privacy.md says how), "
            "or leave --seal required out: then a filter on system calls takes its place.",
        )
    if not _is_filtered(level):
        raise SealError(f"the kernel filters no system calls for the engine (only: {level})", NO_FILTER)


def _is_filtered(level: str) -> bool:
    return FILTER in level.split("+")
