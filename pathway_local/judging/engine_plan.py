"""Plans how a job loads its engines, and finds raters for whose prompts a judge's context is too short."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from pathway_local.engines.engine import LoadPlan
from pathway_local.errors import EngineError
from pathway_local.judges.pinned_folder import pinned_folder
from pathway_local.judges.registry import weights_folder
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.plan import Plan
from pathway_local.judging.planned_rater import PlannedRater
from pathway_local.judging.preparation import Prepared, engine_options, prepare, prompt_writer
from pathway_local.passes import EngineConfig
from pathway_local.rendering.rubric_check import LONGER, too_short
from pathway_local.runs.run_file import RunFile

Unfit = Mapping[tuple[str, str], str]
"""Why a judge's context is too short, by rater and rubric."""


def engine_plan(
    prepared: Prepared, raters: Sequence[PlannedRater], run: RunFile | None, loaded: EngineCache
) -> tuple[EngineConfig, LoadPlan]:
    """Return how to load the engine that these raters share. Raises EngineError."""
    judge, settings, plan = raters[0].judge, raters[0].settings, prepared.plan
    folder = pinned_folder(weights_folder(judge))
    whole = EngineConfig(str(folder), settings.dtype, judge.context, settings.options)
    options = engine_options(run, judge, settings)
    estimate = partial(prepared.load_plan, raters, options)
    planned = loaded.load_plan(settings.engine, whole, plan.seal, plan.allocation, estimate)
    return replace(whole, max_model_len=planned.context, settings={**options, **planned.settings}), planned


def prepare_fitting(
    plan: Plan, run: RunFile | None, loaded: EngineCache, notify: Callable[[str], None]
) -> tuple[Prepared, Unfit]:
    """Prepare a job and leave out the raters that do not fit, which the user is told. Raises PathwayError."""
    prepared = prepare(plan, run, notify)
    unfit = _find_unfit(prepared, run, loaded)
    for said in unfit.values():
        notify(f"left out: {said}")
    return prepared.without(unfit), unfit


def _find_unfit(prepared: Prepared, run: RunFile | None, loaded: EngineCache) -> Unfit:
    """Return the raters for whose prompts a judge's context is too short.

    Raises EngineError, with all of them, if nothing is left to judge or the plan does not leave them out.
    """
    found: dict[tuple[str, str], str] = {}
    plan, raters = prepared.plan, prepared.raters
    for key in dict.fromkeys(each.engine_key for each in raters):
        own = [each for each in raters if each.engine_key == key]
        context = engine_plan(prepared, own, run, loaded)[1].context
        for each in own:
            if said := too_short(prompt_writer(each, loaded.tokenizer(each.judge), context, plan)):
                found[each.name, each.rubric.name] = said
    if found and (len(found) == len(raters) or not plan.skip_unfit):
        rest = " --skip-unfit judges the others." if len(found) < len(raters) else ""
        raise EngineError("; ".join(dict.fromkeys(found.values())), f"{LONGER}{rest}")
    return found
