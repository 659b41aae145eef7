"""`pathway-local judge`: judge a cases file, or say with `--dry-run` what that would do."""

import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, TypeVar

import typer

from pathway_local.cli.case_files import ask_columns, close_off, tell_exposed
from pathway_local.cli.options import App, option, options_of
from pathway_local.cli.show import show, terminal_words
from pathway_local.cli.terminal import SOME_FAILED, STDERR, data, notice, talk, tell
from pathway_local.engines.process import open_log
from pathway_local.errors import ColumnsError
from pathway_local.judges.registry import load_registry
from pathway_local.judging.cluster import judge_on_cluster
from pathway_local.judging.dry_run import JudgeForecast, RaterForecast, dry_run
from pathway_local.judging.job import run_job
from pathway_local.judging.loop import Tally
from pathway_local.judging.plan import Plan, default_run, read_plan
from pathway_local.judging.progress import Progress
from pathway_local.results.analysis import found_by
from pathway_local.results.summary import ANALYSIS
from pathway_local.results.table import unasked
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.scores.scores import Scores
from pathway_local.sealing.seal import Wanted
from pathway_local.sealing.trial import check_seal
from pathway_local.sheets.kinds import open_sheet
from pathway_local.system.private_process import INTERRUPTED, STOPPING, heeded_of
from pathway_local.system.shipped import with_pages


class JobProgress(Progress):
    """The progress of a command, on stderr; nothing with --quiet."""

    def __init__(self) -> None:
        super().__init__(STDERR, with_pages, changes=talk.is_terminal)
        self.signal = 0

    def stopped(self) -> bool:
        """Whether a signal asked the job to end."""
        return bool(self.signal)

    def stop(self, number: int) -> None:
        """Ask the job to end because of this signal, and say so above the line of progress."""
        self.signal = number
        self._write("stopping: verdicts so far are kept; interrupt again to stop at once", whole=True)

    def _write(self, text: str, *, whole: bool = False) -> None:
        if not talk.errors_only:
            super()._write(text, whole=whole)


@contextmanager
def listening(progress: JobProgress) -> Iterator[None]:
    """End the job in the block cleanly at the first SIGINT, SIGTERM or SIGHUP, and at once at the second."""

    def heard(number: int, _: FrameType | None) -> None:
        if progress.signal:
            raise KeyboardInterrupt
        progress.stop(number)

    before = {number: signal.signal(number, heard) for number in heeded_of(STOPPING)}
    try:
        yield
    finally:
        progress.end()
        for number, handler in before.items():
            # After a request to stop, the command only has to report where it stands: a third signal must not cut that.
            signal.signal(number, signal.SIG_IGN if progress.signal else handler)


def show_dry_run(found: Sequence[JudgeForecast]) -> None:
    """Print for each judge what it would do, what would fail, and what it would take."""
    for judge in found:
        for rater in judge.raters:
            _show_rater(rater)
        most = f"prompt and reply together may have {judge.context:,} tokens, or fewer if the engine lacks the memory"
        for said in filter(None, (judge.label, most, *judge.notes)):
            data.say(f"{judge.judge}: {said}")
    data.say("dry run: nothing was judged or stored")


def _show_rater(found: RaterForecast) -> None:
    parts = [f"cases to judge: {found.to_judge:,}"]
    parts += [f"judged before: {found.judged_before:,}"] if found.judged_before else []
    parts += [f"{count:,} would fail ({kind})" for kind, count in sorted(found.failures.items())]
    data.say(f"{found.rubric} by {found.rater}: {', '.join(parts)}")
    for _, said in found.first_failures:
        data.say(said, indent=2)
    if more := sum(found.failures.values()) - len(found.first_failures):
        data.say(f"… and {more:,} more", indent=2)
    if found.to_judge:
        shared = f"{found.shared_tokens / found.prompt_tokens:.0%} of them shared"
        replies = f"replies: at most {found.reply_tokens:,} tokens"
        data.say(f"prompts: {found.prompt_tokens:,} tokens, {shared}; {replies}", indent=2)


