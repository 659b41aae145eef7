"""Comparisons of two chatbots as one table, as words, and as figures with those words."""

from collections.abc import Iterator, Sequence

from pathway_local.results.comparison import Comparison, PairedComparison
from pathway_local.results.corrected_comparison import CorrectedComparison
from pathway_local.results.figure_row import FigureRow
from pathway_local.results.pairing import Pairing
from pathway_local.results.views.cells import ALONE, Cells
from pathway_local.results.views.view import Remarks, TableView, View, several_looks
from pathway_local.statistics.figure import Estimate, Interval, Undefined, percent, undefined_estimate
from pathway_local.statistics.intervals import LEVEL
from pathway_local.verdict import Value

UNEVEN = 0.5
"""Effective clusters per cluster below which a note says that they are uneven."""


QUESTIONS = (
    "Each question counts as independent; if a student or a conversation asked several, name the column with --cluster."
)
UNCLEAR = "the data do not show which is better"


class WordedComparison:
    """A comparison as files of figures and JSON hold it: with its sentence."""

    def __init__(self, found: Comparison) -> None:
        self.found = found
        self.rubric, self.score = found.rubric, found.score

    def rows(self) -> Iterator[FigureRow]:
        """The difference as a row, and what people's labels make of it as two more."""
        each, found = self.found, self.found.found
        facts: dict[str, Value] = {"rater": each.rater}
        if isinstance(found, Undefined):
            estimate = undefined_estimate(found.reason)
        else:
            estimate = found.difference
            if each.plan.pair_by:
                facts |= {"pairs": found.pairs, "wins": found.wins, "ties": found.ties, "losses": found.losses}
            for place, side in (("first", each.first), ("second", each.second)):
                facts |= {f"{place}_cases": side.cases, f"{place}_scored": side.scored}
        facts |= {"unpaired": each.unpaired, "margin": each.plan.margin, "family": each.family}
        facts["sentence"] = _sentence(each)
        names, raters = (each.first.name, each.second.name), (each.rater,)
        yield FigureRow("compare", "mean_difference", estimate, *names, facts=facts, raters=raters)
        corrected = each.corrected
        if isinstance(corrected, Undefined):
            estimate = undefined_estimate(corrected.reason)
            yield FigureRow("compare", "corrected_difference", estimate, *names, facts={"rater": each.rater})
        elif corrected:
            labels = corrected.found.labels
            facts = {"rater": each.rater, "pairs": corrected.questions, "sample": corrected.seed}
            facts |= {"first_labels": labels[0], "second_labels": labels[1], "slope": corrected.found.slope}
            alone = corrected.found.labels_only.estimate()
            yield FigureRow("compare", "labels_only_difference", alone, *names, facts=facts)
            facts |= {"margin": each.plan.margin, "family": corrected.family}
            facts["sentence"] = _corrected_sentence(each, corrected)
            yield FigureRow("compare", "corrected_difference", corrected.difference, *names, facts=facts, raters=raters)

    def as_json(self) -> dict[str, Value]:
        """The first row with the column of clusters, and the others."""
        row, *others = (row.as_json() for row in self.rows())
        plan = self.found.plan
        named = {"rubric": self.rubric, "score": self.score, "pair_by": plan.pair_by or None}
        return named | {"cluster_by": plan.cluster or None} | row | {"corrected": [*others]}


def comparison_view(found: Sequence[Comparison]) -> View:
    """A row for each score and rater, and a sentence for each; `found` has at least one."""
    cells = Cells()
    first, second = found[0].first.name, found[0].second.name
    counts = ["pairs", f"{first} higher", "same", f"{second} higher"] if found[0].plan.pair_by else [first, second]
    heads = ["rubric", "score", "rater", *counts, f"{first} − {second}"]
    by_people = any(each.corrected for each in found)
    heads += ["corrected by people"] if by_people else []
    rows = tuple((*_row(each, cells), *([_corrected_cell(each, cells)] if by_people else [])) for each in found)
    remarks = [comparison_remarks(each) for each in found]
    where = [f"{each.rubric} {each.score}: " for each in found]
    sentences = [f"{at}{line}" for at, each in zip(where, remarks, strict=True) for line in each.sentences]
    notes = tuple(f"{at}{line}" for at, each in zip(where, remarks, strict=True) for line in each.notes)
    table = TableView(f"{first} against {second}, {_paired(found[0].plan.pairing)}", tuple(heads), rows, 3)
    made = [
        *cells.sentences(found[0].plan.cluster, QUESTIONS if found[0].plan.pair_by else ALONE),
        *_family(max(each.family for each in found)),
    ]
    warnings = dict.fromkeys(line for each in remarks for line in each.warnings)
    said = Remarks((*made, *sentences), notes, tuple(warnings))
    return View((table,), said, cells.footnotes())


def _paired(by: Pairing) -> str:
    counts = f": {by.shared:,} of {by.different:,} shared" if by.texts is not None else ""
    return f"paired by {by.name}{counts}" if by.name else "not paired"


def _family(size: int) -> list[str]:
    if size < 2:
        return []
    return [
        f"This command tests {size} differences, so the intervals are wider (Holm's levels): if both were "
        "scored alike, at least one of them would exclude zero in 5% of the files. To test fewer, name the --rubric "
        "and --rater that you chose beforehand."
    ]


