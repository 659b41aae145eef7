"""Starting processes from a thread that no filter holds, so that this process can give up sockets and its engine not.

A filter on system calls is a thread's own and what it starts inherits it; so one thread is set aside, which does
nothing but start processes, before the others are put under it.
"""

import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress

from pathway_local.sealing.filter import install
from pathway_local.system.private_process import STOPPING

_apart: list[ThreadPoolExecutor] = []


def give_up_sockets() -> bool:
    """Let this thread, and all that it starts by itself from here on, open no socket any more, until they end.

    False where the kernel has no such filter. Threads that native libraries began when they were imported stay
    as they are: they run their library's own code (an allocator's, linear algebra) and no other.
    """
    apart = ThreadPoolExecutor(1, "starts-processes")
    apart.submit(bool).result()  # the thread is there before the filter is
    with suppress(OSError):
        install("no-sockets")
        _apart.append(apart)
        return True
    return False


def start_process(
    command: Sequence[str], inherited: Sequence[int], environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a process in a session of its own, on the thread that is set aside where sockets were given up.

    It gets nothing to read, the descriptors in `inherited`, and one pipe for all that it prints. The signals that ask
    a program to end are blocked in it from its first moment: they are its parent's to answer.
    """

    def start() -> "subprocess.Popen[bytes]":
        with _blocked_signals():
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=inherited,
                start_new_session=True,
                env=environment,
            )

    return _apart[-1].submit(start).result() if _apart else start()


@contextmanager
def _blocked_signals() -> Iterator[None]:
    """Block STOPPING in this thread, and so in what it starts; what comes meanwhile is answered afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOPPING)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
