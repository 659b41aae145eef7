"""Runs a job: judges judge a file's cases, or drawn ones and their changed twins; the run keeps the outcomes."""

import os
import platform
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path

from pathway_local import __version__
from pathway_local.engines.engine import LoadPlan
from pathway_local.engines.engine_list import engine_kind, installed_packages
from pathway_local.errors import CasesError, UsageError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.loop import JudgingLoop, Tally
from pathway_local.judging.plan import Plan
from pathway_local.judging.pool import Pool
from pathway_local.judging.preparation import (
    JudgeWork,
    Prepared,
    add_raters,
    check_contexts,
    engine_plan,
    prepare,
    tell_reading,
)
from pathway_local.judging.progress import Watcher
from pathway_local.passes import Engine, EngineConfig
from pathway_local.probes.drawing import COLUMNS, ID, SelfTest, draw, rows
from pathway_local.rater import LABEL
from pathway_local.runs.audit import file_facts
from pathway_local.runs.jobs import ENGINES
from pathway_local.runs.run_cases import PART, remember, remember_kept
from pathway_local.runs.run_file import TEXTS, RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.in_memory import InMemorySheet
from pathway_local.sheets.kinds import open_sheet
from pathway_local.verdict import Value


def run_job(plan: Plan, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None) -> list[Tally]:
    """Judge as planned on this machine; return a tally for each engine. Raises PathwayError.

    Jobs share the engine and tokenizers in `loaded`, one at a time; without it, the job frees its own.
    """
    if plan.cluster:
        raise UsageError("a cluster is for the command judge", "Leave cluster out, or give the command.")
    with ExitStack() as stack:
        loaded = loaded or stack.enter_context(EngineCache())
        stack.enter_context(loaded.turn())
        # Make a new run only after all checks of the command, so that a wrong command leaves no file behind.
        existing = stack.enter_context(RunFile.open(plan.run, plan.kind)) if plan.run.exists() else None
        prepared = prepare(plan, existing, loaded, watcher.notice, watcher.stopped)
        run = existing or stack.enter_context(RunFile.create(plan.run, kind=plan.kind))
        add_raters(run, prepared)
        sha256 = prepared.cases.sheet.sha256()
        job_id = run.jobs.begin(command, _job_facts(prepared, file_facts(prepared.cases.path, run.key, sha256)))
        remember(run, prepared.cases, plan.map)
        remember_kept(run, prepared.plan.keep)
        if plan.without_text:
            run.set_setting(TEXTS, False)
        return _ScoringJob(run, job_id, prepared, sha256, watcher, loaded).judge()


def run_self_test(
    plan: Plan, tested: SelfTest, size: int, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None
) -> list[Tally]:
    """Judge `size` cases of the plan's file and their twins with its judges; return a tally for each.

    Raises PathwayError. The run keeps what it has, so the same command continues it. A file without answers of its own
    will do if the rubric reads ideal ones.
    """
    assert isinstance(plan.cases, Path)
    inputs = tested.rubric.inputs
    optional = {name for name, wanted in inputs.items() if wanted.default is not None}
    optional |= {tested.roles["answer"]} if "reference" in tested.roles else set()
    needed = {tested.rubric.name: [*inputs]}
    talks = {name for name, wanted in inputs.items() if wanted.conversation}
    whole = open_sheet(plan.cases, plan.encoding, plan.header_row, plan.sheet)
    cases = CasesFile(whole, needed, plan.map, plan.id, optional, talks)
    tell_reading(cases, watcher.notice)
    watcher.notice(", ".join(f"{name} is the {role}" for role, name in tested.roles.items()))
    subjects = draw(cases, tested, size)
    twins = list(rows(subjects, tested.probes))
    sheet = InMemorySheet(twins, [ID, *inputs, *COLUMNS])
    sheet.path = plan.cases
    watcher.notice(f"{len(subjects):,} cases drawn; {len(twins):,} rows for each judge")
    own = replace(plan, cases=sheet, rubric=(tested.rubric,), map={}, id=ID, keep=COLUMNS, without_text=True)
    return run_job(replace(own, encoding="", header_row=None, sheet="", kind="self-test"), watcher, command, loaded)


