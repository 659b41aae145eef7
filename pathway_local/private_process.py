"""What this process leaves behind is its owner's alone: files that others can't read, and no dump of its memory."""

import os
import resource


def make_private() -> None:
    """Let only the owner read new files, and no memory be written out when this process or a child crashes."""
    os.umask(0o077)
    # A limit of 1 byte, unlike 0, also stops a dump that the kernel pipes to a program (fs/coredump.c).
    limit = 0 if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0 else 1
    resource.setrlimit(resource.RLIMIT_CORE, (limit, limit))
