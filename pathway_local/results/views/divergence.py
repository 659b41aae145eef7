"""Disagreement of raters as tables."""

from collections.abc import Mapping

from pathway_local.results.divergence import Divergence, DivergenceKind, ScoreDivergence
from pathway_local.results.views.view import Remarks, TableView, View
from pathway_local.system.visible import visible

KINDS: dict[DivergenceKind, str] = {
    "agree": "all agree",
    "neighbours": "neighbouring levels",
    "apart": "further apart",
    "special": "special or not",
}


def divergence_view(found: ScoreDivergence, labels: Mapping[str, str]) -> View:
    """The patterns of one score, the cases to look at first, and the judges' labels that must stand beside them."""
    title = f"{found.rubric} {found.score}"
    if not found.cases:
        return View((), Remarks((f"{title}: no case has scores of two raters or more.",)))
    counted = []
    for kind, total in found.kinds.items():
        counted += [(KINDS[kind], total), *((f"  {name}", count) for name, count in found.patterns[kind].items())]
    rows = tuple((name, str(count), f"{count / found.cases:.0%}") for name, count in counted)
    tables = [
        TableView(f"{title}: {found.cases} cases scored by two raters or more", ("pattern", "cases", "share"), rows)
    ]
    if found.first:
        heads = ("case", "pattern", *found.raters, "mean", "spread")
        tables.append(TableView("to look at first", heads, tuple(_row(case, found) for case in found.first), 2))
    warnings = tuple(visible(f"{rater}: {labels[rater]}") for rater in found.raters if rater in labels)
    return View(tuple(tables), Remarks(warnings=(*warnings, *(visible(f"{line}.") for line in found.warnings))))


def _row(case: Divergence, found: ScoreDivergence) -> tuple[str, ...]:
    scores = [str(case.scores.get(rater, "")) for rater in found.raters]
    mean = f"{case.mean:.2f}" if case.mean is not None else "–"
    return visible(case.case), case.pattern, *scores, mean, str(case.spread) if case.spread is not None else "–"
