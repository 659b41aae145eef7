"""What this process leaves behind is its owner's alone: files that others can't read, and no dump of its memory."""

import os
import resource
from contextlib import suppress
from pathlib import Path


def make_private() -> None:
    """Let only the owner read new files, and no memory be written out when this process or a child crashes."""
    os.umask(0o077)
    # A limit of 1 byte, unlike 0, also stops a dump that the kernel pipes to a program (fs/coredump.c).
    limit = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
    with suppress(OSError):  # a kernel that writes no dumps has no such file
        # Where the limit has to stay 0, such a dump holds none of the memory (core(5)).
        Path("/proc/self/coredump_filter").write_text("0")
