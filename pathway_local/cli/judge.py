"""`pathway-local judge`: judge a cases file."""

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, TypeVar

import typer

from pathway_local.cli.column_question import ask_columns
from pathway_local.cli.command_help import CASES, JUDGE, MACHINE, OUTPUT, PRIVACY, REPLY, App, option
from pathway_local.cli.dry_run import print_dry_run, show_dry_run
from pathway_local.cli.figures import note_export
from pathway_local.cli.judge_options import Engine, HowMuch, JudgingCommand, Temperature, Think
from pathway_local.cli.options import Encoding, IdColumn, Map, Models
from pathway_local.cli.private_reading import close_off, tell_exposed
from pathway_local.cli.progress import JobProgress, listening
from pathway_local.cli.summary import show
from pathway_local.cli.terminal import SOME_FAILED, columns_by_input, notice, print_json, talk, tell
from pathway_local.engines.allocation import Engines
from pathway_local.engines.cluster import cluster_of
from pathway_local.engines.engine_log import make_log
from pathway_local.errors import ColumnsError, UsageError
from pathway_local.judges.registry import load_registry
from pathway_local.judging.dry_run import dry_run
from pathway_local.judging.job import run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import OF_RATERS, Plan, check_continues, default_run
from pathway_local.prompty.rubric_file import load_rubric
from pathway_local.results.export import export, is_judges_own
from pathway_local.results.summary import summarize
from pathway_local.rubrics.pair import Orders
from pathway_local.runs.audit import AuditTrail
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.shard import Shard
from pathway_local.sealing.levels import Wanted
from pathway_local.sealing.trial import check_seal
from pathway_local.sheets.tables import check_table
from pathway_local.system.early_interrupt import INTERRUPTED

app = App()

_T = TypeVar("_T")


