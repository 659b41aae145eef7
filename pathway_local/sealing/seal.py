"""The strongest seal that this kernel allows and CUDA starts under, put on this process."""

import os
import socket
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from pathway_local.sealing import cuda
from pathway_local.sealing.filter import install
from pathway_local.sealing.levels import FILTER, OFF, OFF_SWITCHES, UNFILTERED
from pathway_local.sealing.namespace import seal
from pathway_local.system.installed import uses_gpu


@dataclass(frozen=True, slots=True)
class Parts:
    """The parts of a seal: a network namespace, and a filter on system calls."""

    namespace: bool
    filter: bool

    def try_on(self) -> None:
        """Seal this process so, without the questions that several processes of an engine are asked."""
        if self.namespace:
            seal()
        if self.filter:
            with suppress(OSError):
                install("no-connections")


LADDER = (Parts(True, True), Parts(True, False), Parts(False, True), Parts(False, False))
"""Seals, the strongest first."""


def close_off(wanted: str, gate: int) -> tuple[str, str]:
    """Cut this process off from networks and from other programs' sockets: how, and why not better.

    The first is the word of `seal`, then "filter" where system calls are filtered, or "off"; it goes into the
    manifest. The second is empty unless a weaker seal was chosen than the kernel allows, since CUDA starts under none
    that is stronger.
    """
    if wanted == OFF:
        return OFF, ""
    parts, why = _strongest(LADDER[1:] if wanted == UNFILTERED else LADDER)
    level = seal() if parts.namespace else OFF_SWITCHES
    if parts.filter and _filter(level, gate):
        return FILTER if level == OFF_SWITCHES else f"{level}+{FILTER}", why
    return level, why


def _strongest(ladder: Sequence[Parts]) -> tuple[Parts, str]:
    """The first seal under which CUDA starts, and why not the first of all; that one where CUDA starts nowhere."""
    best = ladder[0]
    if not uses_gpu() or (answer := cuda.answer_under(best.try_on)) in (cuda.SUCCESS, cuda.NO_DRIVER):
        return best, ""
    if cuda.answer_under(lambda: None) != cuda.SUCCESS:
        return best, ""
    # From the top again: unsealed, the driver's set-uid helper may just have made the device files that were missing.
    for parts in ladder:
        if cuda.answer_under(parts.try_on) == cuda.SUCCESS:
            why = f"CUDA does not start under a stronger seal (cuInit returns {answer})"
            return parts, why if parts != best else ""
    return best, ""


def _filter(level: str, gate: int) -> bool:
    """Filter this process's system calls; whether the kernel does."""
    try:
        listener = install("no-connections" if gate < 0 else "ask", gate)
    except OSError:
        return False
    if gate >= 0:
        # Left open: the filter asks nothing about this number, so no other socket may get it.
        handle = socket.socket(fileno=gate)
        socket.send_fds(handle, [level.encode()], [listener])
        handle.detach()
        os.close(listener)
    return True
