"""vLLM's workers, and no other process, lack a module that they import while they load."""

import sys
from importlib.abc import MetaPathFinder

if "--multiprocessing-fork" in sys.orig_argv:

    class _Missing(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "vllm.v1.worker.cpu_worker":
                import a_module_that_is_missing  # type: ignore[import-not-found]  # noqa: F401

    sys.meta_path.insert(0, _Missing())
