"""A script that can't be loaded under a filter on system calls: it stands in for a library that a filter stops."""

from pathlib import Path

from scripted_engine import echo as echo

if "Seccomp:\t2" in Path("/proc/self/status").read_text():
    raise PermissionError("a system call was refused")
