"""A judge of dummy weights, `judge` and vLLM by itself with it, and what a measurement of either takes."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import yaml
from msgspec.msgpack import encode

from benchmark.made_cases import shortened
from benchmark.raw import ANSWER, Asked
from benchmark.shape import make_judge
from benchmark.work import CONTEXT, WorkWriter
from pathway_local.errors import EngineError
from pathway_local.judges.engine_settings import computed_in
from pathway_local.judges.registry import load_registry
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan
from pathway_local.passes import EngineConfig
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.system.machine import this_machine

BASE, JUDGE, FREE = VARIANTS = ("constrained", "judge", "free")
"""vLLM with the same grammars, the product, and vLLM without grammars but with replies of the same lengths."""

LAST_LINES = 30
PATIENCE = 10.0
"""Seconds until the process of vLLM is killed; it has nothing to save."""


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement: wall seconds, processor seconds of all processes, cases and tokens."""

    seconds: float
    cpu: float
    cases: int
    prompt: int
    cached: int
    generated: int


class Stage:
    """A judge of that shape, made in `folder`, and the engines that load it; `free` ends them."""

    def __init__(
        self,
        shape: str,
        folder: Path,
        rubric: str,
        detail: Detail,
        settings: Mapping[str, Any],
        reply_tokens: int | None = None,
    ) -> None:
        self._folder, self._detail = folder, detail
        self._judge = make_judge(shape, folder / shape)
        self._rubric = load_rubric(str(shortened(rubric, reply_tokens, folder)) if reply_tokens else rubric)
        self._work = WorkWriter(folder, [self._rubric], self._judge)
        self._settings = {"load_format": "dummy", **settings}
        entry = {"source": str(self._judge), "context": CONTEXT, "cpu": True, "engine": self._settings}
        self._registry = folder / "models.yaml"
        self._registry.write_text(yaml.safe_dump({"bench": entry}))
        chosen = computed_in(load_registry(self._registry).get("bench"), this_machine())
        self.dtype = "bfloat16" if chosen == "auto" else chosen  # what vLLM takes when it may
        self._loaded = EngineCache()
        self._raw: RawProcess | None = None
        self._lengths: dict[tuple[int, int], list[int]] = {}
        self._runs = 0

    def free(self) -> None:
        """End all engines."""
        self._loaded.free()
        if self._raw:
            self._raw.close()
        self._raw = None

    def measure(self, variant: str, count: int, seed: int) -> Measured:
        """Load a variant's engine if needed, and measure it once on cases made from `seed`. Raises PathwayError.

        `free` needs the lengths of the replies that `constrained` wrote to the same cases.
        """
        if variant == JUDGE:
            self._judged(2, 999)  # loads the engine and caches the rubric's start
            return self._judged(count, seed)
        self._raw = self._raw or RawProcess(EngineConfig(str(self._judge), self.dtype, CONTEXT, self._settings))
        lengths = tuple(self._lengths[count, seed]) if variant == FREE else ()
        passes = tuple(self._work.passes(self._detail, count, seed))
        file = self._folder / "work.msgpack"
        file.write_bytes(encode(Asked(passes, lengths)))
        before = processor_seconds(self._raw.pid)
        found = self._raw.ask(file)
        self._lengths[count, seed] = found.pop("lengths")
        return Measured(cpu=processor_seconds(self._raw.pid) - before, cases=count, **found)

    def _judged(self, count: int, seed: int) -> Measured:
        self._runs += 1
        plan = Plan(
            self._work.cases(self._rubric, count, seed),
            self._folder / f"{self._runs}.run",
            rubric=[self._rubric],
            judge=["bench"],
            models=self._registry,
            detail=self._detail,
            engine="vllm",
            seal="auto",
        )
        before, began = self._cpu(), time.perf_counter()
        [tally] = run_job(plan, Watcher(), ["bench"], self._loaded)
        seconds, cpu = time.perf_counter() - began, self._cpu() - before
        if tally.failures or tally.judged != count:
            raise EngineError(f"cases failed during the measurement: {dict(tally.failures)}")
        tokens = tally.tokens
        return Measured(seconds, cpu, count, tokens.prompt, tokens.cached, tokens.generated)

    def _cpu(self) -> float:
        """Return the processor seconds so far of this process and the judge's engine."""
        engine = self._loaded.engine_now
        pid = engine.hosts[0].pid if engine else None
        return time.process_time() + (processor_seconds(pid) if pid else 0.0)


class RawProcess:
    """vLLM by itself, loaded in its own process. Raises EngineError if it ends."""

    def __init__(self, config: EngineConfig) -> None:
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmark.raw", json.dumps(asdict(config))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
            start_new_session=True,  # `close` and `processor_seconds` find its processes by it
        )
        self.pid = self._process.pid
        try:
            self._answer()
        except BaseException:
            self.close()
            raise

    def ask(self, file: Path) -> dict[str, Any]:
        """Return the measurement of the work in the file."""
        assert self._process.stdin
        print(file, file=self._process.stdin, flush=True)
        return self._answer()

    def close(self) -> None:
        """End the process and its children, so that the next engine finds the GPU's memory free."""
        assert self._process.stdin
        self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(PATIENCE)
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._process.wait()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                answer: dict[str, Any] = json.loads(line.removeprefix(ANSWER))
                return answer
        self._log.seek(0)
        last = self._log.read().decode("utf-8", "replace").strip().splitlines()[-LAST_LINES:]
        # The last line alone often says no more than "see root cause above".
        print(*last, sep="\n", file=sys.stderr, flush=True)
        raise EngineError(f"vLLM by itself ended: {''.join(last[-1:])}")


def processor_seconds(session: int) -> float:
    """Return the processor seconds so far of a session's processes."""
    found = 0
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):  # it has ended meanwhile
            fields = path.read_text().rpartition(")")[2].split()
            if int(fields[3]) == session:
                found += int(fields[11]) + int(fields[12])
    return found / os.sysconf("SC_CLK_TCK")


def gpu_bytes() -> int | None:
    """Return the bytes in use on all GPUs together; None without a GPU, or if a driver does not report it."""
    gpus = this_machine().gpus
    used = [gpu.total - gpu.free for gpu in gpus if gpu.total is not None and gpu.free is not None]
    return sum(used) if used and len(used) == len(gpus) else None
