"""The environment of a job, for the manifest: versions and machine."""

import os
import platform
import sys
from collections.abc import Iterable
from pathlib import Path

from pathway_local import __version__
from pathway_local.system.installed import version_of
from pathway_local.verdict import Value


def environment_facts(packages: Iterable[str]) -> dict[str, Value]:
    """The versions of this program, Python and these packages, which can change a score, and the machine."""
    return {
        "pathway_local": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in packages if (found := version_of(name))},
        "machine": {"system": platform.platform(), "processors": os.cpu_count() or 0},
        "executable": Path(sys.executable).name,
    }
