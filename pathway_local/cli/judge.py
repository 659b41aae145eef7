"""`pathway-local judge`: judge a cases file."""

import signal
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from typer.core import TyperCommand

from pathway_local.cli.private_reading import close_off, tell_exposed
from pathway_local.cli.summary import show
from pathway_local.cli.terminal import INTERRUPTED, check_new, notice, pairs, print_json, talk
from pathway_local.engines.seal import Wanted, require
from pathway_local.engines.trial import try_seal
from pathway_local.job import run_job
from pathway_local.judge import Tally
from pathway_local.plan import Plan, default_run
from pathway_local.results.export import export, record_export
from pathway_local.results.summary import summarize
from pathway_local.rubrics.output_format import Detail
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile

app = typer.Typer(pretty_exceptions_enable=False)

SOME_FAILED = 1
PLAIN_SECONDS = 10.0
STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
THINK = "--think"


class _Judge(TyperCommand):
    """Takes `--think` with a number or without one, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_budget(args)))


def _with_budget(arguments: Sequence[str]) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        yield argument
        if argument == THINK and not (following.isdecimal() or following == "auto"):
            yield "auto"


class _Progress:
    """A bar on a terminal, a plain line now and then elsewhere; the first signal ends the job cleanly."""

    def __init__(self) -> None:
        self.signal = 0
        self._bar: Progress | None = None
        self._began = self._shown = time.monotonic()
        self._total: int | None = None
        self._rater = ""
        self._untold: Tally | None = None

    def notice(self, message: str) -> None:
        notice(message)

    def begin(self, rater: str, total: int | None) -> None:
        self.end()
        self._began, self._total, self._rater = time.monotonic(), total, rater
        if talk.is_terminal:
            columns = (
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[figures]}"),
            )
            self._bar = Progress(*columns, TimeRemainingColumn(), console=talk, transient=False)
            self._bar.start()
            self._bar.add_task(rater, total=total, figures="")

    def watch(self, tally: Tally) -> None:
        now = time.monotonic()
        if self._bar:
            self._bar.update(self._bar.task_ids[0], completed=tally.done, figures=self._figures(tally, now))
        else:
            self._untold = tally
            if now - self._shown >= PLAIN_SECONDS:
                self._tell(tally, now)

    def stopped(self) -> bool:
        return bool(self.signal)

    def end(self) -> None:
        if self._bar:
            self._bar.stop()
            self._bar = None
        if self._untold:
            self._tell(self._untold, time.monotonic())

    def _tell(self, tally: Tally, now: float) -> None:
        self._shown, self._untold = now, None
        of = f" of {self._total}" if self._total is not None else ""
        talk.print(f"{self._rater}: {tally.done}{of} done, {self._figures(tally, now)}")

    def _figures(self, tally: Tally, now: float) -> str:
        seconds = max(now - self._began, 1e-6)
        tokens = tally.tokens
        parts = [
            f"{(tally.done - tally.skipped) / seconds:.1f} cases/s",
            f"{(tokens.prompt + tokens.generated) / seconds:.0f} tokens/s",
            f"cache {tokens.cached / tokens.prompt:.0%}" if tokens.prompt else "",
            f"mean {tally.score_sum / tally.scores:.2f}" if tally.scores else "",
            f"{tally.failures.total()} failed" if tally.failures else "",
        ]
        return ", ".join(part for part in parts if part)


@contextmanager
def _listening(progress: _Progress) -> Iterator[None]:
    """The first SIGINT, SIGTERM or SIGHUP asks the job to end; the second ends it at once."""

    def heard(number: int, _: FrameType | None) -> None:
        if progress.signal:
            raise KeyboardInterrupt
        progress.signal = number
        talk.print("stopping: what is judged is kept; once more to stop at once")

    # What is being ignored stays so: who gives the command to nohup wants it to outlive the terminal.
    heeded = [number for number in STOPPING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, heard) for number in heeded}
    try:
        yield
    finally:
        progress.end()
        for number, handler in before.items():
            # Once asked to stop, it only has to say where things stand.
            signal.signal(number, signal.SIG_IGN if progress.signal else handler)


@app.command(cls=_Judge)
def judge(
    cases: Annotated[Path, typer.Argument(help="Cases: .csv, .tsv, .jsonl, .parquet or .xlsx.", show_default=False)],
    rubric: Annotated[list[str], typer.Option("--rubric", "-r", help="A rubric's name, or a rubric file.")] = [],  # noqa: B006
    judge: Annotated[list[str], typer.Option("--judge", "-j", help="A judge's name, or a model folder.")] = [],  # noqa: B006
    run: Annotated[Path | None, typer.Option(help="The run file; one that exists goes on where it ended.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the verdicts here, too (- for stdout).")] = None,
    id_column: Annotated[str | None, typer.Option("--id", help="The column with the cases' ids.")] = None,
    mapping: Annotated[list[str], typer.Option("--map", help="INPUT=COLUMN where names differ.")] = [],  # noqa: B006
    keep: Annotated[list[str], typer.Option(help="A metadata column to keep in the run, or all.")] = [],  # noqa: B006
    detail: Annotated[str, typer.Option(help="full, through-score, or score: how much the judge writes.")] = "full",
    samples: Annotated[int, typer.Option(min=1, max=100, help="Replies drawn per case and averaged.")] = 1,
    temperature: Annotated[float | None, typer.Option(min=0, max=5, help="Default: the rubric's, else 0.")] = None,
    seed: Annotated[int, typer.Option(min=0, help="Seed of what is drawn at random.")] = 0,
    truncate: Annotated[str | None, typer.Option(help="The input whose end is cut where a prompt is too long.")] = None,
    think: Annotated[
        str, typer.Option(THINK, metavar="[TOKENS]", help="Let the judge think first, for so many tokens at most.")
    ] = "0",
    engine: Annotated[str, typer.Option(help="auto, vllm or transformers.")] = "auto",
    deterministic: Annotated[
        bool, typer.Option(help="The same verdict alone and in any batch, on GPUs that can; slower.")
    ] = False,
    seal: Annotated[str, typer.Option(help="auto, required or off: how the engine is kept off networks.")] = "auto",
    models: Annotated[Path | None, typer.Option(help="A registry of your own over ours.")] = None,
    rater: Annotated[str | None, typer.Option(help="The rater's name in the run; default: the judge's.")] = None,
    allow_references: Annotated[bool, typer.Option(help="Look up ${env:} and ${file:} in rubric files.")] = False,
    strict: Annotated[bool, typer.Option(help="Stop at the first row that is no case.")] = False,
    without_text: Annotated[bool, typer.Option("--without-text", help="Store scores alone, no words.")] = False,
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="Replace ids by hashes with this key, made if missing.")
    ] = None,
    strict_permissions: Annotated[bool, typer.Option(help="Refuse files that others can read.")] = False,
    force: Annotated[bool, typer.Option(help="Replace the file of --out.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Judge the cases of a file under one or more rubrics.

    An existing run goes on with its own rubrics, judge and settings: what it has judged is skipped.
    """
    check_new(out, force=force)
    where = run or default_run(cases, out)
    plan = Plan(
        cases=cases,
        run=where,
        rubrics=rubric,
        allow_references=allow_references,
        judges=judge or ["demo"],
        rater=rater,
        registry=models,
        id_column=id_column,
        mapping=pairs(mapping, "--map"),
        keep=None if "all" in keep else keep,
        detail=_detail(detail),
        samples=samples,
        temperature=temperature,
        seed=seed,
        truncate=truncate,
        think=think,
        engine=engine,
        deterministic=deterministic,
        seal=_seal(seal),
        strict=strict,
        texts=not without_text,
        pseudonyms=pseudonyms,
    )
    tell_exposed(cases, where, strict=strict_permissions)
    _close_off(plan.seal)
    progress = _Progress()
    with _listening(progress):
        try:
            tallies = run_job(plan, progress, sys.argv)
        except KeyboardInterrupt:
            progress.signal = progress.signal or signal.SIGINT
            tallies = {}
    _finish(progress, tallies, cases, where, out, force=force, as_json=as_json)


