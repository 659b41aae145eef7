"""What is loaded: tokenizers and an engine, for jobs that follow each other in one process."""

from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Self

from pathway_local.engines.host import Host, start
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.registry import weights_folder
from pathway_local.passes import EngineConfig
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.sealing.levels import Wanted


class EngineCache:
    """Keeps the engine of one judge until another one is asked for, and every tokenizer.

    A second job with the same judge then begins at once. It frees the engine when it is left as a context.
    """

    def __init__(self) -> None:
        self._tokenizers: dict[tuple[Path, tuple[str, ...]], JudgeTokenizer] = {}
        self._engine: tuple[tuple[str, EngineConfig, Wanted], Host] | None = None
        self._reckoned: tuple[tuple[str, EngineConfig, Wanted], int] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.free()

    @property
    def host(self) -> Host | None:
        """The engine that is loaded, if there is one."""
        return self._engine[1] if self._engine else None

    def tokenizer(self, judge: JudgeSpec) -> JudgeTokenizer:
        """The judge's tokenizer."""
        key = (weights_folder(judge), tuple(judge.end_of_turn))
        if key not in self._tokenizers:
            self._tokenizers[key] = JudgeTokenizer(*key)
        return self._tokenizers[key]

    def context(self, kind: str, config: EngineConfig, seal: Wanted, reckon: Callable[[], int]) -> int:
        """The context, in tokens, of the judge that `config` names with its whole one: as it was reckoned at first.

        Once an engine is loaded there is less memory to reckon with; that of another judge is freed before.
        """
        wanted = (kind, config, seal)
        if self._reckoned is None or self._reckoned[0] != wanted:
            self.free()
            self._reckoned = wanted, reckon()
        return self._reckoned[1]

    def engine(
        self,
        kind: str,
        config: EngineConfig,
        seal: Wanted,
        notify: Callable[[str], None],
        stopped: Callable[[], bool],
        log: Path | None = None,
    ) -> Host:
        """The engine with that configuration; another one is freed first, since two may not fit into the memory.

        `log` gets all that it prints while it loads.
        """
        wanted = (kind, config, seal)
        if self._engine and self._engine[0] != wanted:
            self.free()
        if self._engine is None:
            self._engine = wanted, start(kind, config, seal=seal, notify=notify, stopped=stopped, log=log)
        host = self._engine[1]
        host.notify, host.stopped = notify, stopped
        return host

    def free(self) -> None:
        """End the engine, if there is one, and with it whatever it still works on."""
        if self._engine:
            self._engine[1].close()
            self._engine = None
