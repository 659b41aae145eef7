"""Measures our own Python alone, from reading cases to storing verdicts, with an engine that replies at once."""

import json
import os
import time
from pathlib import Path
from tempfile import NamedTemporaryFile
from unittest.mock import patch

from benchmark.instant_engine import INSTANT, REPLY, register
from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from benchmark.stage import write_registry
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
    judge, rubric = make_judge(shape, folder / shape), load_rubric(RUBRIC)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), detail).form.write(SAID)
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # all tokenising on the main thread, whose time can be taken off
    register()
    spent, encode = 0.0, JudgeTokenizer.encode_cases

    def timed(self: JudgeTokenizer, texts: list[str]) -> list[tuple[int, ...]]:
        nonlocal spent
        began = time.thread_time()
        found = encode(self, texts)
        spent += time.thread_time() - began
        return found

    def judged(many: int, loaded: EngineCache) -> float:
        """Return the processor seconds that so many cases take."""
        cases, run = write_cases(folder / f"{many}.csv", rubric.inputs, many, many, words=WORDS), folder / f"{many}.run"
        models, engine = write_registry(folder, judge, 8192), INSTANT.name
        plan = Plan(cases, run, rubric=[rubric], judge=["bench"], models=models, engine=engine, detail=detail)
        began = time.process_time()
        [tally] = run_job(plan, Watcher(), ["bench"], loaded)
        assert tally.judged == many, dict(tally.failures)
        return time.process_time() - began

    with (
        NamedTemporaryFile("w", dir="/dev/shm") as file,  # where an engine may read
        patch.object(JudgeTokenizer, "encode_cases", timed),
        EngineCache() as loaded,
    ):
        os.environ[REPLY] = file.name
        json.dump(JudgeTokenizer(judge).encode(reply), file)
        file.flush()
        judged(8, loaded)
        spent = 0.0
        taken = judged(count, loaded)
    return {
        "processor seconds": taken,
        "tokenising seconds": spent,
        "cases per processor second without tokenising": count / (taken - spent),
    }
