"""Keeps tokenizers and an engine loaded for successive jobs in one process."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import Self

from pathway_local.engines.engine import LoadPlan
from pathway_local.engines.engines import Engines
from pathway_local.engines.supervised_engine import SupervisedEngine
from pathway_local.errors import UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.registry import weights_folder
from pathway_local.passes import EngineConfig
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.sealing.seal import Wanted


class EngineCache:
    """Keeps the engine of one judge, or its several engines, until a job needs another one; and every tokenizer.

    A second job with the same judge then starts at once. Leaving it as a context manager closes it.
    """

    def __init__(self) -> None:
        self._process, self._turn = os.getpid(), Lock()
        self._tokenizers: dict[tuple[Path, tuple[str, ...]], JudgeTokenizer] = {}
        self._engine: tuple[tuple[str, EngineConfig, Wanted, tuple[str, ...]], Engines] | None = None
        self._planned: tuple[tuple[str, EngineConfig, Wanted, str], LoadPlan] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Use the engine for one job. Raises UsageError while another job uses it, and in a forked process."""
        if os.getpid() != self._process or not self._turn.acquire(blocking=False):
            said = "the engine judges for a call that has not returned, or for the process that made it"
            raise UsageError(said, "Call again after that call has returned, or make an engine for each.")
        try:
            yield
        finally:
            self._turn.release()

    def close(self) -> None:
        """Free the engine, unless a job uses it (UsageError); in a forked process, leave it to its parent."""
        if os.getpid() == self._process:
            with self.turn():
                self.free()

    def tokenizer(self, judge: JudgeSpec) -> JudgeTokenizer:
        """Return the judge's tokenizer."""
        key = (weights_folder(judge), tuple(judge.end_of_turn))
        if key not in self._tokenizers:
            self._tokenizers[key] = JudgeTokenizer(*key)
        return self._tokenizers[key]

    def planned(self, wanted: tuple[str, EngineConfig, Wanted, str], estimate: Callable[[], LoadPlan]) -> LoadPlan:
        """Return how a judge is loaded, by the engine's name, the judge with its whole context, the seal and the GPUs.

        A loaded engine uses memory, and a new estimate would be too small. So the last judge's plan is kept, and its
        engine is freed before another judge's is estimated.
        """
        if self._planned is None or self._planned[0] != wanted:
            self.free()
            self._planned = wanted, estimate()
        return self._planned[1]

    def engine(
        self,
        kind: str,
        config: EngineConfig,
        seal: Wanted,
        notify: Callable[[str], None],
        stopped: Callable[[], bool],
        log: Path | None = None,
        gpus: tuple[str, ...] = ("",),
        loading: Callable[[], None] = lambda: None,
    ) -> Engines:
        """Return the engine with that configuration; free another one first, since two may not fit into memory.

        `loading` is called before one is loaded. `log` receives everything that it prints while it loads. `gpus` are
        those of each engine, as in `LoadPlan`.
        """
        wanted = (kind, config, seal, gpus)
        if self._engine and self._engine[0] != wanted:
            self.free()
        if self._engine is None:
            loading()
            own = (replace(config, gpus=each) for each in gpus)
            hosts = [SupervisedEngine(kind, each, seal=seal, log=log) for each in own]
            self._engine = wanted, Engines(hosts, notify, stopped)
        engine = self._engine[1]
        engine.notify, engine.stopped = notify, stopped
        return engine

    def free(self) -> None:
        """End the engine, if any, and all its work in flight."""
        loaded, self._engine = self._engine, None
        if loaded:
            loaded[1].close()