app = App()

_T = TypeVar("_T")


@app.with_examples(
    "pathway-local judge examples/pathway-answer.csv -r pathway-answer --run my.run", given=options_of(Plan)
)
def judge(
    cases: Annotated[Path, typer.Argument(metavar="FILE", help="Cases: .csv .tsv .jsonl .json .parquet .xlsx.")],
    given: dict[str, Any],
    run: Annotated[Path | None, option("RUN", "The run file; an existing run is continued.")] = None,
    quiet: Annotated[bool, option("", "Show no progress and no notes.", "--quiet", "-q")] = False,
    dry: Annotated[
        bool, option("", "Only say what would be judged, what would fail and what it would take.", "--dry-run")
    ] = False,
    strict_permissions: Annotated[
        bool, option("", "Refuse files that other users can read.", "--strict-permissions")
    ] = False,
) -> None:
    """Judge the cases of a file under one or more rubrics.

    An existing run continues with its own rubrics, judges and settings; it skips what it has judged already.
    """
    typed = dict(given)
    given["rubric"] = [load_rubric(name) for name in given.get("rubric", ())]
    plan = read_plan(cases, run or default_run(cases), given)
    talk.errors_only = quiet
    tell_exposed(cases, plan.run, strict=strict_permissions)
    _close_off(plan.seal)
    if dry:
        show_dry_run(watched(plan, dry_run))
        return
    if plan.engine_log:
        open_log(plan.engine_log).close()
        notice(f"{plan.engine_log} keeps all that the engine prints while it loads; it holds no case text")
    if plan.cluster:
        tallies = heeded(plan, lambda plan, progress: [judge_on_cluster(plan, typed, progress, sys.argv)])
    else:
        tallies = watched(plan, lambda plan, progress: run_job(plan, progress, sys.argv))
    _report(tallies, plan.run)


def watched(plan: Plan, work: Callable[[Plan, JobProgress], _T]) -> _T:
    """Do the work, after asking at a terminal for columns that no name tells. Raises PathwayError."""
    try:
        return heeded(plan, work)
    except ColumnsError as error:
        assert isinstance(plan.cases, Path)
        registry = load_registry(plan.models)
        for name in plan.judge:
            registry.get(name)  # a misspelled one would waste the person's answers
        chosen = ask_columns(open_sheet(plan.cases, plan.encoding, plan.header_row, plan.sheet), error)
    return heeded(replace(plan, map={**plan.map, **chosen}), work)


def heeded(plan: Plan, work: Callable[[Plan, JobProgress], _T], progress: JobProgress | None = None) -> _T:
    """Do the work and show its progress; exit if a signal stopped it. Raises PathwayError."""
    progress = progress or JobProgress()
    with listening(progress):
        try:
            result = work(plan, progress)
            if not progress.stopped():
                return result
        except KeyboardInterrupt:
            progress.signal = progress.signal or signal.SIGINT
    tell(f"stopped. To continue: {shlex.join(['pathway-local', *sys.argv[1:]])}")
    raise typer.Exit(INTERRUPTED)


def _close_off(wanted: Wanted) -> None:
    """Prevent this process, which will read the cases, from opening sockets. Raises EngineError."""
    check_seal(wanted)
    if wanted == "off":
        notice("not sealed, as you asked: the engine's libraries can reach the network")
    else:
        close_off(required=wanted == "required")


def _report(tallies: Sequence[Tally], where: Path) -> None:
    if again := sum(tally.rejudged for tally in tallies):
        notice(f"judged again because their texts changed: {again:,}")
    with RunFile.read(where) as read:
        found = found_by(ANALYSIS, Scores(read), {})
    show(unasked(found), terminal_words())
    tell(f"run: {where}")
    if any(tally.failures for tally in tallies):
        raise typer.Exit(SOME_FAILED)
