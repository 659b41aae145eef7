"""An engine counts as hanging after three seconds instead of minutes."""

import sys

if "judge" in sys.orig_argv:
    from pathway_local.engines.supervised_engine import SupervisedEngine

    assert SupervisedEngine.__init__.__kwdefaults__ is not None
    SupervisedEngine.__init__.__kwdefaults__["hang_limit"] = 3.0
