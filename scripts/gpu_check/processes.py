"""The commands of this checkout as a user types them."""

import os
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
COMMAND = (sys.executable, "-c", "from pathway_local.cli import main; main()")
"""`pathway-local` of this checkout, if started from ROOT; it need not be on the path."""


def environment() -> dict[str, str]:
    """Return the environment without the path by which Python finds this check."""
    paths = [path for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path != str(ROOT / "scripts")]
    return os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
