"""Runs a scoring job: judges judge the cases of a file under rubrics, and the run keeps the outcomes."""

import os
import platform
import sys
import time
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from shlex import quote

from pydantic import JsonValue

from pathway_local import __version__
from pathway_local.case import BadRow, Case
from pathway_local.engines.engine import WINDOW, LoadPlan
from pathway_local.engines.engine_list import engine_kind, packages
from pathway_local.engines.replicas import ONE_ENGINE
from pathway_local.errors import CasesError, UsageError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.pinned_folder import pinned_folder
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.loop import JudgingLoop, LocalRater, Tally
from pathway_local.judging.plan import Plan, PlannedRater, Settings, planned_raters, planned_rubrics
from pathway_local.judging.pool import Pool
from pathway_local.passes import Engine, EngineConfig
from pathway_local.rendering.chat import chat_of, thinking_of
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import check_room
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.audit import file_facts
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.levels import caution_about
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import folded, names_of
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown
from pathway_local.system.installed import version_of
from pathway_local.system.machine import this_machine
from pathway_local.verdict import Value

TEXTS = "texts"
SHOW_SECONDS = 0.5


class Watcher:
    """Shows how a job goes, and may end it early; this one shows nothing and never does."""

    def notice(self, message: str) -> None:
        """Tell the user something."""

    def begin(self, rater: str, total: int | None) -> None:
        """Show that a judge begins; `total` is the number of its outcomes, if known."""

    def ready(self) -> None:
        """Show that the judge's engine is loaded."""

    def watch(self, tally: Tally) -> None:
        """Show a tally whose outcomes are on the disk; called now and then, and at the end."""

    def stopped(self) -> bool:
        """Whether to end early."""
        return False


def run_job(plan: Plan, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None) -> list[Tally]:
    """Judge as planned; return a tally for each engine. Raises PathwayError.

    Jobs that follow each other share the engine and tokenizers in `loaded`; without it, the job frees its own.
    """
    with ExitStack() as stack:
        loaded = loaded or stack.enter_context(EngineCache())
        # Make a new run only after all checks of the command, so that a wrong command leaves no file behind.
        existing = stack.enter_context(RunFile.open(plan.run)) if plan.run.exists() else None
        registry = load_registry(plan.registry)
        rubrics = planned_rubrics(plan, existing)
        cases = _open_cases(plan, existing, rubrics.values(), watcher)
        raters = planned_raters(plan, existing, rubrics, registry)
        if plan.engines != ONE_ENGINE:
            machine = this_machine()
            for each in raters:
                plan.engines.parts(each.judge, machine, each.settings.options)
        run = existing or stack.enter_context(RunFile.create(plan.run))
        for each in raters:
            run.add_rubric(each.rubric.name, each.rubric.text)
        numbered = [(run.add_rater(each.rater), each) for each in raters]
        sha256 = cases.sha256()
        job_id = run.jobs.begin(command, _job_facts(plan, file_facts(plan.cases, run.key, sha256), raters))
        remember(run, cases, plan.mapping)
        if not plan.texts:
            run.set_setting(TEXTS, False)
        return _ScoringJob(run, job_id, plan, cases, sha256, watcher, loaded).judge(numbered)


