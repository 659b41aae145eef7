"""Helps a person to choose a judge: shows its entry, whether its weights are here, and whether it fits."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import JsonValue

from pathway_local.errors import EngineError, EngineMissing, WeightsMissing
from pathway_local.judges.judge_spec import JudgeSpec
from pathway_local.judges.placement import Placement, check_fits_here, smallest_gpu
from pathway_local.judges.registry import Registry, weights_folder
from pathway_local.system.machine import Machine


@dataclass(frozen=True, slots=True)
class JudgeCard:
    """A judge on this machine: its folder, if its weights are here, and where it runs, or why it can't."""

    spec: JudgeSpec
    folder: Path | None
    placed: Placement | EngineError

    @property
    def fits(self) -> str:
        """Whether it runs here, in a word or two."""
        if isinstance(self.placed, Placement):
            return "yes"
        return "no GPU" if isinstance(self.placed, EngineMissing) else "no"

    @property
    def entry(self) -> dict[str, JsonValue]:
        """The entry's keys that say something, as a file of YAML holds them."""
        told = self.spec.model_dump(mode="json", exclude={"name", "origin"}, exclude_none=True)
        told |= {"thinking": told.get("thinking", self.spec.thinks), "min_gpu_gb": smallest_gpu(self.spec) or ""}
        return {key: value for key, value in told.items() if value not in ("", [], {})}


def judge_card(spec: JudgeSpec, machine: Machine) -> JudgeCard:
    """Return the card of one judge."""
    folder = None
    try:
        with suppress(WeightsMissing):
            folder = weights_folder(spec)
        return JudgeCard(spec, folder, check_fits_here(spec, machine))
    except EngineError as error:
        return JudgeCard(spec, folder, error)


def judge_cards(registry: Registry, machine: Machine) -> Iterator[JudgeCard]:
    """Yield the cards of all judges in the registry's order; if a folder is broken, the card shows the entry only."""
    for name, entry in registry.specs.items():
        try:
            yield judge_card(registry.get(name), machine)
        except EngineError as error:
            yield JudgeCard(entry, None, error)
