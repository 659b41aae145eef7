"""Starts processes from a thread without a filter, so that an engine does not inherit that this process has no sockets.

A filter on system calls belongs to a thread, and whatever the thread starts inherits it. So one thread, which only
starts processes, is set aside before the filter is put on the others.
"""

import signal
import subprocess
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

from pathway_local.sealing.filter import install
from pathway_local.system.private_process import STOPPING

_apart: list[ThreadPoolExecutor] = []


def give_up_sockets() -> bool:
    """Forbid sockets to this thread, and to all that it starts from now on; return False if the kernel can't filter.

    Threads that native libraries started while they were imported keep their rights: they run only their own library's
    code (an allocator, linear algebra).
    """
    apart = ThreadPoolExecutor(1, "starts-processes")
    apart.submit(bool).result()  # starts the thread before the filter is on
    with suppress(OSError):
        install("no-sockets")
        _apart.append(apart)
        return True
    return False


def start_process(
    command: Sequence[str], inherited: Sequence[int], environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a process in its own session; after `give_up_sockets`, start it on the thread set aside.

    The process gets an empty stdin, the descriptors in `inherited`, and one pipe for its output. Signals that ask a
    program to end are blocked in it from the start: its parent answers them.
    """

    def start() -> "subprocess.Popen[bytes]":
        # Asked for first: blocking may raise KeyboardInterrupt at once, and the mask must be restored then, too.
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
        try:
            signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                start_new_session=True,
                env=environment,
            )
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    # The first: one made later, when this thread had a filter already, has inherited it.
    return _apart[0].submit(start).result() if _apart else start()
