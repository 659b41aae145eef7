"""The scripted engine as the rest of the program sees it: `register` adds it to the engines of this process."""

from collections.abc import Mapping

from pydantic import JsonValue

from pathway_local.engines.engine import EngineKind, Fitted
from pathway_local.engines.engine_list import ENGINES
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.system.machine import Machine


class Scripted(EngineKind):
    """The scripted engine as the rest of the program sees it; its process needs tests/ on its PYTHONPATH."""

    name = "scripted"
    loader = "scripted_engine:load"
    libraries = ()

    def is_installed(self) -> bool:
        """Never chosen by `auto`."""
        return False

    def fitted(
        self, judge: JudgeSpec, machine: Machine, options: Mapping[str, JsonValue], dtype: str, steps: float
    ) -> Fitted:
        """Needs no memory."""
        return {}, ()


SCRIPTED = Scripted()


def register() -> None:
    """Add the scripted engine to those of this process."""
    if SCRIPTED not in ENGINES:
        ENGINES.append(SCRIPTED)
