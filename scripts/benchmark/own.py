"""Measures our own Python alone, from reading cases to storing verdicts, with an engine that replies at once."""

import json
import os
import resource
import time
from pathlib import Path
from unittest.mock import patch

import yaml

from benchmark.instant_engine import INSTANT, REPLY, register
from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.verdict import Value

RUBRIC = "pathway-answer"
SAID: dict[str, Value] = {
    "analysis": "It says what the ideal answer says. " + "It leaves little out. " * 5 + "It leaves little out.",
    "score": 4,
    "justification": "The content bears it out.",
}
"""The engine's reply to each case."""

WORDS = 4
"""Words in each text of a case."""


def measure_own(folder: Path, shape: str, count: int, detail: Detail) -> dict[str, float]:
    """Judge `count` cases, after some that load the engine; return the figures of the process that judges."""
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # all tokenising on the main thread, whose time can be taken off
    registry, rubric = _registry(folder, shape, detail), load_rubric(RUBRIC)
    spent, encode = 0.0, JudgeTokenizer.encode_cases

    def timed(self: JudgeTokenizer, texts: list[str]) -> list[tuple[int, ...]]:
        nonlocal spent
        began = time.thread_time()
        found = encode(self, texts)
        spent += time.thread_time() - began
        return found

    def judge(many: int, loaded: EngineCache) -> None:
        cases = write_cases(folder / f"{many}.csv", rubric.inputs, many, many, words=WORDS)
        run = folder / f"{many}.run"
        engine = INSTANT.name
        plan = Plan(cases, run, rubric=[rubric], judge=["bench"], models=registry, engine=engine, detail=detail)
        [tally] = run_job(plan, Watcher(), ["bench"], loaded)
        assert tally.judged == many, dict(tally.failures)

    with EngineCache() as loaded, patch.object(JudgeTokenizer, "encode_cases", timed):
        judge(8, loaded)
        peak, spent, began, busy = _peak(), 0.0, time.perf_counter(), time.process_time()
        judge(count, loaded)
        wall, taken = time.perf_counter() - began, time.process_time() - busy
    Path(os.environ[REPLY]).unlink()
    return {
        "wall seconds": wall,
        "processor seconds": taken,
        "tokenising seconds": spent,
        "cases per processor second without tokenising": count / (taken - spent),
        "growth of the peak of memory, MiB": _peak() - peak,
    }


def _registry(folder: Path, shape: str, detail: Detail) -> Path:
    """Return a models.yaml with a judge of that shape; the engine answers each of its cases with SAID."""
    judge, rubric = make_judge(shape, folder / shape), load_rubric(RUBRIC)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), detail).form.write(SAID)
    path = Path("/dev/shm") / f"bench-reply-{os.getpid()}.json"  # where an engine may read
    path.write_text(json.dumps(JudgeTokenizer(judge).encode(reply)))
    os.environ[REPLY] = str(path)
    registry = folder / "models.yaml"
    registry.write_text(yaml.safe_dump({"bench": {"source": str(judge), "context": 8192, "cpu": True}}))
    register()
    return registry


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