@app.with_examples(
    "pathway-local judge examples/pathway-answer.csv -r pathway-answer --run my.run",
    "pathway-local judge examples/pathway-answer.csv --run my.run --keep chatbot",
    cls=JudgingCommand,
)
def judge(
    ctx: typer.Context,
    cases: Annotated[Path, typer.Argument(metavar="FILE", help="Cases: .csv, .tsv, .jsonl, .json, .parquet or .xlsx.")],
    id_column: IdColumn = None,
    encoding: Encoding = "",
    mapping: Map = [],  # noqa: B006
    pair_by: Annotated[
        str, option("COLUMN", "Compare the two rows with the same cell in this column, e.g. question_id.", CASES)
    ] = "",
    keep: Annotated[
        list[str], option("COLUMN", "Metadata column to keep in the run, or all; repeat for more.", CASES)
    ] = [],  # noqa: B006
    truncate: Annotated[str | None, option("INPUT", "Input to cut at its end if a prompt is too long.", CASES)] = None,
    strict: Annotated[bool, option("", "Stop at the first invalid row.", CASES, "--strict")] = False,
    limit: Annotated[
        int | None, option("N", "Judge only N cases, drawn at random by --seed; more in a later command.", CASES, min=1)
    ] = None,
    shard: Annotated[
        str, option("K/N", "Judge only part K of N, into a run of its own; `runs merge` joins the runs.", CASES)
    ] = "",
    rubrics: Annotated[
        list[str], option("RUBRIC", "A rubric's name or file; repeat for more.", JUDGE, "--rubric", "-r")
    ] = [],  # noqa: B006
    judges: Annotated[
        list[str],
        option(
            "JUDGE",
            "A judge's name or folder; repeat for more (default: the run's, else demo).",
            JUDGE,
            "--judge",
            "-j",
        ),
    ] = [],  # noqa: B006
    rater: Annotated[
        str | None, option("NAME", "The judge's name as a rater; default: the judge's own.", JUDGE)
    ] = None,
    models: Models = None,
    engine: Engine = "auto",
    deterministic: Annotated[
        bool, option("", "Give the same verdict in any batch, on GPUs that can; slower.", JUDGE, "--deterministic")
    ] = False,
    skip_unfit: Annotated[
        bool, option("", "Leave out rubrics that don't fit a judge's context.", JUDGE, "--skip-unfit")
    ] = False,
    allow_references: Annotated[
        bool, option("", "Resolve ${env:NAME} and ${file:NAME} in rubric files.", JUDGE, "--allow-references")
    ] = False,
    detail: HowMuch = "full",
    samples: Annotated[int, option("N", "Replies to draw for each case and average.", REPLY, min=1, max=100)] = 1,
    keep_samples: Annotated[
        bool, option("", "Also store and export what each of --samples says.", REPLY, "--keep-samples")
    ] = False,
    temperature: Temperature = None,
    orders: Annotated[
        Orders | None,
        option(
            "ORDERS",
            "Orders in which to compare two responses: both, one (as in the file) or random (default: both).",
            REPLY,
            show_default=False,
        ),
    ] = None,
    seed: Annotated[
        int | None,
        option("N", "Seed of sampling and --limit; default: the rubric's, else 0.", REPLY, min=0, max=2**63),
    ] = None,
    think: Think = "0",
    double_check: Annotated[
        str,
        option(
            "SHARE",
            "Judge a random part again, such as 5%, with the levels in the other order, and mark what flips.",
            REPLY,
        ),
    ] = "",
    gpus: Annotated[
        str, option("N", "Judge on this many GPUs, or on all; each engine has its own (default: one engine).", MACHINE)
    ] = "",
    engines: Annotated[
        int, option("N", "Engines side by side on a machine without a GPU.", MACHINE, min=1, max=64)
    ] = 1,
    cluster: Annotated[
        str, option("ADDRESS", "Judge on a Ray cluster: auto (the one of this machine) or HOST:PORT.", MACHINE)
    ] = "",
    workers: Annotated[
        int, option("N", "With --cluster: engines, each on its own GPU, or on a node without one.", MACHINE, min=1)
    ] = 1,
    run: Annotated[Path | None, option("RUN", "The run file; an existing run is continued.", OUTPUT)] = None,
    out: Annotated[Path | None, option("FILE", "Also write the verdicts to this file (- prints CSV).", OUTPUT)] = None,
    force: Annotated[
        bool, option("", "Replace a file at --out or --engine-log that is not ours.", OUTPUT, "--force")
    ] = False,
    as_json: Annotated[bool, option("", "Print the summary as JSON.", OUTPUT, "--json")] = False,
    quiet: Annotated[bool, option("", "Show no progress and no notes.", OUTPUT, "--quiet", "-q")] = False,
    dry: Annotated[
        bool, option("", "Only say what would be judged, what would fail and what it would take.", OUTPUT, "--dry-run")
    ] = False,
    engine_log: Annotated[
        Path | None, option("FILE", "Write everything that the engine prints while it loads; no case text.", OUTPUT)
    ] = None,
    seal: Annotated[
        Wanted, option("SEAL", "Keep the engine off networks: auto (as far as possible), required or off.", PRIVACY)
    ] = "auto",
    without_text: Annotated[
        bool, option("", "Store scores only, not what the judge writes.", PRIVACY, "--without-text")
    ] = False,
    pseudonyms: Annotated[
        Path | None, option("KEYFILE", "Replace ids by hashes with this key; a missing key file is made.", PRIVACY)
    ] = None,
    strict_permissions: Annotated[
        bool, option("", "Refuse files that other users can read.", PRIVACY, "--strict-permissions")
    ] = False,
) -> None:
    """Judge the cases of a file under one or more rubrics.

    An existing run continues with its own rubrics, judges and settings; it skips what it has judged already.
    """
    part = Shard.parse(shard) if shard else None
    plan = Plan(
        cases=cases,
        run=run or default_run(cases, out, part),
        rubrics=[load_rubric(name, references=allow_references) for name in rubrics],
        skip_unfit=skip_unfit,
        judges=judges,
        rater=rater,
        registry=models,
        id_column=id_column,
        encoding=encoding,
        mapping=columns_by_input(mapping),
        pair_by=pair_by,
        keep=None if "all" in keep else keep,
        detail=detail,
        samples=samples,
        orders=orders,
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
        engines=Engines(gpus, engines, cluster_of(cluster, workers)),
        limit=limit,
        keep_samples=keep_samples,
        shard=part,
        double_check=_share(double_check),
    )
    talk.errors_only = quiet
    _check(ctx, plan, out, force=force)
    tell_exposed(cases, plan.run, strict=strict_permissions)
    _close_off(seal)
    if dry:
        foreseen = watched(plan, dry_run)
        print_dry_run(foreseen) if as_json else show_dry_run(foreseen)
        return
    if engine_log:
        make_log(engine_log, force=force)
        notice(f"{engine_log} keeps all that the engine prints while it loads; it holds no case text")
    tallies = watched(plan, lambda plan, progress: run_job(plan, progress, sys.argv))
    _report(tallies, plan.run, out, force=force, as_json=as_json)


