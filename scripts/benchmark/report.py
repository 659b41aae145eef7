"""What was measured as tables and as JSON: rates, and ratios round by round with their spread."""

import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rich.table import Table

from benchmark.compare import Found, Runs, Wanted
from benchmark.roofline import shortest
from benchmark.shape import SHAPES
from benchmark.variants import BASE, ENGINES, Measured
from pathway_local.cli.terminal import table

COLUMNS = [
    "variant",
    "cases/s",
    "written/s",
    "prompt",
    "cached",
    "written",
    "ratio (cases)",
    "ratio (written)",
    "ratio (processor)",
    "roofline",
    "remark",
]
EIGHT_BITS = ("quantization", "kv_cache_dtype")
"""Settings under which weights or cache are not of the judge's type: the roofline would be another."""


def ratios(runs: Mapping[str, Sequence[Measured]], name: str) -> dict[str, list[float]]:
    """A variant's rates over those of vLLM by itself, round by round, for rounds that both have.

    `cases` and `written` (tokens) by wall time, `processor` is cases by processor time.
    """
    pairs = list(zip(runs.get(BASE, ()), runs[name], strict=False))
    return {
        "cases": [(own.cases / own.seconds) / (base.cases / base.seconds) for base, own in pairs],
        "written": [(own.generated / own.seconds) / (base.generated / base.seconds) for base, own in pairs],
        "processor": [(own.cases / own.cpu) / (base.cases / base.cpu) for base, own in pairs],
    }


def tables(wanted: Wanted, found: Found) -> Iterator[Table]:
    """A table for each detail, and one of the engines."""
    for detail, runs in found.runs.items():
        rows = [_row(name, runs, _shares(wanted, found, measured)) for name, measured in runs.items() if measured]
        if rows:
            yield table(_title(wanted, found, detail), COLUMNS, rows)
    rows = []
    for engine, load in found.loads.items():
        variants = ", ".join(name for name in wanted.variants if ENGINES[name] == engine)
        settled = ", ".join(f"{name} {value}" for name, value in load.settled.items() if value not in (None, ""))
        rows.append([variants, f"{load.seconds:.0f} s", str(load.gpu_gib or ""), settled])
    if rows:
        yield table("engines", ["variants", "ready after", "GPU, GiB", "settled"], rows)


def told(wanted: Wanted, found: Found, hardware: Mapping[str, Any]) -> dict[str, Any]:
    """All of it, for JSON."""
    return {
        "hardware": hardware,
        "wanted": asdict(wanted),
        "found": asdict(found),
        "ratios": {detail: {name: ratios(runs, name) for name in runs} for detail, runs in found.runs.items()},
        "roofline_shares": {
            detail: {name: _shares(wanted, found, each) for name, each in runs.items()}
            for detail, runs in found.runs.items()
        },
    }


def write(path: Path, figures: Mapping[str, Any]) -> None:
    """Replace the file as a whole: who kills the benchmark finds the last round's figures."""
    part = path.with_name(f"{path.name}.part")
    part.write_text(json.dumps(figures, indent=2))
    part.replace(path)


def _title(wanted: Wanted, found: Found, detail: str) -> str:
    given = ", ".join(f"{name}={value}" for name, value in wanted.settings.items())
    length = f", replies of about {wanted.reply_tokens} tokens" if wanted.reply_tokens else ""
    what = f"{wanted.shape} in {found.dtype}, {', '.join(wanted.rubrics)}, --detail {detail}, {wanted.cases} cases"
    return f"{what}{length}, core in {wanted.core} process{f', {given}' if given else ''}"


def _row(name: str, runs: Runs, shares: Sequence[float]) -> list[str]:
    own, last = runs[name], runs[name][-1]
    compared = ratios(runs, name)
    return [
        name,
        spread([run.cases / run.seconds for run in own]),
        f"{statistics.median(run.generated / run.seconds for run in own):,.0f}",
        f"{last.prompt / last.cases:.0f}",
        f"{last.cached / last.prompt:.0%}" if last.prompt else "",
        f"{last.generated / last.cases:.1f}",
        *(spread(compared[kind]) for kind in ("cases", "written", "processor")),
        f"{statistics.median(shares):.1%}" if shares else "",
        last.remark,
    ]


def _shares(wanted: Wanted, found: Found, measured: Sequence[Measured]) -> list[float]:
    """Which share of the roofline each round reached; none where it is not known."""
    base = found.loads.get(ENGINES[BASE])
    if not found.roof or base is None or any(name in wanted.settings for name in EIGHT_BITS):
        return []
    shape, seats = SHAPES[wanted.shape], int(base.settled["max_num_seqs"])
    return [shortest(shape, found.dtype, each, found.roof, seats) / each.seconds for each in measured]


def spread(values: Sequence[float]) -> str:
    """Median, with the least and the most behind it; empty where there are none."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})" if values else ""
