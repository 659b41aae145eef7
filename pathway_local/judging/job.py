"""A scoring job: which judges judge which cases under which rubrics, into which run."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from typing import Protocol

from pathway_local.case import BadRow, Case
from pathway_local.errors import CasesError, UsageError
from pathway_local.judges.installed_engine import check_architecture
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import check_fits_here, sure_context
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import read_json
from pathway_local.judging.engine_cache import EngineCache, window_of
from pathway_local.judging.loop import JudgingLoop, LocalRater, Tally
from pathway_local.judging.plan import Plan, PlannedRater, Settings, planned_raters, planned_rubrics
from pathway_local.judging.pool import Pool
from pathway_local.passes import Engine, EngineConfig
from pathway_local.rendering.chat import chat_of, thinking_of
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import check_room
from pathway_local.rendering.tokenizer import JudgeTokenizer
from pathway_local.runs.manifest import environment_facts
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.levels import caution_about
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import no_column
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown
from pathway_local.system.machine import this_machine
from pathway_local.verdict import Value

TEXTS = "texts"
SHOW_SECONDS = 0.5


class Watcher(Protocol):
    """Who is told how a job goes, and may end it early."""

    def notice(self, message: str) -> None:
        """Something the user should know."""

    def begin(self, rater: str, total: int | None) -> None:
        """A judge begins; `total` counts its outcomes where that is known."""

    def ready(self) -> None:
        """Its engine stands, and judges from now on."""

    def watch(self, tally: Tally) -> None:
        """Outcomes were stored, up to this tally: asked for now and then, and at the end."""

    def stopped(self) -> bool:
        """Whether to end early."""


class Silent:
    """Watches a job to its end without a word."""

    def notice(self, message: str) -> None:
        """Nothing to tell."""

    def begin(self, rater: str, total: int | None) -> None:
        """Nothing to show."""

    def ready(self) -> None:
        """Nothing to show."""

    def watch(self, tally: Tally) -> None:
        """Nothing to show."""

    def stopped(self) -> bool:
        """Never."""
        return False


def run_job(plan: Plan, watcher: Watcher, command: Sequence[str], loaded: EngineCache | None = None) -> list[Tally]:
    """Do what the plan asks; a tally for each engine that it took. Raises PathwayError.

    What is `loaded` is used and kept, for jobs that follow each other; without it, all is freed at the end.
    """
    with ExitStack() as stack:
        loaded = loaded or stack.enter_context(EngineCache())
        # A new run is made only once everything that can be wrong with the command has been looked at.
        existing = stack.enter_context(RunFile.open(plan.run)) if plan.run.exists() else None
        registry = load_registry(plan.registry)
        rubrics = planned_rubrics(plan, existing)
        pseudonyms = _pseudonyms(plan, existing, watcher)
        cases = cases_of(plan.cases, rubrics.values(), existing, plan.id_column, plan.mapping, pseudonyms)
        _check_columns(cases, plan)
        for rubric in rubrics.values():
            for said in rubric.notices:
                watcher.notice(f"rubric {rubric.name}: {said}")
        _tell(cases, plan, watcher)
        raters = planned_raters(plan, existing, rubrics, registry)
        run = existing or stack.enter_context(RunFile.create(plan.run))
        for each in raters:
            run.add_rubric(each.rubric.name, each.rubric.text)
        ids = [run.add_rater(each.rater) for each in raters]
        remember(run, cases, plan.mapping)
        if not plan.texts:
            run.set_setting(TEXTS, False)
        before = cases.sha256()
        job = _Job(run, run.begin_job(command, _facts(plan, before, raters)), plan, cases, watcher, loaded)
        tallies: list[Tally] = []
        status = "failed"
        try:
            for key in dict.fromkeys(each.engine_key for each in raters):
                own = [pair for pair in zip(ids, raters, strict=True) if pair[1].engine_key == key]
                tallies.append(job.judge(own))
            status = "stopped" if watcher.stopped() else "done"
            if _has_changed(cases, before):
                run.learn(job.id, {"cases_changed": True})
                watcher.notice(f"{plan.cases.name} has changed while it was judged: the same command sees to the rest")
        finally:
            run.end_job(job.id, status, _counts(tallies))
        return tallies


def _context(judge: JudgeSpec, settings: Settings) -> int:
    """Tokens for prompt and reply that this judge has on this machine. Raises EngineMissing, OutOfMemory."""
    if settings.engine == "scripted":
        return sure_context(judge)
    if settings.engine == "vllm":
        check_architecture(read_json(weights_folder(judge) / "config.json"))
    return check_fits_here(judge, this_machine(), settings.options, settings.dtype).context


@dataclass(frozen=True, slots=True)
class _Job:
    """One command's work on a run: `id` is the run's own of it."""

    run: RunFile
    id: int
    plan: Plan
    cases: CasesFile
    watcher: Watcher
    loaded: EngineCache

    def judge(self, own: Sequence[tuple[int, PlannedRater]]) -> Tally:
        """Judge under raters, with the run's ids of them, that one engine serves."""
        judge, settings = own[0][1].judge, own[0][1].settings
        whole = EngineConfig(str(weights_folder(judge)), settings.dtype, judge.context, settings.options)
        tokenizer = self.loaded.tokenizer(judge)
        context = self.loaded.context(settings.engine, whole, self.plan.seal, lambda: _context(judge, settings))
        config = replace(whole, max_model_len=context)
        for _, planned in own:
            self.run.set_setting(f"label:{planned.name}", judge.label)
        pool = Pool(lambda: self._load(judge, settings.engine, config), tokenizer, context)
        try:
            raters = [_local(rater_id, planned, tokenizer, context, self.plan) for rater_id, planned in own]
            return self._judged(judge, raters, pool, window_of(settings.engine, config))
        finally:
            if pool.in_flight:
                self.loaded.free()  # it still works on what nobody waits for any more

    def _load(self, judge: JudgeSpec, kind: str, config: EngineConfig) -> Engine:
        plan, watcher = self.plan, self.watcher
        engine = self.loaded.engine(kind, config, plan.seal, watcher.notice, watcher.stopped, plan.engine_log)
        facts: dict[str, Value] = dict(asdict(engine.facts))
        self.run.learn(self.id, {"engine": {"judge": judge.name, **facts}})
        said = f"{engine.facts.engine} {engine.facts.version} on {facts['device']}, sealed: {facts['seal']}"
        self.watcher.notice(said)
        if caution := caution_about(engine.facts.seal, engine.facts.seal_limit):
            self.watcher.notice(caution)
        self.watcher.ready()
        return engine

    def _judged(self, judge: JudgeSpec, raters: Sequence[LocalRater], pool: Pool, window: int) -> Tally:
        for rater in raters:
            check_room(rater.writer)
        telling = _Telling(self.run, self.watcher)
        judging = JudgingLoop(
            self.run,
            raters,
            pool,
            source=self.plan.cases.name,
            keep=self.plan.keep,
            texts=self.run.get_setting(TEXTS) is not False,
            window=window,
            watch=telling.now_and_then,
            stopped=self.watcher.stopped,
        )
        total = self.cases.count()
        self.watcher.begin(judge.name, total * len(raters) if total is not None else None)
        tally = judging.judge(_strict(self.cases) if self.plan.strict else iter(self.cases))
        telling.now(tally)
        return tally


