"""An engine that the package does not know: all that a new one takes is a file like this one."""

from collections.abc import Callable

from reply_script import reply

from pathway_local.engines.engine import EngineKind
from pathway_local.passes import EngineConfig, EngineFacts, Pass, PassResult

MISSING = "a_library_that_nobody_has"


class AnotherEngine:
    """Answers one pass a step, by a random walk under its grammar."""

    def __init__(self, config: EngineConfig) -> None:
        assert config.max_model_len
        self.facts = EngineFacts("another", "3.1", config.max_model_len, "float64", "an abacus")
        self._held: list[Pass] = []

    def submit(self, item: Pass) -> None:
        self._held.append(item)

    def step(self) -> list[PassResult]:
        item = self._held.pop(0)
        answer = reply(item)
        assert isinstance(answer, PassResult)
        return [PassResult(item.id, answer.ids, logprobs=answer.logprobs)]


def load(config: EngineConfig, _beat: Callable[[], None]) -> AnotherEngine:
    return AnotherEngine(config)


def load_without_library(config: EngineConfig, beat: Callable[[], None]) -> AnotherEngine:
    raise ModuleNotFoundError(f"No module named {MISSING!r}")


class Another(EngineKind):
    name = "another"
    loader = f"{__name__}:load"
    libraries = (MISSING,)
    packages = ("pytest",)
    install_hint = "Install the abacus."


class AnotherWithoutLibrary(Another):
    loader = f"{__name__}:load_without_library"
