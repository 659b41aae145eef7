"""The calls of CUDA's start that concern sockets, in its order; a refused one ends it as cuInit does."""

import socket
from contextlib import suppress

NO_DAEMON, REFUSED = 0, 304
DAEMON = "/tmp/nvidia-mps/control"


def initialize() -> int:
    """Stands in for the driver's cuInit: 0, or 304 (CUDA_ERROR_OPERATING_SYSTEM) where a call is refused."""
    try:
        look = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        with suppress(OSError):  # no daemon, or none that may be reached: CUDA goes on by itself
            look.connect(DAEMON)
        own = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)
        own.bind("")  # an empty name, for which the kernel chooses an abstract one
        own.listen()
    except OSError:
        return REFUSED
    return NO_DAEMON
