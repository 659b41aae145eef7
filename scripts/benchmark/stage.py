"""Loads engines with a judge of dummy weights, and measures variants with them."""

import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import patch

import yaml
from msgspec.msgpack import encode

from benchmark.made_cases import shortened
from benchmark.raw_process import RawProcess, processor_seconds
from benchmark.shape import make_judge
from benchmark.variants import BASE, ENGINES, FREE, JUDGES, Load, Measured
from benchmark.work import CONTEXT, WorkWriter
from pathway_local.errors import EngineError
from pathway_local.judges.engine_settings import computed_in
from pathway_local.judges.registry import load_registry
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.recorder import Tally
from pathway_local.judging.value_probabilities import Distribution, ValueProbabilities
from pathway_local.passes import EngineConfig
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.system.machine import this_machine

GIB = 1 << 30
OTHER_SEEDS = 1000
"""Added to the seed for the other variant in `judge`'s engine, which would otherwise find its prompts cached."""


class Stage:
    """A judge of that shape, made in `folder`, and the engines that load it; `free` ends them.

    `loads` says how each engine was loaded, by its name in ENGINES.
    """

    def __init__(
        self, shape: str, folder: Path, rubrics: Sequence[str], reply_tokens: int | None, settings: Mapping[str, Any]
    ) -> None:
        self._folder = folder
        self._judge = make_judge(shape, folder / shape)
        files = [str(shortened(name, reply_tokens, folder)) if reply_tokens else name for name in rubrics]
        self._rubrics = dict(zip(files, map(load_rubric, files), strict=True))
        self._work = WorkWriter(folder, list(self._rubrics.values()), self._judge)
        self._settings = {"load_format": "dummy", **settings}
        entry = {"source": str(self._judge), "context": CONTEXT, "cpu": True, "engine": self._settings}
        self._registry = folder / "models.yaml"
        self._registry.write_text(yaml.safe_dump({"bench": entry}))
        chosen = computed_in(load_registry(self._registry).get("bench"), this_machine())
        self.dtype = "bfloat16" if chosen == "auto" else chosen  # what vLLM takes when it may
        self.loads: dict[str, Load] = {}
        self._loaded = EngineCache()
        self._raw: dict[str, RawProcess] = {}
        self._constrained: dict[tuple[str, int, int], dict[str, Any]] = {}
        self._runs = 0

    def free(self) -> None:
        """End all engines."""
        self._loaded.free()
        while self._raw:
            self._raw.popitem()[1].close()

    def measure(self, variant: str, detail: Detail, count: int, seed: int) -> Measured:
        """Load a variant's engine if needed, and measure it once on cases made from `seed`. Raises PathwayError."""
        if ENGINES[variant] != "judge":
            return self._measure_raw(variant, detail, count, seed)
        own = seed + OTHER_SEEDS * JUDGES.index(variant)
        patched = patch.object(ValueProbabilities, "passes", no_passes) if variant != "judge" else nullcontext()
        for file, rubric in self._rubrics.items():  # loads the engine and caches the rubric's start
            self._judged(self._work.cases(rubric, 2, 999), file, detail)
        files = {name: self._work.cases(rubric, count, own) for name, rubric in self._rubrics.items()}
        before, began = self._cpu(None), time.perf_counter()
        with patched:
            tallies = [self._judged(cases, name, detail) for name, cases in files.items()]
        seconds, cpu = time.perf_counter() - began, self._cpu(None) - before
        if any(tally.failures or tally.judged != count for tally in tallies):
            raise EngineError(
                f"cases failed during the measurement of {variant}: {[dict(t.failures) for t in tallies]}"
            )
        tokens = [tally.tokens for tally in tallies]
        return Measured(
            seconds,
            cpu,
            count * len(files),
            sum(each.prompt for each in tokens),
            sum(each.cached for each in tokens),
            sum(each.generated for each in tokens),
        )

    def _judged(self, cases: Path, rubric: str, detail: Detail) -> Tally:
        self._runs += 1
        plan = Plan(
            cases,
            self._folder / f"{self._runs}.run",
            rubric=[self._rubrics[rubric]],
            judge=["bench"],
            models=self._registry,
            detail=detail,
            engine="vllm",
            seal="auto",
        )
        before, watch = self._loaded.engine_now, _Loading()
        [tally] = run_job(plan, watch, ["bench"], self._loaded)
        engine = self._loaded.engine_now
        if engine and engine is not before:
            self.loads["judge"] = Load(watch.seconds, watch.gib, asdict(engine.facts))
        return tally

    def _measure_raw(self, variant: str, detail: Detail, count: int, seed: int) -> Measured:
        worker, key = self._worker(ENGINES[variant]), (detail, count, seed)
        file, constrained = self._folder / "work.msgpack", self._constrained.get(key, {})
        file.write_bytes(encode(self._work.asked(variant, detail, count, seed, constrained.get("lengths", ()))))
        before = self._cpu(worker)
        found = worker.ask(variant, file)
        cpu = self._cpu(worker) - before
        if variant == BASE:
            self._constrained[key] = found
        # `constrained` leaves out the token that ends a reply, so the same count is used here.
        generated = constrained["generated"] if variant == FREE else found["generated"]
        remark = f"{found['asked']} asked, {found['failed']} without a score" if "asked" in found else ""
        cases = count * len(self._rubrics)
        prompt, cached = found.get("prompt", 0), found.get("cached", 0)
        return Measured(found["seconds"], cpu, cases, prompt, cached, generated, remark)

    def _worker(self, backend: str) -> RawProcess:
        if backend not in self._raw:
            config = EngineConfig(str(self._judge), self.dtype, CONTEXT, self._settings)
            began = time.perf_counter()
            self._raw[backend] = RawProcess(config, backend)
            self.loads[backend] = Load(time.perf_counter() - began, gpu_gib(), self._raw[backend].settled)
        return self._raw[backend]

    def _cpu(self, worker: RawProcess | None) -> float:
        """Return the processor seconds so far of a worker, or of this process and the judge's engine."""
        if worker:
            return processor_seconds(worker.pid)
        engine = self._loaded.engine_now
        pid = engine.hosts[0].pid if engine else None
        return time.process_time() + (processor_seconds(pid) if pid else 0.0)


class _Loading(Watcher):
    """Notes how long the engine took to load, and the GPUs' memory in use then."""

    _began = 0.0  # an engine that is still loaded is ready without being loaded

    def loading(self, judge: str) -> None:
        """Start the clock."""
        self._began = time.perf_counter()

    def ready(self) -> None:
        """Stop it."""
        self.seconds, self.gib = time.perf_counter() - self._began, gpu_gib()


def gpu_bytes() -> int | None:
    """Return the bytes in use on all GPUs together; None without a GPU, or if a driver does not report it."""
    gpus = this_machine().gpus
    used = [gpu.total - gpu.free for gpu in gpus if gpu.total is not None and gpu.free is not None]
    return sum(used) if used and len(used) == len(gpus) else None


def gpu_gib() -> float | None:
    """Return the GiB in use on all GPUs, or None if unknown."""
    used = gpu_bytes()
    return None if used is None else round(used / GIB, 1)


def no_passes(*_: object) -> Any:
    """Replace `ValueProbabilities.passes`: no pass, no probabilities."""
    return Distribution({}, None)
    yield