@dataclass(frozen=True, slots=True)
class _ScoringJob:
    """One command's work on a run: the job's id there, and the hash of the cases file when it began."""

    run: RunFile
    id: int
    plan: Plan
    cases: CasesFile
    sha256: str
    watcher: Watcher
    loaded: EngineCache

    def judge(self, raters: Sequence[tuple[int, PlannedRater]]) -> list[Tally]:
        """Judge under these raters, each with its id in the run; return a tally for each engine."""
        tallies: list[Tally] = []
        status = "failed"
        try:
            for key in dict.fromkeys(each.engine_key for _, each in raters):
                tallies.append(self._judge_with_one_engine([pair for pair in raters if pair[1].engine_key == key]))
            status = "stopped" if self.watcher.stopped() else "done"
            if self._cases_have_changed():
                self.run.jobs.learn(self.id, {"cases_changed": True})
                self.watcher.notice(
                    f"{self.plan.cases.name} changed while it was judged: run the same command again to judge the rest"
                )
        finally:
            self.run.jobs.end(self.id, status, _counts(tallies))
        return tallies

    def _cases_have_changed(self) -> bool:
        try:
            return self.cases.sha256() != self.sha256
        except CasesError:
            return True

    def _judge_with_one_engine(self, own: Sequence[tuple[int, PlannedRater]]) -> Tally:
        judge, settings = own[0][1].judge, own[0][1].settings
        folder = pinned_folder(weights_folder(judge), settings.weights)
        whole = EngineConfig(str(folder), settings.dtype, judge.context, settings.options)
        tokenizer, engine, wanted = self.loaded.tokenizer(judge), engine_kind(settings.engine), self.plan.engines
        options = self._options(judge, settings)

        def estimate() -> LoadPlan:
            steps = partial(self._steps, own)
            return wanted.load_plan(engine, judge, this_machine(), options, settings.dtype, steps)

        planned = self.loaded.load_plan(settings.engine, whole, self.plan.seal, wanted, estimate)
        config = replace(whole, max_model_len=planned.context, settings={**options, **planned.settings})
        for _, rater in own:
            self.run.set_setting(f"label:{rater.name}", judge.label)
        if judge.label:
            unnamed = "" if self.plan.judges or not self.plan.rubrics else "no --judge is named: "
            self.watcher.notice(f"{unnamed}{judge.name} is {judge.label}")
        pool = Pool(lambda: self._load_engine(judge, settings.engine, config, planned), tokenizer, planned.context)
        try:
            raters = [_local_rater(number, rater, tokenizer, planned.context, self.plan) for number, rater in own]
            return self._run_loop(judge, raters, pool, len(planned.gpus) * engine.window(config))
        finally:
            if pool.in_flight:
                self.loaded.free()  # or it would continue with requests that nobody waits for

    def _options(self, judge: JudgeSpec, settings: Settings) -> dict[str, JsonValue]:
        """Return the engine's settings; a judge that ran eagerly in this run, or did not, continues in the same way.

        The way is no part of the rater, but it may round differently.
        """
        engines = (job.facts.get("engine") for job in self.run.jobs.all())
        ways = [
            facts.get("enforce_eager") for facts in engines if isinstance(facts, dict) and facts["judge"] == judge.name
        ]
        known = [way for way in ways if isinstance(way, bool)]
        return {**({"enforce_eager": known[-1]} if known else {}), **settings.options}

    def _steps(self, raters: Sequence[tuple[int, PlannedRater]], engines: int) -> float | None:
        """Estimate the decoding steps of each engine if no case is judged yet; None if the cases can't be counted."""
        cases = self.cases.count()
        if cases is None:
            return None
        replies = ((cases * rater.settings.replies, _written(rater)) for _, rater in raters)
        return sum(max(1.0, count / (WINDOW * engines)) * written for count, written in replies)

    def _load_engine(self, judge: JudgeSpec, kind: str, config: EngineConfig, planned: LoadPlan) -> Engine:
        plan, watcher = self.plan, self.watcher
        for note in planned.notes:
            watcher.notice(note)
        engine = self.loaded.engine(
            kind, config, plan.seal, watcher.notice, watcher.stopped, plan.engine_log, planned.gpus
        )
        facts: dict[str, Value] = dict(asdict(engine.facts))
        self.run.jobs.learn(self.id, {"engine": {"judge": judge.name, **facts, **planned.settings}})
        watcher.notice(f"{facts['engine']} {facts['version']} on {facts['device']}, sealed: {facts['seal']}")
        if caution := caution_about(engine.facts.seal, engine.facts.seal_limit):
            watcher.notice(caution)
        watcher.ready()
        return engine

    def _run_loop(self, judge: JudgeSpec, raters: Sequence[LocalRater], pool: Pool, window: int) -> Tally:
        for rater in raters:
            check_room(rater.writer)
        progress = _Progress(self.run, self.watcher)
        judging = JudgingLoop(
            self.run,
            raters,
            pool,
            source=self.plan.cases.name,
            keep=None if self.plan.keep is None else [*map(self.cases.column, self.plan.keep)],
            texts=self.run.get_setting(TEXTS) is not False,
            window=window,
            watch=progress.show_sometimes,
            stopped=self.watcher.stopped,
        )
        total = self.cases.count()
        self.watcher.begin(judge.name, total * len(raters) if total is not None else None)
        tally = judging.judge(_refusing_bad_rows(self.cases) if self.plan.strict else iter(self.cases))
        progress.show(tally)
        return tally


class _Progress:
    """Shows outcomes only after they are on the disk: a verdict that a user saw as done is never lost."""

    def __init__(self, run: RunFile, watcher: Watcher) -> None:
        self._run, self._watcher = run, watcher
        self._shown = time.monotonic()

    def show_sometimes(self, tally: Tally) -> None:
        if time.monotonic() - self._shown >= SHOW_SECONDS:
            self.show(tally)

    def show(self, tally: Tally) -> None:
        self._run.commit()
        self._watcher.watch(tally)
        self._shown = time.monotonic()


