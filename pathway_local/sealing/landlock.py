"""Limits which files this process, and all that it starts, may use (landlock(7), from kernel 5.13 on).

It needs no privilege, and nobody can undo it. A rule names a file or a folder and what may be done there and below; all
else is refused. A process under it traces no process that is not. From kernel 6.12 on, it also reaches their abstract
sockets and sends them signals no more. TCP is left to the namespace and the filter.
"""

import ctypes
import os
import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

_CREATE, _ADD, _RESTRICT = 444, 445, 446
_ASK_VERSION, _BELOW_PATH = 1, 1
_EXECUTE, _WRITE, _READ, _LIST, _TRUNCATE, _DEVICE = 1, 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
_OF_FILES = _EXECUTE | _WRITE | _READ | _TRUNCATE | _DEVICE
"""Rights that a rule for a single file may name (linux/landlock.h)."""

_RIGHTS = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 4: (1 << 15) - 1}
"""All rights that each version of the interface knows; from 5 on: also ioctl on devices."""

_SCOPES_SINCE, _SCOPES = 6, 3
_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Files:
    """Files of a process: `read` and run, `write` as it likes, `devices` to open, and folders to `list` alone."""

    read: Sequence[Path] = ()
    write: Sequence[Path] = ()
    devices: Sequence[Path] = ()
    list: Sequence[Path] = ()


def version() -> int:
    """Return which version of the interface the kernel has; 0 or less if it has none."""
    return int(_libc.syscall(_CREATE, None, 0, _ASK_VERSION))


def keep_to(files: Files) -> None:
    """Keep this thread, and all threads and processes that it starts from now on, to these files.

    The kernel asks for `no_new_privs` (prctl(2)), which `close_off` sets. Raises OSError.
    """
    known = version()
    every = _RIGHTS.get(known, (1 << 16) - 1)
    # Rights to files, to the network (none, so these are not limited), and what is out of reach of other processes.
    rules = _call(_CREATE, struct.pack("QQQ", every, 0, _SCOPES if known >= _SCOPES_SINCE else 0), 24, 0)
    try:
        _allow(rules, files.read, _EXECUTE | _READ | _LIST)
        _allow(rules, files.write, every)
        _allow(rules, files.devices, every & (_WRITE | _READ | _LIST | _DEVICE))
        _allow(rules, files.list, _LIST)
        _call(_RESTRICT, rules, 0)
    finally:
        os.close(rules)


def _allow(rules: int, paths: Iterable[Path], rights: int) -> None:
    for path in dict.fromkeys(paths):
        try:
            place = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            continue  # nothing is there that could be allowed
        try:
            allowed = rights if path.is_dir() else rights & _OF_FILES
            _call(_ADD, rules, _BELOW_PATH, struct.pack("=Qi", allowed, place), 0)
        finally:
            os.close(place)


def _call(number: int, *arguments: object) -> int:
    done: int = _libc.syscall(number, *arguments)
    if done < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return done