class _Telling:
    """Tells a watcher of outcomes only once they are on the disk: what a user saw as done is never lost."""

    def __init__(self, run: RunFile, watcher: Watcher) -> None:
        self._run, self._watcher = run, watcher
        self._told = time.monotonic()

    def now_and_then(self, tally: Tally) -> None:
        if time.monotonic() - self._told >= SHOW_SECONDS:
            self.now(tally)

    def now(self, tally: Tally) -> None:
        self._run.commit()
        self._watcher.watch(tally)
        self._told = time.monotonic()


def _local(rater_id: int, planned: PlannedRater, tokenizer: JudgeTokenizer, context: int, plan: Plan) -> LocalRater:
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
    return LocalRater(rater_id, writer, settings.sampling, settings.samples)


def _strict(cases: CasesFile) -> Iterator[Case | BadRow]:
    for row in cases:
        if isinstance(row, BadRow):
            raise CasesError(
                f"{row.where}: {row.reason}", "Mend the row, or leave --strict out to record it as a failure."
            )
        yield row


def _tell(cases: CasesFile, plan: Plan, watcher: Watcher) -> None:
    for note in cases.notes:
        watcher.notice(note)
    for name, column in cases.aliases_used.items():
        watcher.notice(f"column {shown(column)!r} is read as {name}")
    if cases.id_column is None:
        watcher.notice("cases are known by their row number: give --id COLUMN if rows may move")
    elif cases.id_column != plan.id_column:
        watcher.notice(f"column {shown(cases.id_column)!r} is read as the case's id")


def _pseudonyms(plan: Plan, run: RunFile | None, watcher: Watcher) -> Pseudonyms | None:
    path = plan.pseudonyms
    if path is None:
        return None
    if run is None and not path.exists():
        watcher.notice(f"{path}: a new key. Keep it apart from the run: who has it can tell which pseudonym is which")
    return Pseudonyms.at(path, make=run is None)


def _check_columns(cases: CasesFile, plan: Plan) -> None:
    for name in plan.keep or ():
        if name not in cases.columns:
            raise no_column(name, cases.columns, cases.path.name)
        if name not in cases.metadata:
            what = "the ids" if name == cases.id_column else "an input"
            raise UsageError(f"--keep names {shown(name)!r}, the column of {what}", "A run has ids, and no inputs.")
    if plan.truncate and plan.truncate not in cases.inputs:
        raise UsageError(
            f"--truncate names {plan.truncate!r}, which is no input", f"There are: {', '.join(cases.inputs)}."
        )


def _has_changed(cases: CasesFile, before: str) -> bool:
    try:
        return cases.sha256() != before
    except CasesError:
        return True


def _facts(plan: Plan, sha256: str, raters: Sequence[PlannedRater]) -> dict[str, Value]:
    told: list[Value] = [
        {"rater": each.name, "rubric": each.rubric.name, "sha256": each.rubric.sha256, "weights": each.settings.weights}
        for each in raters
    ]
    return {
        "seal": plan.seal,
        "raters": told,
        "cases": {"file": plan.cases.name, "sha256": sha256},
        **environment_facts(),
    }


def _counts(tallies: Sequence[Tally]) -> dict[str, int]:
    return {
        "judged": sum(tally.judged for tally in tallies),
        "skipped": sum(tally.skipped for tally in tallies),
        "failed": sum(tally.failures.total() for tally in tallies),
    }
