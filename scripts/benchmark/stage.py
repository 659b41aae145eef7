"""A judge of dummy weights, `judge` and vLLM by itself with it, and what a measurement of either takes."""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

import yaml

from benchmark.made_cases import shortened, write_cases
from benchmark.processes import processor_seconds
from benchmark.raw import RawProcess
from benchmark.shape import make_judge
from pathway_local.case import Case
from pathway_local.errors import EngineError
from pathway_local.judges.engine_settings import computed_in
from pathway_local.judges.judge_spec import Chat
from pathway_local.judges.registry import load_registry
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.passes import EngineConfig, Pass
from pathway_local.rendering.prompt import Prompt, PromptWriter
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.system.machine import this_machine


class Variant(StrEnum):
    """vLLM with the same grammars, the product, and vLLM without grammars but with replies of the same lengths."""

    CONSTRAINED = "constrained"
    JUDGE = "judge"
    FREE = "free"


CONTEXT = 4096


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
        self._folder, self._detail, self._runs = folder, detail, 0
        self._judge = make_judge(shape, folder / shape)
        self._rubric = load_rubric(str(shortened(rubric, reply_tokens, folder)) if reply_tokens else rubric)
        settings = {"load_format": "dummy", **settings}
        self._registry = write_registry(folder, self._judge, CONTEXT, engine=settings)
        chosen = computed_in(load_registry(self._registry).get("bench"), this_machine())
        self.dtype = "bfloat16" if chosen == "auto" else chosen  # what vLLM takes when it may
        self._config = EngineConfig(str(self._judge), self.dtype, CONTEXT, settings)
        self._loaded = EngineCache()
        self._raw: RawProcess | None = None
        self._lengths: list[int] = []

    def free(self) -> None:
        """End all engines."""
        self._loaded.free()
        if self._raw:
            self._raw.close()
        self._raw = None

    def measure(self, variant: Variant, count: int, seed: int) -> Measured:
        """Load a variant's engine if needed, and measure it once on cases made from `seed`. Raises PathwayError.

        `free` needs the lengths of the replies that `constrained` wrote to the same cases just before.
        """
        cases = write_cases(self._folder / f"{count}-{seed}.csv", self._rubric.inputs, count, seed)
        if variant is Variant.JUDGE:
            few = write_cases(self._folder / "few.csv", self._rubric.inputs, 2, 999)
            self._judged(few)  # loads the engine and caches the rubric's start
            before = processor_seconds()
            found = self._judged(cases)
        else:
            self._raw = self._raw or RawProcess(self._config)
            passes = list(map(_pass, enumerate(prompts(self._rubric, self._judge, cases, self._detail))))
            before = processor_seconds()
            found = self._raw.generate(passes, self._lengths if variant is Variant.FREE else ())
            self._lengths = found.pop("lengths")
        return Measured(cpu=processor_seconds() - before, cases=count, **found)

    def _judged(self, cases: Path) -> dict[str, Any]:
        self._runs += 1
        plan = Plan(
            cases,
            self._folder / f"{self._runs}.run",
            rubric=[self._rubric],
            judge=["bench"],
            models=self._registry,
            detail=self._detail,
            engine="vllm",
            seal="auto",
        )
        began = time.perf_counter()
        [tally] = run_job(plan, Watcher(), ["bench"], self._loaded)
        if tally.failures:
            raise EngineError(f"cases failed during the measurement: {dict(tally.failures)}")
        seconds, tokens = time.perf_counter() - began, tally.tokens
        return {"seconds": seconds, "prompt": tokens.prompt, "cached": tokens.cached, "generated": tokens.generated}


def write_registry(folder: Path, judge: Path, context: int, **more: object) -> Path:
    """Write a models.yaml in which that judge is called `bench`."""
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump({"bench": {"source": str(judge), "context": context, "cpu": True, **more}}))
    return path


def prompts(rubric: Rubric, judge: Path, cases: Path, detail: Detail) -> Iterator[Prompt]:
    """Yield the prompt of each case, as `judge` writes it."""
    writer = PromptWriter(rubric, JudgeTokenizer(judge), Chat(), context=CONTEXT, detail=detail)
    for prompt in writer.write(case.inputs for case in cases_of(cases, [rubric], None) if isinstance(case, Case)):
        assert isinstance(prompt, Prompt), prompt
        yield prompt


def _pass(numbered: tuple[int, Prompt]) -> Pass:
    at, prompt = numbered
    limit = min(prompt.reply.form.limit, CONTEXT - len(prompt.ids))
    return Pass(str(at), prompt.ids, prompt.reply.form.grammar(), limit)
