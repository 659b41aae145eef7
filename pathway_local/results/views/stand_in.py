"""A few plain sentences that answer what most people ask of agreement: can the judge stand in for us here?"""

import shlex
from collections.abc import Iterator, Sequence
from itertools import islice

from pathway_local.rater import JUDGES, REPEATS, raters_named
from pathway_local.results.against_people import JudgesAndPeople
from pathway_local.results.agreement import Pair, ScoreAgreement
from pathway_local.results.views.cells import interval, number
from pathway_local.statistics.coefficients import COEFFICIENTS
from pathway_local.statistics.figure import Estimate, Interval, Undefined
from pathway_local.statistics.human_benchmark import Contrast
from pathway_local.statistics.intervals import Standing

RELIABLE, TENTATIVE = 0.8, 0.667
"""Krippendorff (Content Analysis, 2004): rely on scores with an alpha of the first; below the second draw nothing."""

LABELS = 50
"""Cases that people should rate at least: with fewer, intervals are mostly too wide to decide anything."""

NAMED = 4
"""Figures that a sentence quotes at most."""

STANDINGS: dict[Standing, str] = {
    "better": "can stand in for one of these people: {they} agreed better with the others than a person does.",
    "not worse": "can stand in for one of these people: {they} agreed with the others as well as a person does, within "
    "the margin of {margin:g}.",
    "worse": "can't stand in for these people: {they} agreed less with the others than a person does.",
    "can't tell": "may or may not be fit to stand in for one of these people: the data do not show it.",
}


def stand_in(found: ScoreAgreement) -> tuple[str, ...]:
    """Whether judges can stand in for people here, which figure to quote, and what would help; empty without raters."""
    return tuple(_Answer(found).sentences()) if any(rater.verdicts for rater in found.raters) else ()


