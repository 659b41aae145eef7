"""Every analysis of a run by the name of its command. A further one is its module and a line here."""

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathway_local.results.analysis import Analysis


@dataclass(frozen=True, slots=True)
class Listed:
    """The module that holds an `ANALYSIS`, and one line for a list of commands."""

    module: str
    says: str

    def load(self) -> "Analysis[Any]":
        """Import the analysis."""
        found: Analysis[Any] = import_module(self.module).ANALYSIS
        return found


ANALYSES = {
    "summary": Listed("pathway_local.results.summary", "Show the scores, confidence and failures of a run."),
    "agreement": Listed("pathway_local.results.agreement_tables", "Show how well judges and people agree."),
    "compare": Listed(
        "pathway_local.results.compare", "Show which of two chatbots scores higher on the same questions."
    ),
    "handover": Listed(
        "pathway_local.results.handover", "Choose which cases a judge keeps and which people rate, with a promise."
    ),
    "plan": Listed("pathway_local.results.planning", "Plan how many labels, questions or students a figure needs."),
}
