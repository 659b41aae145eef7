"""`python -m gpu_check.parts NAME` runs one part in this process and saves its findings."""

import os
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path

from gpu_check.findings import Findings
from gpu_check.machine import has_gpu
from gpu_check.part import FOUND
from gpu_check.parts import PARTS
from gpu_check.processes import end_below_on_signals
from gpu_check.work import Work
from pathway_local.errors import PathwayError


def main(name: str) -> int:
    """Run the part of that name and return the exit code."""
    end_below_on_signals()
    module, _, function = PARTS[name].function.partition(":")
    run: Callable[[Work], None] = getattr(import_module(f"gpu_check.parts.{module}"), function)
    with tempfile.TemporaryDirectory(prefix=f"{name}-") as folder:
        work = Work(Findings(), Path(os.environ[FOUND]), Path(folder), has_gpu())
        try:
            run(work)
        except PathwayError as error:
            work.found.problems.append(f"{error}\n{error.hint}")
        finally:
            work.save()
    return int(bool(work.found.problems))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
