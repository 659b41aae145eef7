"""Says what a job would do: reads the cases and renders the prompts, but loads no engine and stores nothing."""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace

from pathway_local.case import BadRow, Case, fingerprint, placed
from pathway_local.errors import CaseError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.loop import LocalRater, batches
from pathway_local.judging.plan import Plan
from pathway_local.judging.preparation import add_raters, engine_plan, prepare
from pathway_local.judging.progress import Watcher
from pathway_local.rendering.prompt import Prompt
from pathway_local.runs.run_file import RunFile

SHOWN = 10


@dataclass(slots=True)
class RaterForecast:
    """One judge's work under one rubric: numbers of cases and tokens, and the first rows that would fail.

    `shared_tokens` are those of the prompts that a prefix cache can save. `reply_tokens` is a limit, thinking included.
    `first_failures` are places and sentences.
    """

    rater: str
    rubric: str
    judged_before: int = 0
    to_judge: int = 0
    prompt_tokens: int = 0
    shared_tokens: int = 0
    reply_tokens: int = 0
    failures: Counter[str] = field(default_factory=Counter)
    first_failures: list[tuple[str, str]] = field(default_factory=list)

    def fail(self, kind: str, case: str, place: str, reason: str) -> None:
        """Count a row that would fail."""
        self.failures[kind] += 1
        if len(self.first_failures) < SHOWN:
            self.first_failures.append((place, placed(case, place, reason)))


@dataclass(frozen=True, slots=True)
class JudgeForecast:
    """One judge, how its engine would be loaded, and its raters.

    `context` is in tokens for prompt and reply together, if the engine has memory for them.
    """

    judge: str
    label: str
    context: int
    notes: tuple[str, ...]
    raters: Sequence[RaterForecast]


class _NothingStored(Exception):
    """Undoes what `add_raters` has stored."""


def dry_run(plan: Plan, watcher: Watcher) -> list[JudgeForecast]:
    """Return what each judge of `run_job` would do; raise what it would raise before it loads an engine.

    If the watcher stops it, the counts are incomplete.
    """
    if plan.pseudonyms and not plan.run.exists() and not plan.pseudonyms.exists():
        plan = replace(plan, pseudonyms=None)  # `judge` would make the key
    with ExitStack() as stack:
        run = stack.enter_context(RunFile.open(plan.run)) if plan.run.exists() else None
        loaded = stack.enter_context(EngineCache())
        prepared = prepare(plan, run, loaded, watcher.notice, watcher.stopped)
        if run:
            with suppress(_NothingStored), run.together():
                add_raters(run, prepared)
                raise _NothingStored
        judges, counted = list[JudgeForecast](), list[tuple[RaterForecast, LocalRater]]()
        for work in prepared.judges:
            judge, (_, load) = work.judge, engine_plan(prepared, work, run, loaded)
            found = [RaterForecast(each.name, each.rubric.name) for each in work.planned]
            judges.append(JudgeForecast(judge.name, judge.label, judge.most_tokens, load.notes, found))
            counted += zip(found, work.raters, strict=True)
        for batch in batches(prepared.rows(watcher.stopped)):
            for forecast, rater in counted:
                _count(forecast, rater, batch, run)
        for remark in prepared.cases.remarks:
            watcher.notice(remark)
        return judges


def _count(forecast: RaterForecast, rater: LocalRater, batch: Sequence[Case | BadRow], run: RunFile | None) -> None:
    """Add the work on a batch of cases."""
    known = run.judged(rater.id, [row.id for row in batch]) if run else {}
    unjudged = []
    for row in batch:
        if isinstance(row, BadRow):
            forecast.fail(row.failure.kind, row.id, row.where, row.reason)
            continue
        texts = rater.writer.rubric.texts_of(row)
        if run and known.get(row.id) == fingerprint(run.key, texts):
            forecast.judged_before += 1
        else:
            unjudged.append((row, texts))
    thought = rater.writer.thinking.most if rater.writer.thinking else 0
    for (row, _), prompts in zip(unjudged, rater.prompts(unjudged), strict=True):
        if failed := [prompt for prompt in prompts.values() if isinstance(prompt, CaseError)]:
            forecast.fail(failed[0].kind, row.id, f"row {row.row}", str(failed[0]))
            continue
        forecast.to_judge += 1
        for prompt in prompts.values():
            assert isinstance(prompt, Prompt)
            length = len(prompt.ids)
            reply = min(prompt.reply.form.limit + thought, rater.writer.context - length)
            forecast.prompt_tokens += length * rater.samples
            forecast.shared_tokens += len(prompt.shared) + length * (rater.samples - 1)
            forecast.reply_tokens += reply * rater.samples
