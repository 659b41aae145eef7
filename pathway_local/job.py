"""A scoring job: which judges judge which cases under which rubrics, into which run."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from typing import Protocol

from pathway_local.case import BadRow, Case
from pathway_local.chat import chat_of, thinking_of
from pathway_local.checks.installed_engine import check_architecture
from pathway_local.checks.placement import check_fits_here
from pathway_local.checks.rubric_check import check_room
from pathway_local.engines.passes import Engine, EngineConfig
from pathway_local.engines.pool import Pool
from pathway_local.engines.seal import caution_about
from pathway_local.errors import CasesError, UsageError
from pathway_local.judge import Judging, LocalRater, Tally
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.machine import this_machine
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import read_json
from pathway_local.loaded import Loaded, window_of
from pathway_local.plan import Plan, PlannedRater, Settings, own_raters, planned_raters
from pathway_local.prompt import PromptWriter
from pathway_local.pseudonyms import Pseudonyms
from pathway_local.rubrics.rubric import Rubric, load_rubric
from pathway_local.runs.manifest import surroundings
from pathway_local.runs.run_cases import cases_of, remember
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import rubrics_of
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import no_column
from pathway_local.sheets.row import shown
from pathway_local.tokenizer import JudgeTokenizer
from pathway_local.verdict import Value

TEXTS = "texts"
SHOW_SECONDS = 0.5
MOST_CONTEXT = 32_768
"""Tokens of context to reserve at most: judges that could take more would need a GPU's memory for one case."""


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


def run_job(plan: Plan, watcher: Watcher, command: Sequence[str], loaded: Loaded | None = None) -> list[Tally]:
    """Do what the plan asks; a tally for each engine that it took. Raises PathwayError.

    What is `loaded` is used and kept, for jobs that follow each other; without it, all is freed at the end.
    """
    with ExitStack() as stack:
        loaded = loaded or stack.enter_context(Loaded())
        # A new run is made only once everything that can be wrong with the command has been looked at.
        existing = stack.enter_context(RunFile.open(plan.run)) if plan.run.exists() else None
        registry = load_registry(plan.registry)
        rubrics = _rubrics(plan, existing)
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
        job = run.begin_job(command, _facts(plan, before, raters))
        tallies: list[Tally] = []
        status = "failed"
        try:
            for engine in dict.fromkeys(each.engine for each in raters):
                own = [(rater_id, each) for rater_id, each in zip(ids, raters, strict=True) if each.engine == engine]
                tallies.append(_judge(run, own, plan, cases, watcher, job, loaded))
            status = "stopped" if watcher.stopped() else "done"
            if _has_changed(cases, before):
                run.learn(job, {"cases_changed": True})
                watcher.notice(f"{plan.cases.name} has changed while it was judged: the same command sees to the rest")
        finally:
            run.end_job(job, status, _counts(tallies))
        return tallies


def _rubrics(plan: Plan, run: RunFile | None) -> dict[str, Rubric]:
    if plan.rubrics:
        named: dict[str, Rubric] = {}
        for file in plan.rubrics:
            rubric = load_rubric(file, references=plan.allow_references)
            if named.setdefault(rubric.name, rubric).sha256 != rubric.sha256:
                raise UsageError(f"two rubrics are called {rubric.name!r}", "Give one another name in its file.")
        return named
    if run is None or not own_raters(run):
        raise UsageError("no rubric is named", "Give --rubric NAME; `pathway-local rubrics list` shows ours.")
    judged = {rater.rubric for rater in own_raters(run)}
    return {name: rubric for name, rubric in rubrics_of(run).items() if name in judged}


def _context(judge: JudgeSpec, settings: Settings) -> int:
    """Tokens for prompt and reply that this judge has on this machine. Raises EngineMissing, OutOfMemory."""
    if settings.engine == "scripted":
        return judge.context or MOST_CONTEXT
    if settings.engine == "vllm":
        check_architecture(read_json(weights_folder(judge) / "config.json"))
    place = check_fits_here(judge, this_machine(), settings.options, settings.dtype)
    return min(known for known in (judge.context, place.context, MOST_CONTEXT) if known)


def _judge(
    run: RunFile,
    own: Sequence[tuple[int, PlannedRater]],
    plan: Plan,
    cases: CasesFile,
    watcher: Watcher,
    job: int,
    loaded: Loaded,
) -> Tally:
    judge, settings = own[0][1].judge, own[0][1].settings
    folder = weights_folder(judge)
    tokenizer = loaded.tokenizer(judge)
    context = _context(judge, settings)
    config = EngineConfig(str(folder), settings.dtype, context, settings.options)
    for _, planned in own:
        run.set_setting(f"label:{planned.name}", judge.label)

    def load() -> Engine:
        engine = loaded.engine(settings.engine, config, plan.seal, watcher.notice, watcher.stopped)
        facts: dict[str, Value] = dict(asdict(engine.facts))
        run.learn(job, {"engine": {"judge": judge.name, **facts}})
        watcher.notice(f"{engine.facts.engine} {engine.facts.version} on {facts['device']}, sealed: {facts['seal']}")
        if caution := caution_about(engine.facts.seal):
            watcher.notice(caution)
        watcher.ready()
        return engine

    telling, pool = _Telling(run, watcher), Pool(load, tokenizer, context)
    try:
        raters = [_local(rater_id, planned, tokenizer, context, plan) for rater_id, planned in own]
        for rater in raters:
            check_room(rater.writer)
        judging = Judging(
            run,
            raters,
            pool,
            source=plan.cases.name,
            keep=plan.keep,
            texts=run.get_setting(TEXTS) is not False,
            window=window_of(settings.engine, config),
            watch=telling.now_and_then,
            stopped=watcher.stopped,
        )
        total = cases.count()
        watcher.begin(judge.name, total * len(raters) if total is not None else None)
        tally = judging.judge(_strict(cases) if plan.strict else iter(cases))
        telling.now(tally)
        return tally
    finally:
        if pool.in_flight:
            loaded.free()  # it still works on what nobody waits for any more


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
        **surroundings(),
    }


def _counts(tallies: Sequence[Tally]) -> dict[str, int]:
    return {
        "judged": sum(tally.judged for tally in tallies),
        "skipped": sum(tally.skipped for tally in tallies),
        "failed": sum(tally.failures.total() for tally in tallies),
    }
