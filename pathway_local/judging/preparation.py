"""Prepares a job: opens the cases file, draws the cases that --limit leaves, and finds the raters and how their engines
are loaded; stores nothing.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from heapq import nsmallest
from pathlib import Path
from shlex import quote

from pydantic import JsonValue

from pathway_local.case import BadRow, Case, rank
from pathway_local.engines.engine import WINDOW, LoadPlan, load_plan
from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import EngineError, UsageError
from pathway_local.judges.judge_spec import JudgeSpec, chat_of
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.loop import LocalRater
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import PlannedRater, Settings, planned_raters, planned_rubrics
from pathway_local.passes import EngineConfig
from pathway_local.rendering.prompt import PromptWriter, thinking_of
from pathway_local.rendering.rubric_check import LONGER, lengths_of
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_cases import Limit, Part, cases_of, kept_columns, last_seed, part_of
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.sheets.columns import folded, names_of
from pathway_local.sheets.pseudonyms import Pseudonyms
from pathway_local.sheets.row import shown
from pathway_local.system.machine import this_machine


@dataclass(frozen=True, slots=True)
class JudgeWork:
    """The raters that share a judge's engine, as they were planned and as the loop takes them."""

    judge: JudgeSpec
    settings: Settings
    planned: Sequence[PlannedRater]
    raters: Sequence[LocalRater]


