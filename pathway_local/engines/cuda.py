"""Whether CUDA starts under a seal, tried in a forked process: this one can't take a seal off, or a driver out."""

import ctypes
import os
from collections.abc import Callable

SUCCESS, NO_DRIVER = 0, -1
_LIBRARY = "libcuda.so.1"


def initialize() -> int:
    """The answer of the driver's cuInit; NO_DRIVER where its library can't be loaded."""
    try:
        return int(ctypes.CDLL(_LIBRARY).cuInit(0))
    except OSError:
        return NO_DRIVER


def answer_under(seal: Callable[[], object]) -> int:
    """The answer of cuInit after `seal`, in a forked process; NO_DRIVER where that ends before it answers."""
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
