"""Parts `bench_8b` and `bench_small`."""

import shlex
import subprocess
import sys

import pytest

from gpu_check.findings import ROOT, Work, environment
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
    """Run the benchmark; the report has its tables, and all its figures lie beside the report."""
    out = work.out / f"bench-{arguments[1]}.json"
    command = ["scripts/bench", *arguments, *COMMON, "--out", str(out.absolute())]
    work.commands.append(shlex.join(command))
    variables = environment() | {"PYTHON": sys.executable, "COLUMNS": "160"}
    done = subprocess.run(command, cwd=ROOT, env=variables, stdout=subprocess.PIPE, text=True, check=False)
    work.printed = done.stdout.splitlines()
    if done.returncode:
        work.problems.append(f"it ended with exit code {done.returncode}")