def _detail(given: str) -> Detail:
    known: dict[str, Detail] = {"full": "full", "through-score": "through-score", "score": "score"}
    if given not in known:
        raise typer.BadParameter(f"{given!r} is none of {', '.join(known)}", param_hint="--detail")
    return known[given]


def _seal(given: str) -> Wanted:
    known: dict[str, Wanted] = {"auto": "auto", "required": "required", "off": "off"}
    if given not in known:
        raise typer.BadParameter(f"{given!r} is none of {', '.join(known)}", param_hint="--seal")
    return known[given]


def _close_off(wanted: Wanted) -> None:
    """Keep this process, which holds the cases' texts, from opening sockets. Raises SealError."""
    if wanted == "required":
        require(try_seal()["seal"])
    if wanted == "off":
        notice("not sealed, as asked for: the engine's libraries can reach the network")
    else:
        close_off()


def _say_head(run: Path) -> None:
    if run.exists():
        with RunFile.read(run) as read:
            talk.print(f"audit trail ends with {AuditTrail(read.database).head()} (worth keeping elsewhere)")


def _finish(
    progress: _Progress,
    tallies: Mapping[str, Tally],
    cases: Path,
    where: Path,
    out: Path | None,
    *,
    force: bool,
    as_json: bool,
) -> None:
    if progress.stopped():
        _say_head(where)
        talk.print(f"stopped. To go on: pathway-local judge {cases} --run {where}")
        raise typer.Exit(INTERRUPTED)
    if again := sum(tally.rejudged for tally in tallies.values()):
        notice(f"{again} cases were judged again: their texts have changed")
    with RunFile.read(where) as read:
        if out is not None:
            for remark in export(read, out, force=force):
                notice(remark)
        found = summarize(read)
    if out is not None:
        record_export(where, out, sys.argv)
    if as_json:
        print_json(found.as_json())
    elif str(out) != "-":
        show(found)
    _say_head(where)
    talk.print(f"run: {where}" + (f"   verdicts: {out}" if out and str(out) != "-" else ""))
    if any(tally.failures for tally in tallies.values()):
        raise typer.Exit(SOME_FAILED)
