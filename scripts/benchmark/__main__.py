"""Compares the speed of `judge` with that of vLLM by itself; the options say what is measured."""

import os
import signal
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from types import FrameType
from typing import Annotated, Literal, cast, get_args

import typer
import yaml
from rich.console import Console

from benchmark.compare import Found, Wanted, compare
from benchmark.own import RUBRIC, measure_own
from benchmark.report import hardware, hardware_line, tables, told, write
from benchmark.shape import SHAPES
from benchmark.stage import Stage
from benchmark.variants import USUAL, groups
from pathway_local.cli.command_help import option, pasted
from pathway_local.cli.terminal import table
from pathway_local.engines.vllm import CORE_APART
from pathway_local.errors import PathwayError, UnknownName, UsageError
from pathway_local.rubrics.output_format import Detail
from pathway_local.system.machine import this_machine, uses_gpu

GPU_SHARE = 0.9
DETAILS = ", ".join(get_args(Detail))
Core = Literal["same", "own"]
console = Console(width=200)


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

EXAMPLES = """\
scripts/bench
scripts/bench --shape qwen3-8b --cases 5000 --variants constrained,judge"""


@app.command(epilog=pasted(EXAMPLES))
def bench(
    shape: Annotated[str, option("SHAPE", f"The judge's shape: {', '.join(SHAPES)}.")] = "tiny",
    cases: Annotated[int, option("N", "Cases in each round and rubric.")] = 500,
    rounds: Annotated[int, option("N", "Rounds; each measures every variant once.")] = 3,
    rubric: Annotated[
        list[str], option("RUBRIC", "A rubric; several share one engine (default: pathway-answer).")
    ] = [],  # noqa: B006
    detail: Annotated[str, option("DETAIL", f"How much the judge writes, separated by commas: {DETAILS}.")] = "full",
    variants: Annotated[str, option("VARIANTS", "Separated by commas.")] = ",".join(USUAL),
    reply_tokens: Annotated[int | None, option("N", "Cut budgets to replies of about this many tokens.")] = None,
    setting: Annotated[list[str], option("NAME=VALUE", "An engine setting; repeat for more.", "--set")] = [],  # noqa: B006
    core: Annotated[Core, option("CORE", "vLLM's core in the engine's process (same) or its own.")] = "same",
    own: Annotated[bool, option("", "Measure only our own Python, with an engine that replies at once.")] = False,
    engines: Annotated[str, option("N,...", "With --own: engines; several numbers: the first is the base.")] = "1",
    pace: Annotated[float | None, option("X", "With --own: passes a second of an engine (default: any).")] = None,
    words: Annotated[int, option("N", "With --own: words in each text of a case.")] = 30,
    minutes: Annotated[float | None, option("N", "Minutes for all rounds together; loading does not count.")] = None,
    out: Annotated[Path | None, option("FILE", "Write all figures here as JSON, after every round.")] = None,
) -> None:
    """Compare the speed of `judge` and of vLLM by itself on the same cases, with a judge of dummy weights."""
    signal.signal(signal.SIGTERM, _end)
    try:
        if own:
            _own(shape, cases, words, _details(detail)[0], _numbers(engines), pace, out)
            return
        given = {name: yaml.safe_load(value) for name, _, value in (item.partition("=") for item in setting)}
        gpu = uses_gpu() and bool(this_machine().gpus)
        if gpu:
            given.setdefault("gpu_memory_utilization", GPU_SHARE)
            given.setdefault("enforce_eager", False)  # `judge` would choose by the number of cases, vLLM alone not
        os.environ[CORE_APART] = "1" if core == "own" else "0"
        details, names = _details(detail), variants.split(",")
        wanted = Wanted(
            shape, cases, rounds, rubric or [RUBRIC], details, names, given, core, gpu, reply_tokens, minutes
        )
        failed = _compare(wanted, out)
    except PathwayError as error:
        console.print(f"error: {error}", f"\n{error.hint}" if error.hint else "", markup=False, sep="")
        raise typer.Exit(error.exit_code) from None
    raise typer.Exit(1 if failed else 0)


def _details(named: str) -> list[Detail]:
    for name in named.split(","):
        if name not in get_args(Detail):
            raise UnknownName("detail", name, get_args(Detail))
    return cast("list[Detail]", named.split(","))


def _compare(wanted: Wanted, out: Path | None) -> bool:
    """Measure and print; return whether a group failed."""
    groups(wanted.variants, alone=wanted.alone)  # refuses unknown variants before anything is loaded
    found = Found()

    def save() -> None:
        if out:
            write(out, told(wanted, found, hardware()))

    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        stage = Stage(wanted.shape, Path(folder), wanted.rubrics, wanted.reply_tokens, wanted.settings)
        compare(wanted, stage, found, lambda line: console.print(line, style="dim", markup=False), save)
    console.print(hardware_line(), markup=False)
    for each in tables(wanted, found):
        console.print(each)
    for part, failure in found.failures.items():
        console.print(f"failed: {part}: {failure}", markup=False)
    return bool(found.failures)


def _numbers(named: str) -> list[int]:
    numbers = [int(each) if each.isdecimal() else 0 for each in named.split(",")]
    if not all(0 < number < 1000 for number in numbers):
        raise UsageError(f"--engines is {named[:20]!r}, not numbers of engines", "Give numbers, such as 1,8.")
    return numbers


def _own(
    shape: str,
    cases: int,
    words: int,
    detail: Detail,
    engines: list[int],
    pace: float | None,
    out: Path | None,
) -> None:
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        measured = measure_own(Path(folder), shape, cases, words, detail, engines, pace)
    found = [asdict(each) for each in measured]
    console.print(hardware_line(), markup=False)
    rows = [[name, *(_figure(each[name]) for each in found)] for name in found[0] if any(each[name] for each in found)]
    how = f"{pace:g} passes a second" if pace else "at once"
    title = f"our own Python at --detail {detail}, with engines that reply {how}"
    console.print(table(title, ["figure", *["value"] * len(found)], rows))
    if out:
        write(out, {"hardware": hardware(), "own": found, "detail": detail, "pace": pace})


def _figure(value: float) -> str:
    return f"{value:,.4g}" if isinstance(value, float) else f"{value:,}"


def _end(number: int, frame: FrameType | None) -> None:
    """Raise SystemExit, so that the engines end and free the GPU's memory."""
    sys.exit(128 + number)


if __name__ == "__main__":
    app()
