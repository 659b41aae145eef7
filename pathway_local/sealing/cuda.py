"""Tries in a forked process whether CUDA starts under a seal: this process could remove neither seal nor driver."""

import ctypes
import os
from collections.abc import Callable

SUCCESS, NO_DRIVER = 0, -1
_LIBRARY = "libcuda.so.1"


def initialize() -> int:
    """Return what the driver's cuInit returns; NO_DRIVER if its library can't be loaded."""
    try:
        return int(ctypes.CDLL(_LIBRARY).cuInit(0))
    except OSError:
        return NO_DRIVER


def answer_under(seal: Callable[[], object]) -> int:
    """Return what cuInit returns after `seal` in a forked process; NO_DRIVER if that process ends first."""
    read, write = os.pipe()
    trial = os.fork()
    if trial == 0:
        try:
            seal()
            os.write(write, str(initialize()).encode())
        finally:
            os._exit(0)
    os.close(write)
    with open(read, "rb") as pipe:  # noqa: PTH123  a descriptor, not a path
        told = pipe.read()
    os.waitpid(trial, 0)
    return int(told or NO_DRIVER)
