"""Parts `bench-0.6b` and `bench-8b`: `scripts/bench` with a judge of that shape, judging beside vLLM by itself."""

import json
import shlex
import statistics
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from gpu_check import gpu
from gpu_check.findings import Figure, Table
from gpu_check.work import ROOT, Work, environment

LARGE_GPU = 40 * 10**9
"""Bytes of a GPU that holds the weights of the 8b shape, twice, each time with a cache."""


def run_small(work: Work) -> None:
    """The 0.6b shape on a GPU; without one the tiny shape, whose figures say nothing about a GPU."""
    if work.on_gpu:
        _bench(work, "qwen3-0.6b", "--cases", "256", "--rounds", "2")
        return
    work.found.words.append("no GPU: the tiny shape with few cases, only to see that the benchmark runs")
    _bench(work, "tiny", "--cases", "24", "--rounds", "1")


def run_large(work: Work) -> None:
    """The 8b shape, where the GPU has the memory for it."""
    memory = gpu.largest()
    if not work.on_gpu:
        work.found.not_run = "no GPU"
    elif memory < LARGE_GPU:
        work.found.not_run = f"the GPU has {memory / 1e9:.0f} GB, and this takes {LARGE_GPU / 1e9:.0f}"
    else:
        _bench(work, "qwen3-8b", "--cases", "256", "--rounds", "2")


def _bench(work: Work, shape: str, *sizes: str) -> None:
    out = work.folder / "bench.json"
    command = ["scripts/bench", "--shape", shape, *sizes, "--variants", "constrained,judge", "--out"]
    work.found.commands.append(shlex.join([*command, "bench.json"]))
    work.save()
    variables = environment() | {"PYTHON": sys.executable}
    code = subprocess.run([*command, str(out)], cwd=ROOT, env=variables, check=False).returncode
    if code or not out.exists():
        work.found.problems.append(f"it ended with exit code {code}")
        return
    _tell(work, json.loads(out.read_text("utf-8")))


def _tell(work: Work, found: Mapping[str, Any]) -> None:
    work.found.words.append(str(found["title"]))
    rows = [_row(name, runs, found.get("ratios", {}).get(name, {})) for name, runs in found["measured"].items()]
    columns = ["variant", "cases/s", "tokens written a case", "ratio by wall", "ratio by processor"]
    work.found.tables.append(Table("Median (least–most) of the rounds; ratios to `constrained`", columns, rows))
    for name, ratios in found.get("ratios", {}).items():
        for kind, values in ratios.items():
            work.found.figures[f"{name}, ratio by {kind}"] = statistics.median(values)
    for name, shares in found.get("roofline_shares", {}).items():
        work.found.figures[f"{name}, share of the roofline"] = statistics.median(shares)


def _row(name: str, runs: Sequence[Mapping[str, Any]], ratios: Mapping[str, Sequence[float]]) -> list[Figure]:
    pace = [run["cases"] / run["seconds"] for run in runs]
    written = statistics.median(run["generated"] / run["cases"] for run in runs)
    return [
        name,
        _spread(pace),
        round(written, 1),
        _spread(ratios.get("wall", [])),
        _spread(ratios.get("processor", [])),
    ]


def _spread(values: Sequence[float]) -> str:
    if not values:
        return ""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})"