@dataclass(frozen=True, slots=True)
class _ScoringJob:
    """One command's work on a run: the job's id there, the hash of the cases file when it began, and engines so far."""

    run: RunFile
    id: int
    prepared: Prepared
    sha256: str
    watcher: Watcher
    loaded: EngineCache
    engines: list[Value] = field(default_factory=list)

    def judge(self) -> list[Tally]:
        """Judge with one engine after the other; return a tally for each."""
        tallies: list[Tally] = []
        status = "failed"
        try:
            for work in self.prepared.judges:
                tallies.append(self._judge_with_one_engine(work))
            status = "stopped" if self.watcher.stopped() else "done"
            for remark in self.prepared.cases.remarks:
                self.watcher.notice(remark)
            changed = True
            with suppress(CasesError):
                changed = self.prepared.cases.sheet.sha256() != self.sha256
            if changed:
                self.run.jobs.learn(self.id, {"cases_changed": True})
                name = self.prepared.cases.path.name
                self.watcher.notice(f"{name} changed while it was judged: run the same command again to judge the rest")
        finally:
            self.run.jobs.end(self.id, status, _counts(tallies))
        return tallies

    def _judge_with_one_engine(self, work: JudgeWork) -> Tally:
        judge, plan, watcher = work.judge, self.prepared.plan, self.watcher
        config, planned = engine_plan(self.prepared, work, self.run, self.loaded)
        for rater in work.planned:
            self.run.set_setting(f"{LABEL}{rater.name}", judge.label)
        if judge.label:
            unnamed = "" if plan.judge or not plan.rubric else "no --judge is named: "
            watcher.notice(f"{unnamed}{judge.name} is {judge.label}")

        def start() -> Engine:
            engine = self._load_engine(work, config, planned)
            keep_context(work, engine.facts.max_model_len, watcher.notice)
            return engine

        pool = Pool(start, self.loaded.tokenizer(judge), judge.most_tokens)
        loop = JudgingLoop(
            self.run,
            self.prepared.cases.path.name,
            work.raters,
            pool,
            keep=plan.keep,
            texts=self.run.get_setting(TEXTS) is not False,
            whole=self.prepared.limit is None,
            window=len(planned.gpus) * engine_kind(work.settings.engine).window(config),
            watch=watcher.watch,
            stopped=watcher.stopped,
        )
        watcher.begin(judge.name, self.prepared.total * len(work.raters))
        try:
            tally = loop.judge(self.prepared.rows(watcher.stopped))
            watcher.watch(tally)
            return tally
        finally:
            if pool.in_flight:
                self.loaded.free()  # or it would continue with requests that nobody waits for

    def _load_engine(self, work: JudgeWork, config: EngineConfig, planned: LoadPlan) -> Engine:
        plan, watcher, judge = self.prepared.plan, self.watcher, work.judge
        for note in planned.notes:
            watcher.notice(note)
        engine = self.loaded.engine(
            work.settings.engine,
            config,
            plan.seal,
            watcher.notice,
            watcher.stopped,
            plan.engine_log,
            planned.gpus,
            partial(watcher.loading, judge.name),
        )
        facts: dict[str, Value] = {"judge": judge.name, **asdict(engine.facts), **planned.settings}
        facts["seal"] = asdict(engine.seal)
        self.engines.append(facts)
        self.run.jobs.learn(self.id, {ENGINES: [*self.engines]})
        watcher.notice(f"{facts['engine']} {facts['version']} on {facts['device']}, sealed: {engine.seal}")
        for note in (engine.seal.missing if plan.seal != "off" else "", engine.facts.note):
            if note:
                watcher.notice(note)
        watcher.ready()
        return engine


def keep_context(work: JudgeWork, context: int, notify: Callable[[str], None]) -> None:
    """Keep prompts within a context for which the engine has memory. Raises EngineError if no case fits into it."""
    judge = work.judge
    if context >= judge.most_tokens:
        return
    holds = f"prompt and reply of {context:,} tokens together"
    notify(
        f"the memory is enough for {holds}; {judge.name} can take {judge.context:,}"
        if judge.context
        else f"the engine takes {holds}: neither entry nor config.json of {judge.name} names its context"
    )
    for rater in work.raters:
        rater.writer.context = context
    check_contexts(work.raters)


def _job_facts(prepared: Prepared, cases: dict[str, Value]) -> dict[str, Value]:
    """Return the manifest: raters, cases, and the versions and the machine, which can change a score."""
    judges: list[Value] = [
        {"rater": each.name, "rubric": each.rubric.name, "sha256": each.rubric.sha256, "weights": each.settings.weights}
        for work in prepared.judges
        for each in work.planned
    ]
    return {
        "seal": prepared.plan.seal,
        "raters": judges,
        "cases": cases,
        **(prepared.limit.facts() if prepared.limit else {}),
        **({PART: str(prepared.part)} if prepared.part else {}),
        "pathway_local": __version__,
        "python": platform.python_version(),
        "packages": {**installed_packages()},
        "machine": {"system": platform.platform(), "processors": os.cpu_count() or 0},
        "executable": Path(sys.executable).name,
    }


def _counts(tallies: Sequence[Tally]) -> dict[str, int]:
    return {
        "judged": sum(tally.judged for tally in tallies),
        "skipped": sum(tally.skipped for tally in tallies),
        "failed": sum(tally.failures.total() for tally in tallies),
    }
