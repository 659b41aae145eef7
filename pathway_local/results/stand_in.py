"""Whether a judge can stand in for people: what `agreement` says first."""

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np

from pathway_local.note import Note
from pathway_local.rater import JUDGES
from pathway_local.results.agreement import ScoreAgreement
from pathway_local.results.agreement_options import Row
from pathway_local.results.table import Names
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, Interval, Reason, Undefined
from pathway_local.statistics.human_benchmark import Contrast
from pathway_local.statistics.intervals import Standing

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff (Content Analysis, 2004): rely on scores with an alpha of the first; below the second draw nothing."""

NAMED = 4
"""Figures that a sentence quotes at most."""

STANDINGS: dict[Standing, str] = {
    "better": "stands_better",
    "not worse": "stands_not_worse",
    "worse": "stands_worse",
    "can't tell": "stands_unclear",
}

Said = list[str] | Note


def stand_in(found: ScoreAgreement) -> tuple[Note, ...]:
    """Whether judges can stand in for people here, and which figure to quote; empty without raters."""
    return tuple(_Answer(found).sentences()) if any(rater.verdicts for rater in found.raters) else ()


class _Answer:
    """The people and judges of one score, and what their figures mean."""

    def __init__(self, found: ScoreAgreement) -> None:
        people, raters = found.people, found.matrix.raters
        self.found, self.people, self.repeating = found, people.names(people.reference), people.repeating
        self.no_people = people.names([at for at in people.reference if raters[at].kind in JUDGES])
        compared = [at for at in people.judges if people.benchmark or raters[at].kind in JUDGES]
        self.judges = people.names(compared)
        self.named: Said = self.judges or Note("some_judges")
        alpha = "alpha_nominal" if found.matrix.nominal else "alpha_ordinal"
        # How well several people agree among themselves.
        among = {each["members"].names: each for each in found.sets if isinstance(each["members"], Names)}
        own = among.get(tuple(self.people)) if len(self.people) > 1 else None
        self.alpha = _figure(own, alpha) if own and not (self.repeating or self.no_people) else None

    def sentences(self) -> Iterator[Note]:
        if not self.people:
            key = "nobody_named" if self.found.options.rater else "nobody_scored"
            why = Note("no_ratings_count" if any(rater.kind == "human" for rater in self.found.raters) else key)
            yield Note("nobody_shows", {"why": why, "judges": self.named})
            if len(self.judges) > 1:
                yield Note("wrong_together")
        elif self.no_people:
            told = {"names": self.no_people, "count": len(self.no_people), "judges": self.named}
            yield Note("reference_is_judge", told)
            yield from self._quoted_pairs()
        else:
            tested = self.found.people.benchmark
            yield from self._standings(tested) if tested else self._untested()
            yield from self._bias()
            yield from [*self.found.answers.values()][:1]  # two estimates of one thing would confuse
            yield from self._quoted_benchmark(tested) if tested else self._quoted_pairs()
        if self.alpha and not isinstance(self.alpha.value, Undefined):
            told = {"count": len(self.people), "reliable": RELIABLE, "tentative": TENTATIVE}
            yield Note("among_people", told | {"alpha": self.alpha})

    def _standings(self, found: tuple[Contrast, ...]) -> Iterator[Note]:
        grouped: dict[Standing, list[str]] = {}
        for judge, contrast in zip(self.judges, found, strict=True):
            if isinstance(contrast.first.value, Undefined) and not isinstance(contrast.second.value, Undefined):
                yield Note("standing_constant", {"judge": judge, "reason": contrast.first.value})
            elif isinstance(contrast.difference.value, Undefined):
                yield Note("standing_unknown", {"judge": judge, "reason": contrast.difference.value})
            else:
                grouped.setdefault(contrast.standing, []).append(judge)
        if self.alpha and isinstance(self.alpha.value, float) and self.alpha.value < TENTATIVE:
            surely = isinstance(self.alpha.interval, Interval) and self.alpha.interval.high < TENTATIVE
            if judges := [*grouped.pop("better", ()), *grouped.pop("not worse", ())]:
                yield Note("people_disagree" if surely else "people_may_disagree", {"judges": judges})
        for standing, judges in grouped.items():
            told = {"judges": judges, "count": len(judges), "margin": self.found.options.margin}
            yield Note(STANDINGS[standing], told)

    def _untested(self) -> Iterator[Note]:
        """Yield which judges can't stand in because they tell no cases apart, and why nothing shows of the others."""
        constant = dict(self._constant())
        for judge, reason in constant.items():
            yield Note("standing_constant", {"judge": judge, "reason": reason})
        others = [judge for judge in self.judges if judge not in constant]
        if others or not constant:
            yield self._why_untested(others)

    def _constant(self) -> Iterator[tuple[str, Reason]]:
        """Yield the judges that gave one score to all cases, though people gave several to these."""
        matrix = self.found.matrix
        people = matrix.given[:, self.found.people.reference]
        for judge in self.judges:
            own = matrix.given[:, matrix.columns(judge)[0]]
            given = np.unique(own[np.isfinite(own)])
            if len(given) == 1 and len(np.unique(people[np.isfinite(own)[:, None] & np.isfinite(people)])) > 1:
                yield judge, Reason("{rater} gave {value:g} every time", rater=judge, value=float(given[0]))

    def _why_untested(self, judges: Sequence[str]) -> Note:
        told: dict[str, object] = {"people": self.people, "judges": judges, "raters": self.repeating}
        if not self.judges:
            return Note("people_alone" if self.found.options.rater else "no_judge_people_alone", told)
        one = "untested_one" if len(self.people) == 1 else "untested_nominal"
        return Note("untested_repeating" if self.repeating else one, told)

    def _pairs(self, first: Sequence[str], second: Sequence[str]) -> list[Row]:
        return [pair for pair in self.found.pairs if pair["first"] in first and pair["second"] in second]

    def _bias(self) -> Iterator[Note]:
        """Name judges that score lower, or higher, than each of the people: correlations don't show it."""
        answers = self.found.answers
        for judge in self.judges:
            remedy = Note("mean_is_corrected" if judge in answers else "sample_can_correct")
            own = [_figure(pair, "mean_difference") for pair in self._pairs([judge], self.people)]
            ends = [each.interval for each in own if each and isinstance(each.interval, Interval)]
            values = [each.value for each in own if each and not isinstance(each.value, Undefined)]
            for side, name in ((-1, "lower"), (1, "higher")):
                if ends and len(ends) == len(own) and all(side * end.low > 0 < side * end.high for end in ends):
                    told = {"judge": judge, "person": self.people[0], "points": min(abs(value) for value in values)}
                    key = "apart_from_one" if len(own) == 1 else "apart_from_each"
                    yield Note(key, told | {"side": Note(name), "remedy": remedy})

    def _quoted_benchmark(self, found: tuple[Contrast, ...]) -> Iterator[Note]:
        if all(isinstance(figure.value, Undefined) for each in found for figure in (each.first, each.second)):
            yield from self._quoted_pairs()
            return
        said = zip(self.judges, found, strict=True)
        figures = _figures((judge, each.first) for judge, each in said)
        told = {"figure": COEFFICIENTS["spearman"].label, "figures": figures}
        yield Note("quote_benchmark", told | {"person": found[0].second})

    def _quoted_pairs(self) -> Iterator[Note]:
        among = [] if self.repeating else self._pairs(self.people, self.people)
        pairs = [*self._pairs(self.judges, self.people), *self._pairs(self.people, self.judges), *among]
        name = "kappa" if self.found.matrix.nominal else "kappa_quadratic"
        off = {rater.name for rater in self.found.raters if not rater.on_scale}
        if not all(off.isdisjoint((pair["first"], pair["second"])) for pair in pairs):
            name = "spearman"
        figures = [(f"{pair['first']} – {pair['second']}", _figure(pair, name)) for pair in pairs]
        if self.judges and any(each and not isinstance(each.value, Undefined) for _, each in figures):
            yield Note("quote_pairs", {"figure": COEFFICIENTS[name].label, "figures": _figures(iter(figures))})


def _figure(row: Row, name: str) -> Estimate | None:
    found = row.get(name)
    return found if isinstance(found, Estimate) else None


def _figures(named: Iterator[tuple[str, Estimate | None]]) -> Note:
    figures = [Note("figure_of", {"name": name, "estimate": estimate}) for name, estimate in islice(named, NAMED)]
    rest = sum(1 for _ in named)
    return Note("figures_and_more" if rest else "figures", {"figures": figures, "more": rest})
