"""What is measured: judging as a user would, and vLLM by itself with the same work."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import mean
from typing import Any, cast
from unittest.mock import patch

import yaml
from msgspec.msgpack import encode

from benchmark.made_cases import SHARED, write_cases
from benchmark.raw import ANSWER, Asked
from benchmark.shape import make_judge
from pathway_local.case import Case
from pathway_local.chat import Chat
from pathway_local.checks.engine_settings import computed_in
from pathway_local.engines.passes import EngineConfig, Pass
from pathway_local.engines.probe import Probe
from pathway_local.engines.wire import PassWriter
from pathway_local.errors import EngineError
from pathway_local.job import Silent, run_job
from pathway_local.judge import Tally
from pathway_local.judges.machine import this_machine
from pathway_local.judges.registry import load_registry
from pathway_local.loaded import Loaded
from pathway_local.plan import Plan
from pathway_local.prompt import Prompt, PromptWriter
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import Rubric, load_rubric
from pathway_local.runs.run_cases import cases_of
from pathway_local.tokenizer import JudgeTokenizer

CONTEXT = 4096
RAW = {"constrained": "guidance", "free": "guidance", "naive": "auto", "prometheus-eval": "guidance"}
"""Variants that vLLM does by itself, and what it makes their grammars with."""

REFERENCES = ("ideal_answer", "gold_answer")
"""Inputs that hold what an answer is compared with."""

SCHEMA = {
    "type": "object",
    "properties": {"reason": {"type": "string"}, "score": {"type": "integer", "minimum": 1, "maximum": 5}},
    "required": ["reason", "score"],
}


@dataclass(frozen=True, slots=True)
class Measured:
    """One variant once: its wall time and the processor time of all its processes in seconds, cases and tokens."""

    seconds: float
    cpu: float
    cases: int
    prompt: int
    cached: int
    generated: int
    remark: str = ""


class Stage:
    """A judge of that shape, made in `folder`, and the engines that measure with it; `close` ends them."""

    def __init__(
        self, shape: str, folder: Path, rubrics: Sequence[str], detail: Detail, settings: Mapping[str, Any]
    ) -> None:
        self.folder, self.detail = folder, detail
        self.rubrics = [load_rubric(name) for name in rubrics]
        self.judge_folder = make_judge(shape, folder / shape)
        self.settings = {"load_format": "dummy", **settings}
        entry = {"source": str(self.judge_folder), "context": CONTEXT, "cpu": True}
        self.registry = folder / "models.yaml"
        self.registry.write_text(yaml.safe_dump({"bench": {**entry, "engine": self.settings}}))
        chosen = computed_in(load_registry(self.registry).get("bench"), this_machine())
        self.dtype = "bfloat16" if chosen == "auto" else chosen  # what vLLM takes when it may
        self.loaded = Loaded()
        self._raw: dict[str, RawProcess] = {}
        self._lengths: list[int] = []
        self._runs = 0

    def close(self) -> None:
        """End all engines."""
        self.loaded.free()
        for raw in self._raw.values():
            raw.close()

    def cases(self, rubric: Rubric, count: int, seed: int) -> Path:
        """A cases file for a rubric."""
        return write_cases(self.folder / f"{rubric.name}-{count}-{seed}.csv", rubric, count, seed)

    def measure(self, variant: str, count: int, seed: int) -> Measured:
        """One variant once, on cases made from `seed`; its engine is loaded before."""
        if variant in RAW:
            return self._measure_raw(variant, count, seed)
        # Cases of its own for each: else the second would find the first one's prompts in the cache.
        own = seed + 1000 * (1 + ("judge", "judge without probabilities").index(variant))
        patched = patch.object(Probe, "passes", _no_passes) if variant != "judge" else nullcontext()
        self._judge(2, 999)  # loads the engine, and puts the rubric's start into its cache
        files = [self.cases(rubric, count, own) for rubric in self.rubrics]
        before, began = self._cpu(None), time.perf_counter()
        with patched:
            tallies = [self._judged(path, rubric) for path, rubric in zip(files, self.rubrics, strict=True)]
        seconds, cpu = time.perf_counter() - began, self._cpu(None) - before
        if any(tally.failures or tally.judged != count for tally in tallies):
            raise EngineError(f"cases failed while {variant} was measured: {[dict(t.failures) for t in tallies]}")
        tokens = [tally.tokens for tally in tallies]
        return Measured(
            seconds,
            cpu,
            count * len(files),
            sum(each.prompt for each in tokens),
            sum(each.cached for each in tokens),
            sum(each.generated for each in tokens),
        )

    def roof(self) -> dict[str, float]:
        """What the machine can do: `flops` and `bytes` a second."""
        return cast("dict[str, float]", self._worker("guidance").ask("roof", None))

    def _judge(self, count: int, seed: int) -> None:
        for rubric in self.rubrics:
            self._judged(self.cases(rubric, count, seed), rubric)

    def _judged(self, cases: Path, rubric: Rubric) -> Tally:
        self._runs += 1
        run = self.folder / f"{self._runs}.run"
        plan = Plan(
            cases, run, [rubric.name], ["bench"], registry=self.registry, detail=self.detail, engine="vllm", seal="auto"
        )
        [tally] = run_job(plan, Silent(), ["bench"], self.loaded)
        return tally

    def _measure_raw(self, variant: str, count: int, seed: int) -> Measured:
        worker = self._worker(RAW[variant])
        file = self.folder / "work.msgpack"
        made = {"naive": self._chats, "prometheus-eval": self._graded}.get(variant, self._work)
        file.write_bytes(encode(made(count, seed)))
        before = self._cpu(worker)
        found = worker.ask(variant, file)
        cpu = self._cpu(worker) - before
        if variant == "constrained":
            self._lengths = found["lengths"]
        generated = sum(found["lengths"]) if "lengths" in found else found["generated"]
        remark = f"{found['asked']} asked, {found['failed']} without a score" if "asked" in found else ""
        cases = count * len(self.rubrics)
        return Measured(found["seconds"], cpu, cases, found.get("prompt", 0), found.get("cached", 0), generated, remark)

    def _worker(self, backend: str) -> "RawProcess":
        if backend not in self._raw:
            config = EngineConfig(str(self.judge_folder), self.dtype, CONTEXT, self.settings)
            self._raw[backend] = RawProcess(config, backend)
        return self._raw[backend]

    def _prompts(self, count: int, seed: int) -> list[Prompt]:
        tokenizer = JudgeTokenizer(self.judge_folder)
        found: list[Prompt] = []
        for rubric in self.rubrics:
            writer = PromptWriter(rubric, tokenizer, Chat(), context=CONTEXT, detail=self.detail)
            prompts = writer.write(self._read(rubric, count, seed))
            found += [prompt for prompt in prompts if isinstance(prompt, Prompt)]
        return found

    def _work(self, count: int, seed: int) -> Asked:
        passes = [
            Pass(
                str(at),
                prompt.own + prompt.start,
                prompt.reply.grammar(),
                min(prompt.reply.limit, CONTEXT - len(prompt.ids)),
                shared=prompt.shared,
            )
            for at, prompt in enumerate(self._prompts(count, seed))
        ]
        return Asked(tuple(map(PassWriter().message, passes)), tuple(self._lengths))

    def _read(self, rubric: Rubric, count: int, seed: int) -> list[Case]:
        cases = cases_of(self.cases(rubric, count, seed), [rubric], None)
        return [case for case in cases if isinstance(case, Case)]

    def _chats(self, count: int, seed: int) -> Asked:
        chats = []
        for rubric in self.rubrics:
            for case in self._read(rubric, count, seed):
                content = f"{_named(case.inputs)}\n\n{rubric.turns[0].template}\n\nReply in JSON."
                chats.append([{"role": "user", "content": content}])
        return Asked(chats=chats, schema=SCHEMA, max_tokens=self._plan())

    def _graded(self, count: int, seed: int) -> Asked:
        graded = []
        for rubric in self.rubrics:
            for case in self._read(rubric, count, seed):
                answer = next(name for name in rubric.inputs if name not in SHARED)
                reference = next((case.inputs[name] for name in REFERENCES if name in case.inputs), "")
                asked = _named({name: text for name, text in case.inputs.items() if name != answer})
                graded.append((asked, case.inputs[answer], rubric.turns[0].template, reference))
        return Asked(graded=tuple(graded), max_tokens=round(mean(self._lengths)) if self._lengths else self._plan())

    def _plan(self) -> int:
        return max(rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), self.detail).plan for rubric in self.rubrics)

    def _cpu(self, worker: "RawProcess | None") -> float:
        """Processor seconds so far: of a worker, or of this process and the judge's engine."""
        if worker:
            return _cpu_of(worker.pid)
        host = self.loaded.host
        return time.process_time() + (_cpu_of(host.pid) if host and host.pid else 0.0)


