"""Measures the processor time of vLLM's core in the loop that a GPU uses, with and without grammars and as `judge`."""

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from msgspec.structs import replace

from benchmark.gpu_loop import GpuLoop
from benchmark.made_cases import shortened
from benchmark.report import spread
from benchmark.shape import SHAPES, make_judge
from benchmark.stage import no_passes
from benchmark.variants import BASE, FREE, JUDGES
from benchmark.work import CONTEXT, WorkWriter
from pathway_local.judging.pool import Pool, Request
from pathway_local.judging.value_probabilities import ValueProbabilities
from pathway_local.passes import EngineConfig, Pass
from pathway_local.prompty.rubric_file import load_rubric
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail

COLUMNS = ["variant", "steps", "mixed", "ms per step", "ms per case", "of it all threads", "job / free"]
WARM_UP = 4


@dataclass(frozen=True, slots=True)
class Job:
    """The steps of a job's core, how many of them were mixed, and processor seconds: the main thread's, all threads'.

    The executor's own time is left out of both, and so is that of our part outside of the engine's process.
    """

    cases: int
    steps: int
    mixed: int
    seconds: float
    all_seconds: float


class _Meter:
    """Adds up the time of an engine's calls, without its executor's."""

    def __init__(self, engine: GpuLoop) -> None:
        self._executor = engine.executor
        self._before = self._executor.seconds, self._executor.steps, self._executor.mixed
        self.seconds = self.all_seconds = 0.0

    def timed(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function with its time counted."""

        def run(*given: Any) -> Any:
            began, all_began = time.thread_time(), time.process_time()
            try:
                return call(*given)
            finally:
                self.seconds += time.thread_time() - began
                self.all_seconds += time.process_time() - all_began

        return run

    def job(self, cases: int) -> Job:
        """Return the job so far."""
        seconds, steps, mixed = self._before
        spent = self._executor.seconds - seconds
        counted = self._executor.steps - steps, self._executor.mixed - mixed
        return Job(cases, *counted, self.seconds - spent, self.all_seconds - spent)


class CoreLoop:
    """vLLM's core with a judge of that shape, once as it is and once as our engine has it."""

    def __init__(
        self, shape: str, folder: Path, rubrics: Sequence[str], reply_tokens: int | None, settings: Mapping[str, Any]
    ) -> None:
        judge = make_judge(shape, folder / shape)
        files = [str(shortened(name, reply_tokens, folder)) if reply_tokens else name for name in rubrics]
        self._work, self._tokenizer = WorkWriter(folder, list(map(load_rubric, files)), judge), JudgeTokenizer(judge)
        config = EngineConfig(str(judge), SHAPES[shape].dtype, CONTEXT, {"load_format": "dummy", **settings})
        self._plain, self._ours = GpuLoop(config, corrected=False), GpuLoop(config)

    def measure(self, detail: Detail, cases: int, seed: int) -> dict[str, Job]:
        """Return a job of each variant, on the same cases."""
        passes = list(self._work.passes(detail, cases, seed))
        constrained, lengths = self._alone(passes)
        free = [replace(item, grammar=None, max_tokens=n) for item, n in zip(passes, lengths, strict=True)]
        found = {FREE: self._alone(free)[0], BASE: constrained}
        with patch.object(ValueProbabilities, "passes", no_passes):
            found[JUDGES[1]] = self._judged(detail, cases, seed)
        return found | {JUDGES[0]: self._judged(detail, cases, seed)}

    def _alone(self, passes: Sequence[Pass]) -> tuple[Job, list[int]]:
        """Return the job of vLLM by itself and the length of each reply; one without a grammar is as long as it may."""
        from vllm import SamplingParams
        from vllm.inputs.engine import tokens_input

        from pathway_local.engines.vllm_core import sampling_params

        engine = self._plain.vllm
        engine.reset_prefix_cache()
        meter, lengths = _Meter(self._plain), [0] * len(passes)
        add, step = meter.timed(engine.add_request), meter.timed(engine.step)
        for at, item in enumerate(passes):
            settings = sampling_params(item, SamplingParams)
            settings.ignore_eos = item.grammar is None
            add(str(at), tokens_input(list(item.ids)), settings)
        while engine.has_unfinished_requests():
            for output in step():
                lengths[int(output.request_id)] = len(output.outputs[0].token_ids)
        return meter.job(len(passes)), lengths

    def _judged(self, detail: Detail, cases: int, seed: int) -> Job:
        """Return the job of our engine, with all passes that `judge` makes."""
        engine, meter = self._ours, _Meter(self._ours)
        engine.vllm.reset_prefix_cache()
        with (
            patch.object(engine, "submit", meter.timed(engine.submit)),
            patch.object(engine, "step", meter.timed(engine.step)),
        ):
            pool = Pool(lambda: engine, self._tokenizer, CONTEXT)
            prompts = list(self._work.prompts(detail, cases, seed))
            for at, prompt in enumerate(prompts):
                pool.submit(Request(str(at), prompt))
            while pool.in_flight:
                assert not any(done.problem[0] for done in pool.completions())
        return meter.job(len(prompts))


def measure_loop(loop: CoreLoop, detail: Detail, cases: int, rounds: int) -> dict[str, list[Job]]:
    """Return each variant's jobs by round, after a short job that builds what a process needs once."""
    loop.measure(detail, WARM_UP, rounds)
    measured = [loop.measure(detail, cases, number) for number in range(rounds)]
    return {name: [each[name] for each in measured] for name in measured[0]}


def rows(found: Mapping[str, Sequence[Job]]) -> list[list[str]]:
    """Return the table's rows, of COLUMNS."""
    return [
        [
            name,
            f"{jobs[-1].steps:,}",
            f"{jobs[-1].mixed:,}",
            spread([1000 * job.seconds / job.steps for job in jobs]),
            spread([1000 * job.seconds / job.cases for job in jobs]),
            f"{statistics.median(job.all_seconds / job.seconds for job in jobs):.2f}",
            spread([job.seconds / free.seconds for job, free in zip(jobs, found[FREE], strict=True)]),
        ]
        for name, jobs in found.items()
    ]
