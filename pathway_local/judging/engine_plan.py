"""Plans how a job loads its engines, and finds raters for whose prompts a judge's context is too short."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pydantic import JsonValue

from pathway_local.engines.engine import WINDOW, LoadPlan
from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import EngineError
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.pinned_folder import pinned_folder
from pathway_local.judges.registry import weights_folder
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.plan import Plan, PlannedRater, Settings
from pathway_local.passes import EngineConfig
from pathway_local.rendering.chat import chat_of, thinking_of
from pathway_local.rendering.prompt import PromptWriter
from pathway_local.rendering.rubric_check import LONGER, too_short
from pathway_local.runs.run_file import RunFile
from pathway_local.sheets.cases_file import CasesFile
from pathway_local.system.machine import this_machine


@dataclass(slots=True)
class EnginePlanner:
    """Plans the engines of a job. `run` is None until a new run is made."""

    plan: Plan
    cases: CasesFile
    loaded: EngineCache
    run: RunFile | None

    def load_plan(self, raters: Sequence[PlannedRater]) -> tuple[EngineConfig, LoadPlan]:
        """Return how to load the engine that these raters share."""
        judge, settings = raters[0].judge, raters[0].settings
        folder = pinned_folder(weights_folder(judge), settings.weights)
        whole = EngineConfig(str(folder), settings.dtype, judge.context, settings.options)
        engine, wanted, options = engine_kind(settings.engine), self.plan.engines, self._options(judge, settings)

        def estimate() -> LoadPlan:
            steps = partial(self._steps, raters)
            return wanted.load_plan(engine, judge, this_machine(), options, settings.dtype, steps)

        planned = self.loaded.load_plan(settings.engine, whole, self.plan.seal, wanted, estimate)
        return replace(whole, max_model_len=planned.context, settings={**options, **planned.settings}), planned

    def writer(self, rater: PlannedRater, context: int) -> PromptWriter:
        """Return the writer of this rater's prompts."""
        settings, tokenizer = rater.settings, self.loaded.tokenizer(rater.judge)
        return PromptWriter(
            rater.rubric,
            tokenizer,
            chat_of(rater.judge, settings.think),
            context=context,
            detail=settings.detail,
            truncate=self.plan.truncate,
            thinking=thinking_of(rater.judge, settings.think, tokenizer, settings.sampling),
        )

    def unfit(self, raters: Sequence[PlannedRater]) -> dict[tuple[str, str], str]:
        """Return why a context is too short for the raters for which it is, by rater and rubric.

        Raises EngineError, with all of them, if nothing is left to judge or the plan does not leave them out.
        """
        found = {}
        for key in dict.fromkeys(each.engine_key for each in raters):
            own = [each for each in raters if each.engine_key == key]
            context = self.load_plan(own)[1].context
            for each in own:
                if said := too_short(self.writer(each, context)):
                    found[each.name, each.rubric.name] = said
        if found and (len(found) == len(raters) or not self.plan.skip_unfit):
            rest = " --skip-unfit judges the others." if len(found) < len(raters) else ""
            raise EngineError("; ".join(dict.fromkeys(found.values())), f"{LONGER}{rest}")
        return found

    def _options(self, judge: JudgeSpec, settings: Settings) -> dict[str, JsonValue]:
        """Return the engine's settings; a judge that ran eagerly in this run, or did not, continues in the same way.

        The way is no part of the rater, but it may round differently.
        """
        engines = [job.facts.get("engine") for job in self.run.jobs.all()] if self.run else []
        ways = [
            facts.get("enforce_eager") for facts in engines if isinstance(facts, dict) and facts["judge"] == judge.name
        ]
        known = [way for way in ways if isinstance(way, bool)]
        return {**({"enforce_eager": known[-1]} if known else {}), **settings.options}

    def _steps(self, raters: Sequence[PlannedRater], engines: int) -> float | None:
        """Estimate the decoding steps of each engine if no case is judged yet; None if the cases can't be counted."""
        cases = self.cases.count()
        if cases is None:
            return None
        replies = ((cases * rater.settings.samples, _written(rater)) for rater in raters)
        return sum(max(1.0, count / (WINDOW * engines)) * written for count, written in replies)


def _written(rater: PlannedRater) -> float:
    """Estimate the tokens that the judge writes for a case: a third of its limit, as real judges write."""
    settings, rubric = rater.settings, rater.rubric
    reply = rubric.format.reply(dict.fromkeys(rubric.inputs, ""), settings.detail)
    return (reply.form.limit + settings.think) / 3
