"""Measure judging beside vLLM by itself: variants in turn, several rounds, ratios with their spread."""

import json
import os
import platform
import statistics
import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from benchmark.own import Own, measure_own
from benchmark.roofline import shortest
from benchmark.shape import SHAPES
from benchmark.variants import Measured, Stage
from pathway_local.cli.terminal import table
from pathway_local.installed import vllm_version
from pathway_local.judges.machine import this_machine
from pathway_local.rubrics.output_format import Detail

VARIANTS = ("constrained", "judge", "free", "judge without probabilities", "naive")
BASE = "constrained"
console = Console(width=160)
Results = dict[str, list[Measured]]


def bench(
    shape: Annotated[str, typer.Option(help=f"The judge's shape: {', '.join(SHAPES)}.")] = "tiny",
    cases: Annotated[int, typer.Option(help="Cases in each round and rubric.")] = 500,
    rounds: Annotated[int, typer.Option(help="How often each variant is measured.")] = 3,
    rubric: Annotated[list[str], typer.Option(help="Rubrics; several share one engine.")] = ["pathway-answer"],  # noqa: B006
    detail: Annotated[Detail, typer.Option(help="How much of the format is written.")] = "full",
    variants: Annotated[
        str, typer.Option(help="Which to measure, separated by commas; prometheus-eval where it is installed.")
    ] = ",".join(VARIANTS),
    setting: Annotated[list[str], typer.Option("--set", help="NAME=VALUE, an engine setting.")] = [],  # noqa: B006
    own: Annotated[bool, typer.Option(help="Our own Python alone, with an engine that answers at once.")] = False,
    words: Annotated[int, typer.Option(help="With --own: words in each of a case's texts.")] = 30,
    out: Annotated[Path | None, typer.Option(help="Write all figures here, as JSON.")] = None,
) -> None:
    """Measure judging beside vLLM by itself on the same cases, with a judge of dummy weights."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        if own:
            measured = _own(Path(folder), shape, cases, words, detail)
            found: dict[str, Any] = {"own": asdict(measured), "detail": detail}
        else:
            found = _compare(Path(folder), shape, cases, rounds, rubric, detail, variants.split(","), setting)
    if out:
        out.write_text(json.dumps({"hardware": hardware(), **found}, indent=2))


def _own(folder: Path, shape: str, cases: int, words: int, detail: Detail) -> Own:
    found = measure_own(folder, shape, cases, words, detail)
    console.print(hardware_line())
    rows = [
        [name, f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"] for name, value in asdict(found).items()
    ]
    title = f"our own Python at --detail {detail}, with an engine that answers at once"
    console.print(table(title, ["figure", "value"], rows))
    return found


def _compare(
    folder: Path,
    shape: str,
    cases: int,
    rounds: int,
    rubrics: Sequence[str],
    detail: Detail,
    variants: Sequence[str],
    settings: Sequence[str],
) -> dict[str, Any]:
    found: Results = {name: [] for name in variants}
    given = {name: yaml.safe_load(value) for name, _, value in (item.partition("=") for item in settings)}
    engines = 1 + len({"naive"} & set(variants)) if set(variants) - {"naive"} else 1
    engines += any(name.startswith("judge") for name in variants)
    if this_machine().gpus:
        given.setdefault("gpu_memory_utilization", round(0.9 / max(1, engines), 2))
    with closing(Stage(shape, folder, rubrics, detail, given)) as stage:
        for name in variants:
            stage.measure(name, 8, 998)  # loads its engine and compiles what it compiles
        for number in range(rounds):
            for name in variants:
                found[name].append(stage.measure(name, cases, number))
                console.print(f"round {number + 1}: {name} {found[name][-1].seconds:.1f} s", style="dim")
        roof = stage.roof() if BASE in variants else {}
    title = f"{shape} in {stage.dtype}, {', '.join(rubrics)}, --detail {detail}, {cases} cases, {rounds} rounds"
    console.print(hardware_line())
    console.print(table(title, COLUMNS, [_row(name, found) for name in variants]))
    shares = (
        {
            name: [shortest(SHAPES[shape], stage.dtype, each, roof) / each.seconds for each in found[name]]
            for name in found
        }
        if roof
        else {}
    )
    for name, share in shares.items():
        console.print(f"{name}: {statistics.median(share):.1%} of the roofline", markup=False)
    return {
        "title": title,
        "settings": given,
        "measured": {name: [asdict(each) for each in runs] for name, runs in found.items()},
        "ratios": {name: ratios(found, name) for name in variants} if BASE in variants else {},
        "roof": roof,
        "roofline_shares": shares,
    }


COLUMNS = [
    "variant",
    "cases/s",
    "tokens/s",
    "prompt",
    "cached",
    "written",
    "ratio (wall)",
    "ratio (processor)",
    "remark",
]


def ratios(found: Results, name: str) -> dict[str, list[float]]:
    """Cases/s of a variant over that of vLLM by itself, by wall and by processor time, round by round."""
    pairs = list(zip(found[BASE], found[name], strict=True))
    return {
        "wall": [(base.seconds / base.cases) / (own.seconds / own.cases) for base, own in pairs],
        "processor": [(base.cpu / base.cases) / (own.cpu / own.cases) for base, own in pairs],
    }


def _row(name: str, found: Results) -> list[str]:
    runs = found[name]
    cases = [run.cases / run.seconds for run in runs]
    tokens = [(run.prompt + run.generated) / run.seconds for run in runs]
    last = runs[-1]
    spread = {kind: _spread(values) for kind, values in ratios(found, name).items()} if BASE in found else {}
    return [
        name,
        _spread(cases),
        f"{statistics.median(tokens):,.0f}",
        f"{last.prompt / last.cases:.0f}",
        f"{last.cached / last.prompt:.0%}" if last.prompt else "",
        f"{last.generated / last.cases:.1f}",
        spread.get("wall", ""),
        spread.get("processor", ""),
        last.remark,
    ]


def _spread(values: Sequence[float]) -> str:
    """Median, with the least and the most behind it."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})"


def hardware() -> dict[str, Any]:
    """What it was measured on."""
    told = Path("/proc/cpuinfo").read_text().partition("model name")[2].partition("\n")[0]
    return {
        "processor": told.strip("\t :"),
        "processors": os.cpu_count(),
        "gpus": [gpu.name for gpu in this_machine().gpus],
        "load": os.getloadavg()[0],
        "vllm": vllm_version(),
        "python": platform.python_version(),
    }


def hardware_line() -> str:
    """The same in a line."""
    told = hardware()
    gpus = ", ".join(told["gpus"]) or "no GPU"
    return f"{told['processors']} x {told['processor']}, {gpus}, vLLM {told['vllm']}, load {told['load']:.1f}"


if __name__ == "__main__":
    typer.run(bench)
