"""A corrected mean as a table and words."""

from pathway_local.results.calibration import Calibration
from pathway_local.results.views.cells import Cells, number
from pathway_local.results.views.view import Remarks, TableView, View, hidden_groups, several_looks
from pathway_local.statistics.figure import Estimate, Undefined
from pathway_local.statistics.prediction_powered import Correction
from pathway_local.system.visible import visible

HEADS = ("cases", "labelled", "mean expected score", "labels only", "corrected", "labels to halve it")
DRAWN = "The labels were drawn case by case, so it does not matter here which cases belong together."
ASSUMED = "This takes the labels as drawn case by case, so it does not matter here which cases belong together."


def calibration_view(found: Calibration) -> View:
    """The means of one judge on one score, and remarks about them."""
    cells, plan = Cells(), found.plan
    rows = [_row(visible(part.name) or "all cases", part.cases, part.mean, cells) for part in found.parts]
    for part in found.parts:
        if part.special is not None:
            rows.append(_row(f"{visible(part.name) or 'all cases'}: special", part.cases, part.special, cells))
    title = f"{found.rubric} {found.score}: {found.judge} corrected by {plan.against}"
    notes = [*(f"{notice}." for notice in found.notices), *several_looks(plan.looks)]
    warnings = [f"{warning}." for warning in found.warnings]
    for part in found.parts:
        if isinstance(part.mean, Correction):
            where = f"{part.name}: " if part.name else ""
            if part.mean.without_verdict:
                notes.append(f"{where}{part.mean.without_verdict:,} cases without a score by {found.judge} stay in.")
            warnings += [f"{where}{warning}." for warning in part.mean.warnings]
    if found.hidden:
        notes.append(f"{hidden_groups(found.hidden, plan.by, plan.smallest)}.")
    said = (
        cells.sentences(plan.cluster)
        if plan.target == "population"
        else cells.sentences("", DRAWN if found.sample else ASSUMED)
    )
    sentences = (*said, _meaning(found))
    table = TableView(title, (plan.by, *HEADS), tuple(rows))
    return View((table,), Remarks(sentences, tuple(notes), tuple(warnings)), cells.footnotes())


def _row(name: str, cases: int, found: Correction | Undefined, cells: Cells) -> tuple[str, ...]:
    if isinstance(found, Undefined):
        return name, f"{cases:,}", "", "", "", cells.cell(Estimate(found, found)), ""
    more = found.more_labels
    return (
        name,
        f"{cases:,}",
        f"{found.labelled:,}",
        number(found.judge_mean),
        cells.cell(found.labels_only),
        cells.cell(found.corrected),
        cells.mark(f"no number of labels halves the interval, because {more.reason}")
        if isinstance(more, Undefined)
        else f"{more:,} more",
    )


def _meaning(found: Calibration) -> str:
    whole = "these cases" if found.plan.target == "file" else "the population that these cases are a random sample of"
    return (
        f"Mean expected score: of {found.judge}, by its probabilities; `summary` shows the mean of the scores given. "
        f"Corrected: the mean that {found.plan.against} would give to {whole}; other people may be stricter, and the "
        "interval does not include that. A worse judge makes the interval wider, not wrong."
    )
