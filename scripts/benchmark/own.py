"""Measures our own Python alone, from reading cases to storing verdicts, with an engine that replies at once."""

import json
import os
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import yaml

from benchmark.instant_engine import INSTANT, REPLY, register
from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric import load_rubric
from pathway_local.verdict import Value

RUBRIC = "pathway-answer"
SAID: dict[str, Value] = {
    "analysis": "It says what the ideal answer says. " + "It leaves little out. " * 5 + "It leaves little out.",
    "score": 4,
    "justification": "The content bears it out.",
}
"""The engine's reply to each case."""


@dataclass(frozen=True, slots=True)
class Own:
    """Cases, seconds and MiB. `per_second` is cases per processor second of the main thread, without tokenising."""

    cases: int
    wall_seconds: float
    main_thread_seconds: float
    tokenising_seconds: float
    per_second: float
    first_outcome_seconds: float
    peak_growth_mib: float


class _Watch(Watcher):
    """Notes the time of the first outcome."""

    def __init__(self) -> None:
        self.first = 0.0

    def watch(self, tally: Tally) -> None:
        """Note the time once a case is done."""
        if tally.done and not self.first:
            self.first = time.perf_counter()


def measure_own(folder: Path, shape: str, count: int, words: int, detail: Detail = "full") -> Own:
    """Judge `count` cases with an engine that answers at once, in its own process."""
    judge, rubric = make_judge(shape, folder / shape), load_rubric(RUBRIC)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), detail).form.write(SAID)
    (folder / "reply.json").write_text(json.dumps(JudgeTokenizer(judge).encode(reply)))
    os.environ[REPLY] = str(folder / "reply.json")
    registry = folder / "models.yaml"
    registry.write_text(yaml.safe_dump({"bench": {"source": str(judge), "context": 8192, "cpu": True}}))
    register()
    path = write_cases(folder / "cases.csv", rubric, count, 1, words=words)
    spent, encode = 0.0, JudgeTokenizer.encode_cases

    def timed(self: JudgeTokenizer, texts: list[str]) -> list[tuple[int, ...]]:
        nonlocal spent
        began = time.thread_time()
        found = encode(self, texts)
        spent += time.thread_time() - began
        return found

    with EngineCache() as loaded, patch.object(JudgeTokenizer, "encode_cases", timed):
        few = write_cases(folder / "few.csv", rubric, 8, 2, words=words)
        run_job(_plan(few, folder / "few.run", registry, detail), _Watch(), ["bench"], loaded)
        peak, spent, watch = _peak(), 0.0, _Watch()
        began, busy = time.perf_counter(), time.thread_time()
        [tally] = run_job(_plan(path, folder / "own.run", registry, detail), watch, ["bench"], loaded)
        wall, main = time.perf_counter() - began, time.thread_time() - busy
    assert tally.judged == count, dict(tally.failures)
    rate = count / (main - spent)
    return Own(count, wall, main, spent, rate, watch.first - began, _peak() - peak)


def _plan(cases: Path, run: Path, registry: Path, detail: Detail) -> Plan:
    return Plan(cases, run, [RUBRIC], ["bench"], registry=registry, engine=INSTANT.name, detail=detail)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
