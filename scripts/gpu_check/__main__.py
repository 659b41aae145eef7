"""Checks a machine with a GPU: runs the parts in turn, each with its own time limit, and reports after each."""

import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from gpu_check.findings import Findings
from gpu_check.machine import described, has_gpu
from gpu_check.part import Outcome, Part, not_run, own_command, run_part
from gpu_check.parts import PARTS
from gpu_check.processes import end_below_on_signals
from gpu_check.report import failed, write_report
from gpu_check.samples import store_verdicts
from pathway_local.cli.command_help import option, pasted

WHOLE = 595.0
"""Seconds for all parts together, though their limits add up to more; the part that matters least comes last."""

LEAST = 15.0
"""Seconds that a part needs at least; it is not started with less left."""


app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)

EXAMPLES = """\
scripts/gpu-check
scripts/gpu-check --only demo --only kills"""


@app.command(epilog=pasted(EXAMPLES))
def check(
    out: Annotated[Path, option("DIR", "The folder for gpu-check.md and gpu-check.json.")] = Path("runs/gpu-check"),
    only: Annotated[list[str], option("PART", f"Run only this part; repeat for more: {', '.join(PARTS)}.")] = [],  # noqa: B006
    store: Annotated[
        bool, option("", "Store the demo judge's verdicts on this processor, to compare GPUs with.", "--store")
    ] = False,
) -> None:
    """Check a machine with a GPU within ten minutes; without a GPU, run as much as possible.

    Exit code 1 if a part failed or took too long.
    """
    if unknown := [name for name in only if name not in PARTS]:
        raise typer.BadParameter(f"no part is called {unknown[0]}; there are: {', '.join(PARTS)}")
    if store:
        print(f"written: {store_verdicts()}")
        return
    end_below_on_signals()
    on_gpu = has_gpu()
    chosen = {name: kind for name, kind in PARTS.items() if name in only or not only}
    parts = [Part(name, kind.title, own_command(name), kind.allowed(on_gpu=on_gpu)) for name, kind in chosen.items()]
    sys.exit(run_all(parts, out, described()))


def run_all(parts: Sequence[Part], out: Path, machine: dict[str, str], whole: float = WHOLE) -> int:
    """Run the parts in turn, write the report after each, and return the exit code."""
    out.mkdir(parents=True, exist_ok=True)
    began, outcomes = time.monotonic(), list[Outcome]()
    write_report(out, machine, outcomes, parts, 0.0)
    for number, part in enumerate(parts, 1):
        print(f"{part.name}: {part.title} (at most {part.limit:.0f} s)", file=sys.stderr, flush=True)
        outcomes.append(_outcome(part, out, whole - (time.monotonic() - began)))
        print(f"{part.name}: {outcomes[-1].status} after {outcomes[-1].seconds:.0f} s", file=sys.stderr, flush=True)
        write_report(out, machine, outcomes, parts[number:], time.monotonic() - began)
    print("\n".join(f"{each.status:10} {each.part.name} ({each.seconds:.0f} s)" for each in outcomes))
    print(f"written: {out / 'gpu-check.md'} {out / 'gpu-check.json'}")
    return int(failed(outcomes))


def _outcome(part: Part, out: Path, left: float) -> Outcome:
    if left < min(LEAST, part.limit):
        return not_run(part, "the parts before it used up the time")
    try:
        return run_part(part, out / "logs", left)
    except OSError as error:
        return Outcome(part, "failed", 0.0, Findings([f"it can't be started: {error}"]))


if __name__ == "__main__":
    app()
