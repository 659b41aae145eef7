"""`with_auto_engine.py ARGUMENT …` is the command `pathway-local` where `auto` finds the scripted engine."""

import sys

from scripted_kind import SCRIPTED, Scripted

from pathway_local.cli import main
from pathway_local.engines.engine_list import ENGINES

if __name__ == "__main__":
    sys.argv[0] = "pathway-local"
    Scripted.is_installed = lambda self: True  # type: ignore[method-assign]
    ENGINES.insert(0, SCRIPTED)
    main()