def comparison_remarks(each: Comparison) -> Remarks:
    """Say how one rater's scores compare, and which questions and answers do not count."""
    notes = []
    if not isinstance(each.found, Undefined):
        if each.unpaired or each.first.scored < each.first.cases or each.second.scored < each.second.cases:
            sides = (each.first, each.second)
            covered = " and ".join(f"{side.scored:,} of {side.cases:,} answers of {side.name}" for side in sides)
            notes.append(f"{each.rater} scored {covered}.")
            if each.plan.pair_by:
                notes.append(f"{each.unpaired:,} questions have a score on one side only and are left out.")
        if each.several:
            notes.append(f"{each.several:,} questions have several answers of one side: their mean counts.")
        notes += _uneven(each.found, each.plan.cluster)
    notes += [each.plan.pairing.note] if each.plan.pairing.note else []
    if isinstance(each.corrected, Undefined):
        notes.append(f"People's labels can't correct this, because {each.corrected.reason}.")
    said = [_corrected_sentence(each, each.corrected)] if isinstance(each.corrected, CorrectedComparison) else []
    notes += several_looks(each.plan.looks)
    return Remarks((_sentence(each), *said), tuple(notes), tuple(f"{line}." for line in each.warnings))


def _uneven(found: PairedComparison, cluster: str) -> list[str]:
    interval = found.difference.interval
    if not cluster or isinstance(interval, Undefined) or found.effective > interval.clusters * UNEVEN:
        return []
    return [
        f"A few values of {cluster} have most of the questions: the {interval.clusters:,} of them tell as much as "
        f"about {found.effective:.0f} with equally many questions, and the interval allows for that."
    ]


def _sentence(each: Comparison) -> str:
    a, b = each.first.name, each.second.name
    missing = f"By {each.rater}, {a} and {b} can't be compared, because"
    if isinstance(each.found, Undefined):
        return f"{missing} {each.found.reason}."
    if isinstance(each.found.difference.value, Undefined):
        return f"{missing} {each.found.difference.value.reason}."
    finding = _finding(each, each.found.difference, each.found.pairs, each.family, each.rater)
    return f"By {each.rater}, {finding}"


def _corrected_sentence(each: Comparison, corrected: CorrectedComparison) -> str:
    """Say how people would compare the chatbots; this is the sentence to quote."""
    if isinstance(corrected.difference.value, Undefined):
        return f"People's labels can't correct {each.rater}, because {corrected.difference.value.reason}."
    count = sum(corrected.found.labels)
    rated = f"{count:,} of people's {corrected.rated:,}" if count < corrected.rated else f"people's {count:,}"
    labels = f"{rated} labels (sample with seed {corrected.seed})"
    finding = _finding(each, corrected.difference, corrected.questions, corrected.family)
    return f"By {each.rater}, corrected by {labels}, {finding}"


def _wider(interval: Interval, family: int, looks: int) -> str:
    """Why an interval is wider than one for a single test; empty if it is not."""
    if percent(interval.level) == percent(LEVEL):
        return ""
    because = [f"{family} comparisons"] if family > 1 else []
    return f", wider because of {' and '.join([*because, *([f'{looks} looks'] if looks > 1 else [])])},"


def _finding(each: Comparison, found: Estimate, questions: int, family: int, rater: str = "") -> str:
    """Say the difference and what it shows: which side the `rater` scores higher, or without one, which is better."""
    a, b, difference, interval = each.first.name, each.second.name, found.value, found.interval
    assert not isinstance(difference, Undefined), "callers say why there is no difference"
    apart = f"{abs(difference):.2f} points {'above' if difference > 0 else 'below'}"
    of = f"{questions:,} questions" if each.plan.pair_by else f"{each.first.scored:,} and {each.second.scored:,} cases"
    means = f"on {of} {a} scores {apart if round(difference, 2) else 'as high as'} {b}"
    if isinstance(interval, Undefined):
        return f"{means} on average; there is no interval, because {interval.reason}."
    wider = _wider(interval, family, each.plan.looks)
    sure = f"{percent(interval.level)} interval{wider} of {a} minus {b}: {interval.low:.2f} to {interval.high:.2f}"
    shown = _which_is_better(a, b, interval, each.plan.margin, rater)
    return f"{means} on average ({sure}): {shown}."


def _corrected_cell(each: Comparison, cells: Cells) -> str:
    if isinstance(each.corrected, CorrectedComparison):
        return cells.cell(each.corrected.difference)
    return cells.cell(Estimate(each.corrected, each.corrected)) if each.corrected else ""


def _which_is_better(a: str, b: str, interval: Interval, margin: float, rater: str) -> str:
    """Say which side an interval shows ahead. Only people's labels say which is better, a `rater` scores it higher."""
    near = -margin < interval.low and interval.high < margin
    if interval.low > 0 or interval.high < 0:
        though = f", though by less than the margin of {margin:g}" if near else ""
        ahead = a if interval.low > 0 else b
        return (f"{rater} scores {ahead} higher" if rater else f"{ahead} is better") + though
    if near:
        neither = f"{rater} scores neither higher" if rater else "neither is better"
        return f"{neither} than the other by the margin of {margin:g}"
    unclear = f"the data do not show which of them {rater} scores higher" if rater else UNCLEAR
    if margin and (interval.low > -margin or interval.high < margin):
        behind = a if interval.low > -margin else b
        not_worse = f"{rater} does not score {behind} lower" if rater else f"{behind} is not worse"
        return f"{not_worse} by the margin of {margin:g}, but {unclear}"
    return unclear


def _row(each: Comparison, cells: Cells) -> tuple[str, ...]:
    names = (each.rubric, each.score, each.rater)
    sides = (each.first.scored, each.second.scored)
    if isinstance(each.found, Undefined):
        return *names, *[""] * (4 if each.plan.pair_by else 2), cells.cell(Estimate(each.found, each.found))
    paired = (each.found.pairs, each.found.wins, each.found.ties, each.found.losses)
    counts = paired if each.plan.pair_by else sides
    return *names, *(f"{count:,}" for count in counts), cells.cell(each.found.difference)