class RawProcess:
    """vLLM by itself in a process of its own."""

    def __init__(self, config: EngineConfig, backend: str) -> None:
        told = json.dumps({"config": asdict(config), "backend": backend})
        command = [sys.executable, "-m", "benchmark.raw", told]
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as long as the process)
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        self._answer()

    @property
    def pid(self) -> int:
        """The process's id."""
        return self._process.pid

    def ask(self, variant: str, file: Path | None) -> dict[str, Any]:
        """One measurement. Raises EngineError."""
        assert self._process.stdin
        self._process.stdin.write(json.dumps({"variant": variant, **({"file": str(file)} if file else {})}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin
        self._process.stdin.close()
        self._process.wait(60)

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout
        for line in self._process.stdout:
            if line.startswith(ANSWER):
                return cast("dict[str, Any]", json.loads(line.removeprefix(ANSWER)))
        self._log.seek(0)
        last = self._log.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        raise EngineError(f"vLLM by itself has ended: {''.join(last)}")


def _named(inputs: Mapping[str, str]) -> str:
    return "\n\n".join(f"{name}: {text}" for name, text in inputs.items())


def _no_passes(*_: object) -> Any:
    return {}
    yield


def _cpu_of(pid: int) -> float:
    """Processor seconds of a process and its threads."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