def _check(ctx: typer.Context, plan: Plan, out: Path | None, *, force: bool) -> None:
    """Raise UsageError or OutputExists for a plan that can't succeed, before any work."""
    if out is not None:
        # The same command must be able to continue, so it may replace what it wrote itself.
        check_table(out, force=force or is_judges_own(plan.run, out))
    check_continues(plan, _given(ctx))


def watched(plan: Plan, work: Callable[[Plan, JobProgress], _T]) -> _T:
    """Do the work, after asking at a terminal for columns that no name tells. Raises PathwayError."""
    try:
        return _heeded(plan, work)
    except ColumnsError as error:
        assert isinstance(plan.cases, Path)
        registry = load_registry(plan.registry)
        for name in plan.judges:
            registry.get(name)  # a misspelled one would waste the person's answers
        chosen = ask_columns(plan.cases, plan.encoding, error)
    return _heeded(replace(plan, mapping={**plan.mapping, **chosen}), work)


def _heeded(plan: Plan, work: Callable[[Plan, JobProgress], _T]) -> _T:
    """Do the work and show its progress; exit if a signal stopped it. Raises PathwayError."""
    progress = JobProgress()
    with listening(progress):
        try:
            result = work(plan, progress)
            if not progress.stopped():
                return result
        except KeyboardInterrupt:
            progress.signal = progress.signal or signal.SIGINT
    _print_head(plan.run)
    talk.say(f"stopped. To continue: {shlex.join(['pathway-local', *sys.argv[1:]])}")
    raise typer.Exit(INTERRUPTED)


def _share(given: str) -> float:
    """Read the share of --double-check, such as 5% or 0.05. Raises UsageError."""
    try:
        share = float(given.removesuffix("%")) / (100 if given.endswith("%") else 1) if given else 0.0
    except ValueError:
        share = -1.0
    if given and not 0 < share <= 1:
        raise UsageError(f"--double-check {given} is not a share", "Such as --double-check 5%.")
    return share


def _given(ctx: typer.Context) -> Iterator[str]:
    """Yield the options that the user gave of those that define a rater."""
    for param in ctx.command.params:
        source = ctx.get_parameter_source(param.name or "")
        if param.name in OF_RATERS and source and source.name == "COMMANDLINE":
            yield param.opts[0]


def _close_off(wanted: Wanted) -> None:
    """Prevent this process, which will read the cases, from opening sockets. Raises SealError."""
    check_seal(wanted)
    if wanted == "off":
        notice("not sealed, as you asked: the engine's libraries can reach the network")
    else:
        close_off(required=wanted == "required")


def _print_head(run: Path) -> None:
    if run.exists():
        with RunFile.read(run, None) as read:
            tell(f"audit hash {AuditTrail(read.database).head()} (store it elsewhere to detect tampering later)")


def _report(tallies: Sequence[Tally], where: Path, out: Path | None, *, force: bool, as_json: bool) -> None:
    if again := sum(tally.rejudged for tally in tallies):
        notice(f"{again} cases were judged again because their texts changed")
    with RunFile.read(where) as read:
        if out is not None:
            for remark in export(read, out, force=force or is_judges_own(where, out)):
                notice(remark)
        found = summarize(read)
    if out is not None:
        note_export(where, out)
    if str(out) != "-":
        print_json(found.as_json()) if as_json else show(found)
    _print_head(where)
    tell(f"run: {where}" + (f"   verdicts: {out}" if out and str(out) != "-" else ""))
    if any(tally.failures for tally in tallies):
        raise typer.Exit(SOME_FAILED)
