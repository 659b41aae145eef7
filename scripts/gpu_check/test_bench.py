"""Parts `bench_8b` and `bench_small`."""

import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from benchmark.report import AIM, RATIOS, spread
from benchmark.stage import FREE
from gpu_check.findings import ROOT, Figure, Table, Work, environment
from pathway_local.system.machine import this_machine

LARGE_GPU = 40 * 10**9
"""Bytes of a GPU that holds the weights of the 8b shape and a cache for many cases."""

COMMON = ("--rounds", "2")
ON_GPU = ("--cases", "256", "--reply-tokens", "150")
"""A judge of dummy weights writes until its budgets end; with smaller ones it writes as much as a real judge."""


@pytest.mark.timeout(330)
def test_bench_8b(work: Work) -> None:
    """Runs the benchmark with the shape of an 8B judge."""
    memory = max((each.total or 0 for each in this_machine().gpus), default=0)
    if not work.on_gpu:
        pytest.skip("no GPU")
    if memory < LARGE_GPU:
        pytest.skip(f"the GPU has {memory / 1e9:.0f} GB; this needs {LARGE_GPU / 1e9:.0f}")
    _bench(work, "--shape", "qwen3-8b", *ON_GPU, "--minutes", "1")


@pytest.mark.timeout(150)
def test_bench_small(work: Work) -> None:
    """Runs the benchmark with the shape of a small judge, or a tiny one without a GPU."""
    if work.on_gpu:
        _bench(work, "--shape", "qwen3-0.6b", *ON_GPU, "--minutes", "1")
        return
    work.words.append("no GPU: the tiny shape with few cases, only to check that the benchmark runs")
    _bench(work, "--shape", "tiny", "--cases", "16", "--reply-tokens", "60")


def _bench(work: Work, *arguments: str) -> None:
    out = work.folder / "bench.json"
    command = ["scripts/bench", *arguments, *COMMON, "--out"]
    work.commands.append(shlex.join([*command, "bench.json"]))
    variables = environment() | {"PYTHON": sys.executable}
    code = subprocess.run([*command, str(out)], cwd=ROOT, env=variables, check=False).returncode
    if code or not out.exists():
        work.problems.append(f"it ended with exit code {code}")
    if out.exists():
        tell_figures(work, json.loads(out.read_text("utf-8")))


def tell_figures(work: Work, told: Mapping[str, Any]) -> None:
    """Note ratios and a row for each variant."""
    ratios = told["ratios"]
    rows = [_row(name, own, ratios[name]) for name, own in told["runs"].items() if own]
    title = f"{told['shape']} in {told['dtype']}, --detail {told['detail']}; median (least–most) of the rounds"
    work.tables.append(Table(title, ["variant", "cases/s", "tokens written a case", *RATIOS], rows))
    work.figures |= {f"judge, {kind}": statistics.median(values) for kind, values in ratios["judge"].items() if values}
    if values := ratios["judge"][f"of {FREE}"]:
        work.words.append(f"judge: {spread(values)} of vLLM without grammars, aim: {AIM}")


def _row(name: str, runs: Sequence[Mapping[str, Any]], ratios: Mapping[str, Sequence[float]]) -> list[Figure]:
    pace = [run["cases"] / run["seconds"] for run in runs]
    written = statistics.median(run["generated"] / run["cases"] for run in runs)
    return [name, spread(pace), round(written, 1), *(spread(ratios.get(kind, [])) for kind in RATIOS)]
