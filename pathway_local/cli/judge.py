"""`pathway-local judge`: judge a cases file."""

import shlex
import signal
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from pathway_local.cli.export_note import note_export
from pathway_local.cli.options import IdColumn, Map, Models
from pathway_local.cli.private_reading import close_off, tell_exposed
from pathway_local.cli.progress import JobProgress, listening
from pathway_local.cli.summary import show
from pathway_local.cli.terminal import INTERRUPTED, notice, pairs, print_json, talk
from pathway_local.engines.engine_list import engine_names
from pathway_local.engines.engine_log import make_log
from pathway_local.errors import UsageError
from pathway_local.judging.job import run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan, default_run
from pathway_local.results.export import export, is_judges_own
from pathway_local.results.summary import summarize
from pathway_local.rubrics.output_format import Detail
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.levels import Wanted, require
from pathway_local.sealing.trial import try_seal
from pathway_local.sheets.tables import check_table

app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

SOME_FAILED = 1
THINK = "--think"

OF_RATERS = ("judge", "rater", "detail", "samples", "temperature", "seed", "think", "engine", "deterministic")
"""Options that say what a rater is: a run that goes on has its own."""


class _Judge(TyperCommand):
    """Takes `--think` with a number or without one, which Typer's own options can't."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, list(_with_budget(args)))


def _with_budget(arguments: Sequence[str]) -> Iterator[str]:
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=True):
        yield argument
        if argument == THINK and not (following.isdecimal() or following == "auto"):
            yield "auto"


@app.command(cls=_Judge)
def judge(
    ctx: typer.Context,
    cases: Annotated[Path, typer.Argument(help="Cases: .csv, .tsv, .jsonl, .parquet or .xlsx.", show_default=False)],
    rubric: Annotated[list[str], typer.Option("--rubric", "-r", help="A rubric's name, or a rubric file.")] = [],  # noqa: B006
    judge: Annotated[
        list[str],
        typer.Option("--judge", "-j", help="A judge's name or folder; default: the run's, else demo."),
    ] = [],  # noqa: B006
    run: Annotated[Path | None, typer.Option(help="The run file; one that exists goes on where it ended.")] = None,
    out: Annotated[Path | None, typer.Option(help="Write the verdicts here, too (- for stdout).")] = None,
    id_column: IdColumn = None,
    mapping: Map = [],  # noqa: B006
    keep: Annotated[list[str], typer.Option(help="A metadata column to keep in the run, or all.")] = [],  # noqa: B006
    detail: Annotated[Detail, typer.Option(help="How much of the format the judge writes.")] = "full",
    samples: Annotated[int, typer.Option(min=1, max=100, help="Replies drawn per case and averaged.")] = 1,
    temperature: Annotated[float | None, typer.Option(min=0, max=5, help="Default: the rubric's, else 0.")] = None,
    seed: Annotated[
        int | None, typer.Option(min=0, max=2**63, help="Seed of what is drawn; default: the rubric's, else 0.")
    ] = None,
    truncate: Annotated[str | None, typer.Option(help="The input whose end is cut where a prompt is too long.")] = None,
    think: Annotated[
        str, typer.Option(THINK, metavar="[TOKENS]", help="Let the judge think first, for so many tokens at most.")
    ] = "0",
    engine: Annotated[str, typer.Option(help=f"One of {', '.join(engine_names())}.")] = "auto",
    deterministic: Annotated[
        bool, typer.Option("--deterministic", help="The same verdict alone and in any batch, on GPUs that can; slower.")
    ] = False,
    seal: Annotated[Wanted, typer.Option(help="How the engine is kept off networks.")] = "auto",
    models: Models = None,
    rater: Annotated[str | None, typer.Option(help="The rater's name in the run; default: the judge's.")] = None,
    allow_references: Annotated[
        bool, typer.Option("--allow-references", help="Look up ${env:} and ${file:} in rubric files.")
    ] = False,
    strict: Annotated[bool, typer.Option("--strict", help="Stop at the first row that is no case.")] = False,
    without_text: Annotated[bool, typer.Option("--without-text", help="Store scores alone, no words.")] = False,
    pseudonyms: Annotated[
        Path | None, typer.Option(metavar="KEYFILE", help="Replace ids by hashes with this key, made if missing.")
    ] = None,
    engine_log: Annotated[
        Path | None, typer.Option(help="Write here all that the engine prints while it loads; no case text.")
    ] = None,
    strict_permissions: Annotated[
        bool, typer.Option("--strict-permissions", help="Refuse files that others can read.")
    ] = False,
    force: Annotated[
        bool, typer.Option("--force", help="Replace a file at --out or --engine-log that is not ours.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print the summary as JSON.")] = False,
) -> None:
    """Judge the cases of a file under one or more rubrics.

    An existing run goes on with its own rubrics, judge and settings: what it has judged is skipped.
    """
    where = run or default_run(cases, out)
    if out is not None:
        check_table(out, force=force or is_judges_own(where, out))  # else the same command could not go on
    if where.exists() and not rubric:
        _check_own(ctx)
    plan = Plan(
        cases=cases,
        run=where,
        rubrics=rubric,
        allow_references=allow_references,
        judges=judge,
        rater=rater,
        registry=models,
        id_column=id_column,
        mapping=pairs(mapping, "--map"),
        keep=None if "all" in keep else keep,
        detail=detail,
        samples=samples,
        temperature=temperature,
        seed=seed,
        truncate=truncate,
        think=think,
        engine=engine,
        deterministic=deterministic,
        seal=seal,
        strict=strict,
        texts=not without_text,
        pseudonyms=pseudonyms,
        engine_log=engine_log,
    )
    tell_exposed(cases, where, strict=strict_permissions)
    _close_off(plan.seal)
    if engine_log:
        make_log(engine_log, force=force)
        notice(f"{engine_log} gets all that the engine writes while it loads; no case text: nothing is judged then")
    tallies = _judged(plan)
    _report(tallies, where, out, force=force, as_json=as_json)


def _judged(plan: Plan) -> list[Tally]:
    """Do what the plan asks, with its progress shown; leaves the program where it is stopped. Raises PathwayError."""
    progress, tallies = JobProgress(), list[Tally]()
    with listening(progress):
        try:
            tallies = run_job(plan, progress, sys.argv)
        except KeyboardInterrupt:
            progress.signal = progress.signal or signal.SIGINT
    if progress.stopped():
        _say_head(plan.run)
        talk.print(f"stopped. The same command goes on: {shlex.join(['pathway-local', *sys.argv[1:]])}")
        raise typer.Exit(INTERRUPTED)
    return tallies


def _check_own(ctx: typer.Context) -> None:
    """Refuse options of raters where none is named to judge under: they would be ignored. Raises UsageError."""
    for option in ctx.command.params:
        source = ctx.get_parameter_source(option.name or "")
        if option.name in OF_RATERS and source and source.name == "COMMANDLINE":
            raise UsageError(
                f"{option.opts[0]} says what a rater is, and without --rubric a run goes on with its own raters",
                f"Leave {option.opts[0]} out, or name the rubric that another rater is to judge under.",
            )


def _close_off(wanted: Wanted) -> None:
    """Keep this process, which holds the cases' texts, from opening sockets. Raises SealError."""
    if wanted == "required":
        tried = try_seal()
        require(tried["seal"], tried["seal_limit"])
    if wanted == "off":
        notice("not sealed, as asked for: the engine's libraries can reach the network")
    else:
        close_off(required=wanted == "required")


def _say_head(run: Path) -> None:
    if run.exists():
        with RunFile.read(run) as read:
            talk.print(f"audit trail ends with {AuditTrail(read.database).head()} (worth keeping elsewhere)")


def _report(tallies: Sequence[Tally], where: Path, out: Path | None, *, force: bool, as_json: bool) -> None:
    if again := sum(tally.rejudged for tally in tallies):
        notice(f"{again} cases were judged again: their texts have changed")
    with RunFile.read(where) as read:
        if out is not None:
            for remark in export(read, out, force=force or is_judges_own(where, out)):
                notice(remark)
        found = summarize(read)
    if out is not None:
        note_export(where, out)
    if str(out) != "-":
        print_json(found.as_json()) if as_json else show(found)
    _say_head(where)
    talk.print(f"run: {where}" + (f"   verdicts: {out}" if out and str(out) != "-" else ""))
    if any(tally.failures for tally in tallies):
        raise typer.Exit(SOME_FAILED)
