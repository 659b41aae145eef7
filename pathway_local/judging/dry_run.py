"""Says what a job would do: reads the cases and renders the prompts, but loads no engine and stores nothing."""

from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace

from pathway_local.case import BadRow, Case, fingerprint
from pathway_local.errors import CaseError
from pathway_local.judges.placement import check_fits_here
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher
from pathway_local.judging.loop import LocalRater, batches
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import PlannedRater, by_engine
from pathway_local.judging.preparation import (
    Prepared,
    add_raters,
    engine_plan,
    local_rater,
    prepare,
    settings_here,
)
from pathway_local.judging.recorder import Tally
from pathway_local.rendering.prompt import Prompt
from pathway_local.runs.run_cases import Limit
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.split import Part
from pathway_local.system.machine import this_machine

SHOWN = 10


@dataclass(frozen=True, slots=True)
class WouldFail:
    """A row that would fail: its case, where a person finds it, and why."""

    case: str
    place: str
    reason: str


@dataclass(slots=True)
class RaterForecast:
    """One judge's work under one rubric: numbers of cases and tokens, and the first rows that would fail.

    `shared_tokens` are those of the prompts that a prefix cache can save. `reply_tokens` is a limit, thinking included.
    """

    rater: str
    rubric: str
    judged_before: int = 0
    to_judge: int = 0
    would_fail: int = 0
    prompt_tokens: int = 0
    shared_tokens: int = 0
    reply_tokens: int = 0
    failures: dict[str, int] = field(default_factory=dict)
    first_failures: list[WouldFail] = field(default_factory=list)

    def fail(self, kind: str, found: WouldFail) -> None:
        """Count a row that would fail."""
        self.would_fail += 1
        self.failures[kind] = self.failures.get(kind, 0) + 1
        if len(self.first_failures) < SHOWN:
            self.first_failures.append(found)


@dataclass(frozen=True, slots=True)
class JudgeForecast:
    """One judge, how it would be loaded here, and its raters.

    `context` is in tokens for prompt and reply together, if the engine has memory for them.
    """

    judge: str
    label: str
    context: int
    room: str
    notes: tuple[str, ...]
    raters: tuple[RaterForecast, ...]


@dataclass(frozen=True, slots=True)
class DryRun:
    """A job's work with these `rows` of the cases file."""

    rows: int
    limit: Limit | None
    part: Part | None
    judges: tuple[JudgeForecast, ...]


class _NothingStored(Exception):
    """Undoes what `add_raters` has stored."""


def dry_run(plan: Plan, watcher: Watcher) -> DryRun:
    """Return what `run_job` would do; raise what it would raise before it loads an engine.

    If the watcher stops it, the counts are incomplete.
    """
    if plan.pseudonyms and not plan.run.exists() and not plan.pseudonyms.exists():
        plan = replace(plan, pseudonyms=None)  # `judge` would make the key
    with ExitStack() as stack:
        run = stack.enter_context(RunFile.open(plan.run)) if plan.run.exists() else None
        loaded = stack.enter_context(EngineCache())
        prepared = prepare(plan, run, loaded, watcher.notice)
        forecast = _Forecast(prepared, run, loaded, watcher)
        judges = tuple(map(forecast.of, by_engine(_with_ids(run, prepared.raters))))
        return DryRun(forecast.rows, prepared.limit, prepared.part, judges)


def _with_ids(run: RunFile | None, raters: Sequence[PlannedRater]) -> Sequence[PlannedRater]:
    """Return the raters with the ids that they have or would get in the run. Raises RaterChanged."""
    if run:
        with suppress(_NothingStored), run.together():
            raters = add_raters(run, raters)
            raise _NothingStored
    return raters


class _Forecast:
    """Goes through the cases once for each judge, as the loop does. `rows` counts those of the last pass."""

    def __init__(self, prepared: Prepared, run: RunFile | None, loaded: EngineCache, watcher: Watcher) -> None:
        self.prepared, self.run, self.loaded, self.watcher = prepared, run, loaded, watcher
        self.rows = 0

    def of(self, raters: Sequence[PlannedRater]) -> JudgeForecast:
        """Return the forecast of one judge under all its rubrics."""
        judge, settings, plan = raters[0].judge, raters[0].settings, self.prepared.plan
        _, planned = engine_plan(self.prepared, raters, self.run, self.loaded)
        options = settings_here(self.run, judge, settings)
        placed = check_fits_here(judge, this_machine(), options, settings.dtype)
        tokenizer = self.loaded.tokenizer(judge)
        local = [local_rater(each, tokenizer, plan) for each in raters]
        found = self._raters(judge.name, [each.name for each in raters], local)
        room = f"it runs {placed.where}"
        return JudgeForecast(judge.name, judge.label, judge.most_tokens, room, planned.notes, found)

    def _raters(self, judge: str, names: Sequence[str], local: Sequence[LocalRater]) -> tuple[RaterForecast, ...]:
        total = self.prepared.count()
        self.watcher.begin(f"{judge} (dry run)", total * len(local) if total is not None else None)
        found = [RaterForecast(name, each.writer.rubric.name) for name, each in zip(names, local, strict=True)]
        tally, self.rows = Tally(), 0
        for batch in batches(self.prepared.rows(self.watcher.stopped)):
            self.rows += len(batch)
            for forecast, rater in zip(found, local, strict=True):
                self._count(forecast, rater, batch)
                tally.judged += len(batch)
            self.watcher.watch(tally)
            if self.watcher.stopped():
                break
        else:
            tally.complete = True
            self.watcher.watch(tally)
            for remark in self.prepared.cases.remarks:
                self.watcher.notice(remark)
        return tuple(found)

    def _count(self, forecast: RaterForecast, rater: LocalRater, batch: Sequence[Case | BadRow]) -> None:
        known = self.run.judged(rater.id, [row.id for row in batch]) if self.run else {}
        unjudged = []
        for row in batch:
            if isinstance(row, BadRow):
                forecast.fail(row.failure.kind, WouldFail(row.id, row.where, row.reason))
                continue
            texts = rater.writer.rubric.texts_of(row)
            if self.run and known.get(row.id) == fingerprint(self.run.key, texts):
                forecast.judged_before += 1
            else:
                unjudged.append((row, texts))
        thought = rater.writer.thinking.most if rater.writer.thinking else 0
        for (row, _), prompts in zip(unjudged, rater.prompts(unjudged), strict=True):
            if failed := [prompt for prompt in prompts.values() if isinstance(prompt, CaseError)]:
                found = WouldFail(row.id, f"row {row.row}", str(failed[0]))
                forecast.fail(failed[0].kind, found)
                continue
            forecast.to_judge += 1
            for prompt in prompts.values():
                assert isinstance(prompt, Prompt)
                length = len(prompt.ids)
                reply = min(prompt.reply.form.limit + thought, rater.writer.context - length)
                forecast.prompt_tokens += length * rater.samples
                forecast.shared_tokens += len(prompt.shared) + length * (rater.samples - 1)
                forecast.reply_tokens += reply * rater.samples
