"""Finds the raters that a plan needs: each judge under each rubric."""

import json
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, JsonValue

from pathway_local.engines.engine_list import engine_kind
from pathway_local.errors import UsageError
from pathway_local.judges.engine_settings import checked_hash, computed_in
from pathway_local.judges.judge_spec import JudgeSpec, chat_settings, think_budget
from pathway_local.judges.registry import USUAL_JUDGE, Registry, weights_folder
from pathway_local.judging.plan import Plan
from pathway_local.passes import Sampling
from pathway_local.rater import GROUP, Rater
from pathway_local.rubrics.output_format import Detail
from pathway_local.rubrics.pair import Orders
from pathway_local.rubrics.rubric import Rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.machine import Machine, this_machine


class Settings(BaseModel):
    """Everything that can change what a judge says under a rubric; the run stores it as the rater's spec."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    judge: str
    weights: str
    rubric: str
    detail: Detail
    samples: int
    sampling: Sampling
    engine: str
    dtype: str
    think: int = 0
    chat: dict[str, JsonValue]
    orders: Orders | None = None
    options: dict[str, JsonValue]

    def spec(self) -> dict[str, JsonValue]:
        """Return the settings as JSON; `orders` belong to comparisons alone."""
        return self.model_dump(mode="json", exclude=None if self.orders else {"orders"})

    @property
    def replies(self) -> int:
        """The number of replies that a judge gives for each case."""
        return self.samples * (2 if self.orders == "both" else 1)


@dataclass(frozen=True, slots=True)
class PlannedRater:
    """One judge under one rubric, with its name in the run."""

    name: str
    judge: JudgeSpec
    rubric: Rubric
    settings: Settings

    @property
    def rater(self) -> Rater:
        """Return the rater that the run stores."""
        return Rater(self.name, "judge", self.rubric.name, self.settings.spec())

    @property
    def engine_key(self) -> tuple[str, ...]:
        """Return a key: raters with the same one can share an engine."""
        own = self.settings
        return self.judge.key, own.weights, own.engine, own.dtype, json.dumps(own.options, sort_keys=True)


def judging_raters(run: RunFile) -> list[Rater]:
    """Return the raters of a run that are local judges."""
    return [rater for _, rater in run.raters() if rater.kind == "judge"]


def planned_rubrics(plan: Plan, run: RunFile | None) -> dict[str, Rubric]:
    """Return the rubrics of a plan by name, or those of the run that it continues. Raises PathwayError."""
    if plan.rubric:
        named: dict[str, Rubric] = {}
        for rubric in plan.rubric:
            if named.setdefault(rubric.name, rubric).sha256 != rubric.sha256:
                raise UsageError(f"two rubrics are called {rubric.name!r}", "Give one another name in its file.")
        return named
    if run is None or not judging_raters(run):
        raise UsageError("no rubric is named", "Give --rubric NAME; `pathway-local rubrics list` shows some.")
    judged = {rater.rubric for rater in judging_raters(run)}
    found = {name: rubric for name, rubric in run.rubrics().items() if name in judged}
    if left := [name for name, rubric in found.items() if rubric.needs_file]:
        said = f"{run.path.name} does not keep the texts of the examples in {', '.join(left)}"
        raise UsageError(said, "Give each rubric again with --rubric, and the options that it was first judged with.")
    return found


def planned_raters(
    plan: Plan, run: RunFile | None, rubrics: Mapping[str, Rubric], registry: Registry
) -> list[PlannedRater]:
    """Return the raters of a plan, or those of the run that it continues. Raises PathwayError."""
    _check_orders(plan, rubrics.values())
    if run and not plan.rubric:
        return [_resumed_rater(rater, rubrics[rater.rubric], registry) for rater in judging_raters(run)]
    if plan.rater and len(plan.judge) > 1:
        raise UsageError("--rater names one rater, and there are several judges", "Judge with one at a time.")
    judges = [registry.get(name) for name in plan.judge or [_usual_judge(run, plan.rater)]]
    for name, count in Counter(plan.rater or judge.name for judge in judges).items():
        if GROUP in name:
            said = f"{name!r} can't be a judge's name: with a {GROUP} it would count as one of several raters"
            raise UsageError(said, f"Give --rater a name without {GROUP}.")
        if count > 1:
            said = f"{count} judges would be the rater {name!r}"
            raise UsageError(said, "Judge with one at a time, and give each its own --rater.")
    machine = this_machine()
    return [_new_rater(plan, judge, rubric, machine) for judge in judges for rubric in rubrics.values()]


def _check_orders(plan: Plan, rubrics: Collection[Rubric]) -> None:
    """Raise UsageError for orders of rubrics that compare nothing, and for cutting one of two responses."""
    pairs = [rubric.pair for rubric in rubrics if rubric.pair]
    if plan.orders and not pairs:
        raise UsageError("--orders is for rubrics that compare two responses", "Leave it out, or name such a rubric.")
    if any(plan.truncate in (*pair.swap, *pair.swap.values()) for pair in pairs):
        said = f"--truncate {plan.truncate} would cut one of the two responses that are compared"
        raise UsageError(said, "Name another input, or take a judge with a longer context.")


def _usual_judge(run: RunFile | None, rater: str | None) -> str:
    """Return the judge of the run's rater of this name, else of the run. Raises UsageError if there are several."""
    own = [(each.name, Settings.model_validate(each.spec).judge) for each in judging_raters(run)] if run else []
    named = [judge for name, judge in own if name == rater]
    judges = list(dict.fromkeys(named or [judge for _, judge in own]))
    if len(judges) > 1:
        raise UsageError(f"this run has several judges: {', '.join(judges)}", "Name one of them: --judge NAME.")
    return judges[0] if judges else USUAL_JUDGE


def _resumed_rater(rater: Rater, rubric: Rubric, registry: Registry) -> PlannedRater:
    """Return a rater of the run, with the weights that are on the disk now."""
    settings = Settings.model_validate(rater.spec)
    judge = registry.get(settings.judge)
    chat = chat_settings(judge, settings.think, settings.sampling)
    weights = checked_hash(judge, weights_folder(judge))
    now = settings.model_copy(update={"weights": weights, "chat": chat})
    return PlannedRater(rater.name, judge, rubric, now)


def _new_rater(plan: Plan, judge: JudgeSpec, rubric: Rubric, machine: Machine) -> PlannedRater:
    """Return a rater with the settings of the plan, else of the registry."""
    if plan.samples > 1 and plan.temperature == 0:
        raise UsageError(
            f"{plan.samples} samples at temperature 0 would be identical", "Give --temperature, such as 0.7."
        )
    sampling = Sampling(float(plan.temperature), seed=plan.seed or 0)
    think, engine = think_budget(plan.think, judge), engine_kind(plan.engine)
    settings = Settings(
        judge=judge.key,
        weights=checked_hash(judge, weights_folder(judge)),
        rubric=rubric.sha256,
        detail=plan.detail,
        samples=plan.samples,
        sampling=sampling,
        engine=engine.name,
        dtype=computed_in(judge, machine),
        think=think,
        chat=chat_settings(judge, think, sampling),
        orders=(plan.orders or "both") if rubric.pair else None,
        options=engine.options(judge),
    )
    return PlannedRater(plan.rater or judge.name, judge, rubric, settings)