@dataclass(frozen=True, slots=True)
class Prepared:
    """The cases file of a plan, and the work of each judge.

    With a limit, only rows up to the rank `last` are judged; in a part of a run, only those of them that are in it.
    `total` is the number of rows to judge.
    """

    plan: Plan
    cases: CasesFile
    judges: Sequence[JudgeWork]
    limit: Limit | None = None
    last: bytes = b""
    part: Part | None = None
    total: int = 0

    def rows(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[Case | BadRow]:
        """Yield the rows to judge in the order of the file, until `stopped` says so, which blank rows ask as well."""
        for _, item in self.cases.rows():
            if stopped():
                return
            within = item is not None and (not self.limit or rank(item.id, self.limit.seed) <= self.last)
            if item is not None and within and (not self.part or item.id in self.part):
                yield item


def prepare(
    plan: Plan,
    run: RunFile | None,
    loaded: EngineCache,
    notify: Callable[[str], None],
    stopped: Callable[[], bool] = lambda: False,
) -> Prepared:
    """Read and check everything that the plan names, the cases file to its end, and tell the user how it was read.

    Raises PathwayError; for contexts that are too short, one that names all their rubrics.
    """
    part = part_of(run) if run else None
    registry = load_registry(plan.models)
    rubrics = planned_rubrics(plan, run)
    cases = _open_cases(plan, run, rubrics.values(), notify)
    plan = replace(plan, keep=kept_columns(run, cases, plan.keep))
    groups: dict[tuple[str, ...], list[PlannedRater]] = {}
    for rater in planned_raters(plan, run, rubrics, registry):
        groups.setdefault(rater.engine_key, []).append(rater)
    if part:
        notify(f"judging part {part} of {cases.path.name}; `runs merge` adds it to the run that was split")
    judges = [
        JudgeWork(own[0].judge, own[0].settings, own, [_local_rater(each, loaded, plan) for each in own])
        for own in groups.values()
    ]
    limited = _limited(Prepared(plan, cases, judges, part=part), run, notify)
    prepared = replace(limited, total=sum(1 for _ in limited.rows(stopped)))
    for work in judges:
        engine_plan(prepared, work, run, loaded)  # refuses a judge that does not fit
    check_contexts([rater for work in judges for rater in work.raters])
    return prepared


def check_contexts(raters: Iterable[LocalRater]) -> None:
    """Raise EngineError that names all rubrics for which the judges' contexts are too short."""
    if unfit := dict.fromkeys(filter(None, (lengths_of(rater.writer).lack for rater in raters))):
        raise EngineError("; ".join(unfit), LONGER)


def _limited(whole: Prepared, run: RunFile | None, notify: Callable[[str], None]) -> Prepared:
    """Return the same with the rows drawn to which the plan limits the job. Reads the cases file once."""
    plan, cases = whole.plan, whole.cases
    if plan.limit is None:
        return whole
    before = last_seed(run, cases.path.name) if run and plan.seed is None else plan.seed
    seed, rows = before or 0, 0

    def ranks() -> Iterator[bytes]:
        nonlocal rows
        for row in cases:
            rows += 1
            yield rank(row.id, seed)

    drawn = nsmallest(plan.limit, ranks())
    if len(drawn) == rows:
        notify(f"--limit {plan.limit} takes all {rows} cases of {cases.path.name}")
        return whole
    limit = Limit(cases.path.name, len(drawn), rows, seed)
    part = f"the cases of part {whole.part} in " if whole.part else ""
    notify(f"judging {part}{limit}; a larger --limit, or none, continues with the others")
    return replace(whole, limit=limit, last=drawn[-1])


def add_raters(run: RunFile, prepared: Prepared) -> None:
    """Add all raters and their rubrics to the run; each rater gets its id there. Raises RaterChanged."""
    for work in prepared.judges:
        for planned, rater in zip(work.planned, work.raters, strict=True):
            store_rubric(run, planned.rubric)
            rater.id = run.add_rater(planned.rater)


def settings_here(run: RunFile | None, judge: JudgeSpec, settings: Settings) -> dict[str, JsonValue]:
    """Return the engine's settings; a judge that ran eagerly in this run, or did not, continues in the same way.

    The way is no part of the rater, but it may round differently.
    """
    known: dict[str, JsonValue] = {}
    for job in run.jobs.all() if run else ():
        for facts in job.engines:
            if facts.get("judge") == judge.name and "enforce_eager" in facts:
                known["enforce_eager"] = bool(facts["enforce_eager"])
    return {**known, **settings.options}


def _local_rater(planned: PlannedRater, loaded: EngineCache, plan: Plan) -> LocalRater:
    """Return a rater that writes its prompts for the judge's whole context, and is not in the run yet."""
    settings, judge, tokenizer = planned.settings, planned.judge, loaded.tokenizer(planned.judge)
    writer = PromptWriter(
        planned.rubric,
        tokenizer,
        chat_of(judge, settings.think),
        context=judge.most_tokens,
        detail=settings.detail,
        truncate=plan.truncate,
        thinking=thinking_of(judge, settings.think, tokenizer, settings.sampling),
    )
    return LocalRater(0, writer, settings.sampling, settings.samples, settings.orders or "both")


def _open_cases(
    plan: Plan, run: RunFile | None, rubrics: Collection[Rubric], notify: Callable[[str], None]
) -> CasesFile:
    """Open the cases file, and tell the user how its columns and the rubrics were read. Raises PathwayError."""
    how = {"encoding": plan.encoding, "header_row": plan.header_row, "title": plan.sheet}
    if any(how.values()) and not isinstance(plan.cases, Path):
        raise UsageError("--encoding, --header-row or --sheet is for a file, and the cases are rows", "Leave it out.")
    key, path = None, plan.pseudonyms
    if path:
        if run is None and not path.exists():
            notify(f"{path}: a new key. Keep it apart from the run: whoever has both can tell which case is which")
        key = Pseudonyms.at(path, make=run is None)
    cases = cases_of(plan.cases, rubrics, run, plan.id, plan.map, key, **how)
    for name in cases.metadata if plan.keep is None else plan.keep:
        cases.metadata_column(name)
    if plan.truncate and plan.truncate not in cases.inputs:
        raise UsageError(
            f"--truncate names {plan.truncate!r}, which is not an input", f"There are: {', '.join(cases.inputs)}."
        )
    for rubric in rubrics:
        for said in rubric.notices:
            notify(f"rubric {rubric.name}: {said}")
    tell_reading(cases, notify)
    if cases.id_column is None:
        numbers = (shown(name) for name in cases.metadata if folded(name) in names_of("number"))
        notify(f"cases are identified by row number: give --id {quote(next(numbers, 'COLUMN'))} if rows may move")
    elif cases.id_column != plan.id:
        notify(f"column {shown(cases.id_column)!r} is read as the case's id")
    return cases


def tell_reading(cases: CasesFile, notify: Callable[[str], None]) -> None:
    """Tell the user how the file was read, and which columns of other names are its inputs."""
    renamed = (f"column {shown(column)!r} is read as {name}" for name, column in cases.aliases_used.items())
    for said in (*cases.notes, *renamed):
        notify(said)


def engine_plan(
    prepared: Prepared, work: JudgeWork, run: RunFile | None, loaded: EngineCache
) -> tuple[EngineConfig, LoadPlan]:
    """Return how to load the engine of a judge. Raises EngineError."""
    judge, settings, plan = work.judge, work.settings, prepared.plan
    whole = EngineConfig(str(weights_folder(judge)), settings.dtype, judge.context, settings.options)
    options = settings_here(run, judge, settings)

    def estimate() -> LoadPlan:
        kind, steps = engine_kind(settings.engine), sum(_steps(rater, prepared.total) for rater in work.planned)
        return load_plan(plan.gpus, kind, judge, this_machine(), options, settings.dtype, steps)

    planned = loaded.planned((settings.engine, whole, plan.seal, plan.gpus), estimate)
    return replace(whole, settings={**options, **planned.settings}), planned


def _steps(rater: PlannedRater, cases: int) -> float:
    """Estimate the decoding steps if no case is judged yet: a reply takes a third of its limit with real judges."""
    settings, rubric = rater.settings, rater.rubric
    limit = rubric.format.reply(dict.fromkeys(rubric.inputs, ""), settings.detail).form.limit + settings.think
    return max(1.0, cases * settings.replies / WINDOW) * limit / 3