def _local_rater(
    rater_id: int, planned: PlannedRater, tokenizer: JudgeTokenizer, context: int, plan: Plan
) -> LocalRater:
    settings = planned.settings
    writer = PromptWriter(
        planned.rubric,
        tokenizer,
        chat_of(planned.judge, settings.think),
        context=context,
        detail=settings.detail,
        truncate=plan.truncate,
        thinking=thinking_of(planned.judge, settings.think, tokenizer, settings.sampling),
    )
    return LocalRater(rater_id, writer, settings.sampling, settings.samples, settings.orders or "both")


def _written(rater: PlannedRater) -> float:
    """Estimate the tokens that the judge writes for a case: a third of its limit, as real judges write."""
    settings, rubric = rater.settings, rater.rubric
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, ""), settings.detail)
    return (reply.form.limit + settings.think) / 3


def _refusing_bad_rows(cases: CasesFile) -> Iterator[Case | BadRow]:
    for row in cases:
        if isinstance(row, BadRow):
            raise CasesError(
                f"{row.where}: {row.reason}", "Fix the row, or leave --strict out to record it as a failure."
            )
        yield row


def _open_cases(plan: Plan, run: RunFile | None, rubrics: Collection[Rubric], watcher: Watcher) -> CasesFile:
    """Open the cases file, and tell the user how its columns and the rubrics were read. Raises PathwayError."""
    key = _load_pseudonyms(plan, run, watcher)
    cases = cases_of(plan.cases, rubrics, run, plan.id_column, plan.mapping, key, plan.encoding, plan.pair_by)
    _check_columns(cases, plan)
    for rubric in rubrics:
        for said in rubric.notices:
            watcher.notice(f"rubric {rubric.name}: {said}")
    for note in cases.notes:
        watcher.notice(note)
    for name, column in cases.aliases_used.items():
        watcher.notice(f"column {shown(column)!r} is read as {name}")
    if cases.id_column is None:
        numbers = (shown(name) for name in cases.metadata if folded(name) in names_of("number"))
        watcher.notice(
            f"cases are identified by row number: give --id {quote(next(numbers, 'COLUMN'))} if rows may move"
        )
    elif cases.id_column != plan.id_column:
        watcher.notice(f"column {shown(cases.id_column)!r} is read as the case's id")
    return cases


def _load_pseudonyms(plan: Plan, run: RunFile | None, watcher: Watcher) -> Pseudonyms | None:
    path = plan.pseudonyms
    if path is None:
        return None
    if run is None and not path.exists():
        watcher.notice(f"{path}: a new key. Keep it apart from the run: whoever has both can tell which case is which")
    return Pseudonyms.at(path, make=run is None)


def _check_columns(cases: CasesFile, plan: Plan) -> None:
    for name in map(cases.column, plan.keep or ()):
        if name not in cases.metadata:
            what = "the ids" if name == cases.id_column else "an input"
            raise UsageError(
                f"--keep names {shown(name)!r}, the column of {what}", "A run always keeps ids, and never inputs."
            )
    if plan.truncate and plan.truncate not in cases.inputs:
        raise UsageError(
            f"--truncate names {plan.truncate!r}, which is not an input", f"There are: {', '.join(cases.inputs)}."
        )


def _job_facts(plan: Plan, cases: dict[str, Value], raters: Sequence[PlannedRater]) -> dict[str, Value]:
    """Return the manifest: raters, cases, and the versions and the machine, which can change a score."""
    judges: list[Value] = [
        {"rater": each.name, "rubric": each.rubric.name, "sha256": each.rubric.sha256, "weights": each.settings.weights}
        for each in raters
    ]
    return {
        "seal": plan.seal,
        "raters": judges,
        "cases": cases,
        "pathway_local": __version__,
        "python": platform.python_version(),
        "packages": {name: found for name in packages() if (found := version_of(name))},
        "machine": {"system": platform.platform(), "processors": os.cpu_count() or 0},
        "executable": Path(sys.executable).name,
    }


def _counts(tallies: Sequence[Tally]) -> dict[str, int]:
    return {
        "judged": sum(tally.judged for tally in tallies),
        "skipped": sum(tally.skipped for tally in tallies),
        "failed": sum(tally.failures.total() for tally in tallies),
    }