class _Answer:
    """The people and judges of one score, and what their figures mean."""

    def __init__(self, found: ScoreAgreement) -> None:
        self.found = found
        scored = [rater for rater in found.raters if rater.verdicts]
        humans = [rater.name for rater in scored if rater.kind == "human"]
        against = found.plan.against
        self.people = raters_named(against, [rater.name for rater in scored]) if against else humans
        self.no_people = [rater.name for rater in scored if rater.name in self.people and rater.kind in JUDGES]
        self.repeating = [rater.name for rater in scored if rater.name in self.people and rater.kind in REPEATS]
        own = [rater.name for rater in scored if rater.kind in JUDGES and rater.name not in self.people]
        self.judges = list(found.people.benchmark.judges) if found.people.benchmark else own
        together = (each for each in found.sets if set(each.members) == set(self.people) and len(self.people) > 1)
        alphas = (each.found.figures[self.alpha_name] for each in together)
        self.alpha = None if self.repeating or self.no_people else next(alphas, None)

    def sentences(self) -> Iterator[str]:
        if not self.people:
            yield f"{self._why_nobody()}, so nothing here shows whether {_names(self.judges)} can stand in for people."
            if len(self.judges) > 1:
                yield "Judges that agree with each other may be wrong together: no figure here proves them right."
        elif self.no_people:
            kind = "is a judge" if len(self.no_people) == 1 else "are judges"
            yield (
                f"{_names(self.no_people)} {kind}, so nothing here shows whether {_names(self.judges)} can stand in "
                "for people."
            )
            yield from self._quoted_pairs()
        elif self.found.people.benchmark:
            yield from self._standings(self.found.people.benchmark)
            yield from self._bias()
            yield self._quoted_benchmark(self.found.people.benchmark)
        else:
            yield self._why_untested()
            yield from self._bias()
            yield from self._quoted_pairs()
        if self.alpha:
            yield self._among(self.alpha)
        if said := self._help():
            yield said

    def _why_nobody(self) -> str:
        if any(rater.kind == "human" for rater in self.found.raters):
            return "No ratings of people count here"
        return f"No people {'are among the raters that you named' if self.found.plan.raters else 'have scored'}"

    @property
    def alpha_name(self) -> str:
        return "alpha_nominal" if self.found.nominal else "alpha_ordinal"

    @property
    def people_disagree(self) -> bool:
        value = self.alpha.value if self.alpha else Undefined("")
        return not isinstance(value, Undefined) and value < TENTATIVE

    def _standings(self, found: JudgesAndPeople) -> Iterator[str]:
        grouped: dict[Standing, list[str]] = {}
        for judge, contrast in zip(found.judges, found.benchmark.averages, strict=True):
            if isinstance(contrast.difference.value, Undefined):
                reason = contrast.difference.value.reason
                yield f"Nothing shows whether {judge} can stand in for people, because {reason}."
            else:
                grouped.setdefault(contrast.standing, []).append(judge)
        if self.people_disagree and (judges := [*grouped.pop("better", ()), *grouped.pop("not worse", ())]):
            yield (
                f"{_names(judges)} agreed with these people as well as a person does, but they agree too little among "
                "themselves for that to say much."
            )
        for standing, judges in grouped.items():
            they = "it" if len(judges) == 1 else "they"
            yield f"{_names(judges)} {STANDINGS[standing].format(they=they, margin=self.found.people.margin)}"

    def _why_untested(self) -> str:
        if not self.judges:
            none = "" if self.found.plan.raters else "No judge has scores here: "
            return f"{none}{'t' if none else 'T'}hese figures are about {_names(self.people)} alone."
        if self.repeating:
            return (
                f"Nothing shows yet whether {_names(self.judges)} can stand in for people: the scores of "
                f"{_names(self.repeating)} rest on other raters', so people's own agreement is unknown."
            )
        if len(self.people) == 1:
            return (
                f"Nothing shows yet whether {_names(self.judges)} can stand in for people: only {self.people[0]} is "
                "compared, so people's own agreement is unknown."
            )
        return (
            f"The levels have no order, so there is no test of whether {_names(self.judges)} can stand in for people: "
            "compare the judges' kappa with people to the kappa of people among themselves."
        )

    def _pairs(self, first: Sequence[str], second: Sequence[str]) -> list[Pair]:
        return [pair for pair in self.found.pairs if pair.first.name in first and pair.second.name in second]

    def _bias(self) -> Iterator[str]:
        """Name judges that score lower, or higher, than each of the people: correlations don't show it."""
        for judge in self.judges:
            own = [pair.agreement.figures.get("mean_difference") for pair in self._pairs([judge], self.people)]
            ends = [each.interval for each in own if each and isinstance(each.interval, Interval)]
            values = [each.value for each in own if each and not isinstance(each.value, Undefined)]
            for side, said in ((-1, "lower"), (1, "higher")):
                if ends and len(ends) == len(own) and all(side * end.low > 0 < side * end.high for end in ends):
                    least = min(abs(value) for value in values)
                    than = self.people[0] if len(own) == 1 else "each of these people"
                    more = "" if len(own) == 1 else " or more"
                    points = f"{least:.2f} points{more}"
                    yield f"On average {judge} scores {said} than {than}, by {points}; {self._correct(judge)}."

    def _correct(self, judge: str) -> str:
        """Say how to correct a judge's mean, with a command if the run holds what it needs."""
        found = self.found
        if not found.sampled:
            return "people's labels of a random sample (`sample`) can correct its mean"
        options = ["--against", found.sampled, "--judge", judge, "--rubric", found.rubric]
        command = shlex.join(["pathway-local", "calibrate", str(found.path), *options])
        return f"`{command}` corrects its mean"

    def _quoted_benchmark(self, found: JudgesAndPeople) -> str:
        said = zip(found.judges, found.benchmark.averages, strict=True)
        judges = ((judge, each.first) for judge, each in said)
        person: Contrast = found.benchmark.averages[0]
        figure = COEFFICIENTS[found.benchmark.figure].label
        return (
            f"Quote {figure} with the mean of the other people: {_figures(judges)}; the average person "
            f"{_figure(person.second)}."
        )

    def _quoted_pairs(self) -> Iterator[str]:
        name = "kappa" if self.found.nominal else "kappa_quadratic"
        among = [] if self.repeating else self._pairs(self.people, self.people)
        pairs = [*self._pairs(self.judges, self.people), *self._pairs(self.people, self.judges), *among]
        if pairs and self.judges:
            figures = ((f"{pair.first.name} – {pair.second.name}", pair.agreement.figures[name]) for pair in pairs)
            yield f"Quote {COEFFICIENTS[name].label}, with exact agreement beside it: {_figures(figures)}."

    def _among(self, alpha: Estimate) -> str:
        label = COEFFICIENTS[self.alpha_name].label
        asked = f"Krippendorff relies on scores from {RELIABLE:.2f} on, and never below {TENTATIVE:.2f}"
        return f"Among themselves these {len(self.people)} people reach {label} {_figure(alpha)}; {asked}."

    def _help(self) -> str:
        if not self.people and self.found.plan.raters:
            return "To find out, name people as well, with --rater or --against."
        if not self.people:
            return f"To find out, draw cases with `sample` and let two people or more rate the same {LABELS} or more."
        if self.repeating and self.judges:
            return "To find out, compare with two people or more who each rated the same cases alone."
        if self.no_people:
            return "To find out, compare with people who rated the same cases."
        if len(self.people) == 1:
            return "To find out, compare with a second person who rated the same cases."
        if self.people_disagree:
            said = "First agree on what the levels mean: `read --by disagreement` lists the cases"
            return f"{said} on which people disagree."
        if not self.judges and self.found.plan.raters:
            return ""
        if not self.judges:
            return "Let a judge score the same cases: these ratings then show how far to trust it."
        benchmark = self.found.people.benchmark
        averages = benchmark.benchmark.averages if benchmark else ()
        unclear = [each for each in averages if each.standing == "can't tell"]
        if benchmark and any(isinstance(each.difference.interval, Interval) for each in unclear):
            cases = max(left.cases for left in benchmark.benchmark.left_out)
            return (
                "If several people are to rate more cases, decide beforehand how many: four times these "
                f"{cases:,} halve the intervals."
            )
        if averages and all(each.standing in ("better", "not worse") for each in averages):
            return "Rate a fresh sample when the rubric, the judge or the chatbots change."
        return (
            "To improve, read where they disagree (`read --by disagreement`), then change the rubric's words or the "
            "judge."
        )


def _names(names: Sequence[str]) -> str:
    if not names:
        return "judges"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _figures(named: Iterator[tuple[str, Estimate]]) -> str:
    said = [f"{name} {_figure(estimate)}" for name, estimate in islice(named, NAMED)]
    rest = sum(1 for _ in named)
    return ", ".join(said) + (f" and {rest} more in the tables" if rest else "")


def _figure(estimate: Estimate) -> str:
    ends = interval(estimate.interval)
    return f"{number(estimate.value)} ({ends})" if ends else number(estimate.value)
