"""Measures our own Python alone, from reading cases to storing verdicts, with engines that need no time of ours."""

import json
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import yaml

from benchmark.instant_engine import INSTANT, PACE, REPLY, register, times_file
from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.recorder import Tally
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


@dataclass(frozen=True, slots=True)
class Own:
    """Cases, seconds and MiB of the process that judges, with so many engines.

    `per_second` is cases per second of its processor time, all threads together, without tokenising; `ratio` divides it
    by that of the first column. `engines_waiting` is the share of the time, from an engine's first pass to its last,
    in which it held none.
    """

    engines: int
    cases: int
    wall_seconds: float
    processor_seconds: float
    tokenising_seconds: float
    per_second: float
    ratio: float
    engines_waiting: float
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


def measure_own(
    folder: Path,
    shape: str,
    count: int,
    words: int,
    detail: Detail,
    engines: Sequence[int] = (1,),
    pace: float | None = None,
) -> list[Own]:
    """Judge `count` cases with each of these numbers of engines, each in its own process.

    An engine answers at once, or `pace` passes in a second.
    """
    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # all tokenising on the main thread, whose time can be taken off
    os.environ.update({PACE: str(pace)} if pace else {})
    registry, rubric = _instant_judge(folder, shape, detail), load_rubric(RUBRIC)
    few = write_cases(folder / "few.csv", rubric.inputs, 8, 2, words=words)
    cases = write_cases(folder / "cases.csv", rubric.inputs, count, 1, words=words)
    found: list[Own] = []

    for number in engines:
        plans = [
            Plan(
                path,
                folder / f"{path.stem}-{len(found)}.run",
                rubric=[rubric],
                judge=["bench"],
                models=registry,
                engine=INSTANT.name,
                detail=detail,
                engines=number,
            )
            for path in (few, cases)
        ]
        found.append(_measured(plans, count, number, found[0].per_second if found else None))
    Path(os.environ[REPLY]).unlink()
    return found


def _instant_judge(folder: Path, shape: str, detail: Detail) -> Path:
    """Return a models.yaml with a judge of that shape; the engine answers each of its cases with SAID."""
    judge, rubric = make_judge(shape, folder / shape), load_rubric(RUBRIC)
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, "x"), detail).form.write(SAID)
    path = Path("/dev/shm") / f"bench-reply-{os.getpid()}.json"  # where an engine may read and write
    path.write_text(json.dumps(JudgeTokenizer(judge).encode(reply)))
    os.environ[REPLY] = str(path)
    registry = folder / "models.yaml"
    registry.write_text(yaml.safe_dump({"bench": {"source": str(judge), "context": 8192, "cpu": True}}))
    register()
    return registry


def _measured(plans: Sequence[Plan], count: int, number: int, base: float | None) -> Own:
    """Run a short plan, which loads the engines, and measure the second."""
    spent, encode = 0.0, JudgeTokenizer.encode_cases

    def timed(self: JudgeTokenizer, texts: list[str]) -> list[tuple[int, ...]]:
        nonlocal spent
        began = time.thread_time()
        found = encode(self, texts)
        spent += time.thread_time() - began
        return found

    with EngineCache() as loaded, patch.object(JudgeTokenizer, "encode_cases", timed):
        run_job(plans[0], _Watch(), ["bench"], loaded)
        peak, spent, watch = _peak(), 0.0, _Watch()
        began, busy = time.perf_counter(), time.process_time()
        [tally] = run_job(plans[1], watch, ["bench"], loaded)
        wall, taken = time.perf_counter() - began, time.process_time() - busy
    assert tally.judged == count, dict(tally.failures)
    files = list(times_file("*").parent.glob(times_file("*").name))
    assert len(files) == number, files
    times = [json.loads(file.read_text()) for file in files]
    for file in files:
        file.unlink()
    waiting = 1 - sum(held for held, _ in times) / max(sum(whole for _, whole in times), 1e-9)
    rate = count / (taken - spent)
    ratio = rate / base if base else 1.0
    return Own(number, count, wall, taken, spent, rate, ratio, waiting, watch.first - began, _peak() - peak)


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
