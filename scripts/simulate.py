"""Simulates how often intervals cover the truth, plans are reached and promises of `handover` hold.

    .venv/bin/python scripts/simulate.py [FILES] [PART ...]

Each row makes so many files from a stream of random numbers that its own name seeds, and prints the share of them in
which what the row says is true, and the share of files with such a figure. The parts are `intervals`, `several`,
`plan`, `handover` and `fitted`; without any, all of them run.
"""

import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from pathway_local.results.compare import above
from pathway_local.results.comparison import paired_difference
from pathway_local.statistics.coefficients import COEFFICIENTS, agreement_figures
from pathway_local.statistics.corrected import Correction, corrected_difference, corrected_mean, corrected_share
from pathway_local.statistics.effect import at_holm_levels, difference_effect, mean_effect, scale_mean
from pathway_local.statistics.figure import Estimate, Interval
from pathway_local.statistics.handover import hand_over
from pathway_local.statistics.human_benchmark import human_benchmark
from pathway_local.statistics.needed import labels_for_width
from pathway_local.statistics.ordinal import cross_fitted, features

Numbers = NDArray[np.float64]
Once = Callable[[np.random.Generator], bool | None]
"""Whether what a row says is true of one file; None if the file has no such figure."""
LEVELS = np.arange(1.0, 6.0)
SHARES = {
    "typical": (0.05, 0.1, 0.2, 0.35, 0.3),
    "85% fives": (0.03, 0.03, 0.03, 0.06, 0.85),
    "rare lows": (0.01, 0.01, 0.03, 0.10, 0.85),
}
CASES = 2000


def how_often(name: str, files: int, once: Once) -> tuple[float, float]:
    """Return the share of files in which it is true, of those with a figure, and the share with one."""
    rng = np.random.default_rng(list(name.encode()))
    found = [each for each in (once(rng) for _ in range(files)) if each is not None]
    return float(np.mean(found)) if found else float("nan"), len(found) / files


def covers(estimate: Estimate, truth: float) -> bool | None:
    """Return whether the interval holds the truth; None without an interval."""
    interval = estimate.interval
    return interval.low <= truth <= interval.high if isinstance(interval, Interval) else None


def students(rng: np.random.Generator, count: int, each: int, spread: float, middle: float) -> tuple[Numbers, Numbers]:
    """Return chances of the cases of students who differ by `spread` in log-odds, and each case's student."""
    who = np.repeat(np.arange(count), each)
    return 1 / (1 + np.exp(-middle - rng.normal(0, spread, count)[who])), who


def pass_rate(cases: int, rate: float, rng: np.random.Generator) -> bool | None:
    """The share of passes among single cases."""
    return covers(scale_mean((rng.random(cases) < rate).astype(float), (0.0, 1.0)), rate)


def clustered_rate(count: int, each: int, spread: float, rng: np.random.Generator) -> bool | None:
    """The share of passes among the cases of students."""
    chances, who = students(rng, count, each, spread, 2.0)
    truth = float(np.mean(1 / (1 + np.exp(-2.0 - np.random.default_rng(0).normal(0, spread, 200_000)))))
    passes = (rng.random(len(who)) < chances).astype(float)
    return covers(scale_mean(passes, (0.0, 1.0), who.astype(np.int64)), truth)


def two_means(count: int, sizes: str, rng: np.random.Generator) -> bool | None:
    """The difference of the means of two halves of the classes, of which the first may be as large as all others."""
    each = np.full(count, 6)
    each[0] = 6 if sizes == "even" else 6 * (count - 1)
    who = np.repeat(np.arange(count), each)
    scores = rng.normal(size=count)[who] + rng.normal(size=len(who))
    return covers(difference_effect(scores, who < count // 2, who.astype(np.int64)).estimate(), 0.0)


def mean_of_scores(cases: int, name: str, rng: np.random.Generator) -> bool | None:
    """The mean of single scores."""
    return covers(scale_mean(rng.choice(LEVELS, cases, p=SHARES[name]), LEVELS.tolist()), float(LEVELS @ SHARES[name]))


def two_raters(rng: np.random.Generator, name: str, cases: int) -> Numbers:
    """Return scores of cases by two raters who err, (cases, 2); "95% pass" and the like have two levels."""
    if name.endswith("pass"):
        truth = (rng.random((cases, 1)) < float(name[:2]) / 100).astype(float)
        return np.where(rng.random((cases, 2)) < 0.04, 1 - truth, truth)
    truth = rng.choice(LEVELS, (cases, 1), p=SHARES[name])
    return np.clip(np.round(truth + rng.normal((0.0, 0.2), (0.6, 0.8), (cases, 2))), 1, 5)


def levels_of(name: str) -> tuple[float, ...]:
    """Return the levels of such scores."""
    return (0.0, 1.0) if name.endswith("pass") else tuple(LEVELS.tolist())


def coefficient(figure: str, cases: int, name: str, truth: float, rng: np.random.Generator) -> bool | None:
    """A coefficient of two raters."""
    return covers(figure_of(figure, two_raters(rng, name, cases), levels_of(name)), truth)


def figure_of(figure: str, scores: Numbers, levels: Sequence[float]) -> Estimate:
    """Return a coefficient of two raters' scores (cases, 2)."""
    return agreement_figures(scores, levels, of_pairs=COEFFICIENTS[figure].of_pairs)[figure]


def a_file(rng: np.random.Generator, name: str, labels: int) -> tuple[Numbers, Numbers, Numbers, NDArray[np.int64]]:
    """Return people's scores of all cases, a generous and noisy judge's, the labels of a draw, and the draw's order."""
    truth = rng.choice(LEVELS, CASES, p=SHARES[name])
    judge = np.clip(np.round(truth + 0.3 + rng.normal(0, 0.7, CASES)), 1, 5)
    order = rng.permutation(CASES)
    return truth, judge, np.where(order < labels, truth, np.nan), order


def corrected(name: str, labels: int, strata: int, rng: np.random.Generator) -> bool | None:
    """The mean that people would give; a small stratum of worse answers has as many labels as the other."""
    truth, judge, people, order = a_file(rng, name, labels)
    rare = np.arange(CASES) >= 0.85 * CASES
    if strata > 1:
        truth, judge = (np.maximum(1, each - rare) for each in (truth, judge))
        places = [np.flatnonzero(rare == side)[np.argsort(order[rare == side])] for side in (False, True)]
        people = np.full(CASES, np.nan)
        for each in places:
            people[each[: labels // 2]] = truth[each[: labels // 2]]
    found = corrected_mean(judge, people, (1, 5), strata=rare.astype(np.int64) if strata > 1 else None)
    return covers(found.corrected, float(truth.mean())) if isinstance(found, Correction) else None


def shared_out(labels: int, rng: np.random.Generator) -> bool | None:
    """The mean that three people would give, of whom one turns the scale round and each labels a third of the cases."""
    truth = rng.choice(LEVELS, (2 * labels, 1), p=SHARES["typical"])
    people = np.clip(np.round(truth + rng.normal(0, 0.6, (2 * labels, 3))), 1, 5)
    people[:, 2] = 6 - people[:, 2]
    judge = np.clip(np.round(truth[:, 0] + 0.3 + rng.normal(0, 0.7, 2 * labels)), 1, 5)
    own = people[np.arange(2 * labels), rng.integers(0, 3, 2 * labels)]
    given = np.where(rng.permutation(2 * labels) < labels, own, np.nan)
    found = corrected_mean(judge, given, (1, 5), by_all=0)
    return covers(found.corrected, float(people.mean())) if isinstance(found, Correction) else None


def corrected_bad(name: str, labels: int, rng: np.random.Generator) -> bool | None:
    """The share of answers that people would call bad: levels 1 and 2."""
    truth, judge, people, _ = a_file(rng, name, labels)
    bad, everything = np.where(np.isnan(people), np.nan, people <= 2), np.ones(CASES, np.bool_)
    return covers(corrected_share((judge <= 2).astype(float), bad, everything), float(np.mean(truth <= 2)))


def difference(questions: int, labels: int, rng: np.random.Generator) -> bool | None:
    """The difference of two chatbots as people would see it, by a judge who likes the second; 5 questions a student."""
    first, asked = np.arange(2 * questions) < questions, np.tile(np.arange(questions), 2)
    hard = np.repeat(rng.normal(0, 0.5, questions // 5), 5) + rng.normal(0, 0.6, questions)
    people = 3.2 + hard[asked] + np.where(first, 0.2, 0.0) + rng.normal(0, 0.6, 2 * questions)
    judge = np.round(people + np.where(first, 0.0, 0.3) + rng.normal(0, 0.7, 2 * questions))
    given = np.where(rng.permutation(2 * questions) < labels, people, np.nan)
    even, once = np.full(len(judge), 2 / len(judge)), np.ones(len(judge))
    return covers(corrected_difference(judge, given, first, even, once, asked // 5)[0].estimate(), 0.2)


def ranked(count: int, rng: np.random.Generator) -> bool | None:
    """The places of four equal chatbots, by 8 choices of each student, who like some of them."""
    who = np.repeat(np.arange(count), 8)
    taste = rng.normal(0, 0.8, (count, 4))[who]
    first = rng.integers(0, 4, len(who))
    second = (first + rng.integers(1, 4, len(who))) % 4
    row = np.arange(len(who))
    wins = (rng.random(len(who)) < 1 / (1 + np.exp(taste[row, second] - taste[row, first]))).astype(float)
    pairs = list(combinations(range(4), 2))
    met = [(first == one) & (second == other) | (first == other) & (second == one) for one, other in pairs]
    won = [np.where(first[own] == one, wins[own], 1 - wins[own]) for own, (one, _) in zip(met, pairs, strict=True)]
    effects = [paired_difference(each, 1 - each, who[own]).effect for own, each in zip(met, won, strict=True)]
    told = zip(pairs, at_holm_levels(effects), strict=True)
    return not above(("abcd"[one], "abcd"[other], each) for (one, other), each in told)


def stands_in(count: int, cases: int, rng: np.random.Generator) -> bool | None:
    """None of so many judges, each too bad by the margin, is said to stand in for one of three people."""
    quality = rng.normal(size=(cases, 1))
    people = np.round(3 + quality + rng.normal(0, 0.6, (cases, 3)))
    judges = np.round(3 + quality + rng.normal(0, 0.74, (cases, count)))
    names = [str(place) for place in range(count + 3)]
    averages = human_benchmark(people, judges, 0.05, names)
    return not any(each.standing in ("better", "not worse") for each in averages)


def planned(name: str, pilot: int, points: float, rng: np.random.Generator) -> bool | None:
    """The half-width is reached with the number of labels that was planned after a pilot."""
    truth, judge, people, order = a_file(rng, name, pilot)
    found = corrected_mean(judge, people, (1, 5))
    if not isinstance(found, Correction):
        return None
    count = labels_for_width(found.pilot, points)
    again = corrected_mean(judge, np.where(order < count, truth, np.nan), (1, 5))
    interval = again.corrected.interval if isinstance(again, Correction) else None
    return isinstance(interval, Interval) and interval.high - interval.low <= 2 * points


DOUBTS: dict[str, Callable[[Numbers], Numbers]] = {
    "tells many errors": lambda doubt: 0.02 + 0.5 * doubt**2,
    "tells nothing, 10.2% wrong": lambda doubt: 0 * doubt + 0.102,
    "misleads": lambda doubt: 0.4 - 0.3 * doubt,
}
"""The chance that a judge is wrong on a case, by its doubt from 0 to 1."""


def kept_promise(name: str, labels: int, skipped: float, rng: np.random.Generator) -> bool | None:
    """At most 10% of the kept cases are wrong; raters skip a share of those where the judge errs."""
    doubt = rng.random(CASES)
    wrong = rng.random(CASES) < DOUBTS[name](doubt)
    drawn = rng.permutation(CASES) < labels
    missing = drawn & wrong & (rng.random(CASES) < skipped)
    # As `handover` does it, a drawn case that did not come back counts as wrong, and is handed over.
    chosen = hand_over(1 - doubt, np.where(drawn, wrong | missing, np.nan), 0.1).chosen
    if not chosen:
        return True
    mine = (1 - doubt >= chosen.sure) & ~drawn
    return bool(wrong[mine].sum() <= 0.1 * mine.sum() + 1e-9)


CUTS = np.array([-1.6, -0.7, 0.1, 1.0])
"""What an answer must be worth to people for each higher level."""

JUDGES = {
    "fair": (1.0, 0.0, 0.5), "too strict": (1.0, -0.9, 0.5), "too lenient": (1.0, 0.9, 0.5),
    "compressed": (0.35, 0.4, 0.2), "noisy": (0.6, 0.0, 1.1), "blind at level 1": (1.0, 0.0, 0.4),
}  # fmt: skip
"""How a judge sees worth: slope, shift and noise; a blind one takes an answer at level 1 for one at 5."""


def taught(names: Sequence[str], labels: int, each: int, rng: np.random.Generator) -> tuple[Numbers, ...]:
    """Return distances from people of the best judge and of the fitted scores, (cases,), chances, levels and clusters.

    People label the first cases, of students with so many cases each; 1,000 further cases have no label.
    """
    count = labels + 1000
    who = np.arange(count) // each
    worth = rng.normal(0, 0.6 if each > 1 else 0.0, count)[who] + rng.normal(0, 0.8 if each > 1 else 1.0, count)
    people, judges = np.digitize(worth + rng.normal(0, 0.45, count), CUTS), list[Numbers]()
    for name in names:
        slope, shift, noise = JUDGES[name]
        blind = (worth < CUTS[0]) if name.startswith("blind") else np.zeros(count, np.bool_)
        seen = np.where(blind, 1.2, slope * worth + shift) + rng.normal(0, noise, count)
        judges.append(np.diff(expit((CUTS - seen[:, None]) / 0.2), prepend=0.0, append=1.0))
    features_of = np.hstack([features(own, LEVELS, np.full(count, np.nan)) for own in judges])
    chances = cross_fitted(features_of, np.eye(5)[people] * (np.arange(count) < labels)[:, None], who)
    apart = [np.abs(own.argmax(axis=1) - people).astype(float) for own in judges]
    fitted = np.abs(np.sum(np.cumsum(chances, axis=1) < 0.5, axis=1) - people).astype(float)
    return min(apart, key=lambda own: float(own[labels:].mean())), fitted, chances, people, who


def never_worse(names: Sequence[str], labels: int, each: int, rng: np.random.Generator) -> bool | None:
    """Fitted scores are not surely further from people than the best judge's, on labels that their fits did not see."""
    best, fitted, _, _, who = taught(names, labels, each, rng)
    change = mean_effect((fitted - best)[:labels], who[:labels].astype(np.int64)).estimate().interval
    return not (isinstance(change, Interval) and change.low > 0)


def nearer(names: Sequence[str], labels: int, each: int, rng: np.random.Generator) -> bool | None:
    """Fitted scores of cases without a label are nearer to people than the best judge's, or less than 0.02 further."""
    best, fitted, *_ = taught(names, labels, each, rng)
    return bool(fitted[labels:].mean() < best[labels:].mean() + 0.02)


def calibrated(names: Sequence[str], labels: int, each: int, rng: np.random.Generator) -> bool | None:
    """The chance of level 1 or 2 is what it says within 0.08 on average, over fifths of the cases without a label."""
    _, _, chances, people, _ = taught(names, labels, each, rng)
    low = chances[labels:, :2].sum(axis=1)
    fifths = np.array_split(np.argsort(low), 5)
    return bool(np.mean([abs(low[own].mean() - np.mean(people[labels:][own] <= 1)) for own in fifths]) <= 0.08)


def rows() -> Iterator[tuple[str, str, Once]]:
    """Yield each row's part, its name and what it looks at in a file."""
    for cases, rate in ((20, 0.95), (300, 0.995)):
        yield "intervals", f"pass rate {rate:.1%}, {cases} cases", partial(pass_rate, cases, rate)
    yield "intervals", "pass rate, 15 students", partial(clustered_rate, 15, 8, 1.0)
    for count, sizes in ((8, "even"), (15, "uneven"), (40, "even")):
        yield "intervals", f"difference of means, {count} {sizes} classes", partial(two_means, count, sizes)
    yield "intervals", "mean, 85% fives, 30 cases", partial(mean_of_scores, 30, "85% fives")
    for figure, name, cases in (
        ("exact", "typical", 30), ("kappa", "95% pass", 60), ("kappa", "95% pass", 300), ("kappa", "80% pass", 60),
        ("kappa_quadratic", "typical", 30), ("kappa_quadratic", "85% fives", 150), ("alpha_ordinal", "85% fives", 150),
        ("spearman", "typical", 30),
    ):  # fmt: skip
        large = figure_of(figure, two_raters(np.random.default_rng(1), name, 400_000), levels_of(name)).value
        truth = large if isinstance(large, float) else float("nan")
        yield "intervals", f"{figure}, {name}, {cases} cases", partial(coefficient, figure, cases, name, truth)
    for name, labels, strata in (
        ("typical", 30, 1), ("85% fives", 60, 1), ("85% fives", 60, 2), ("rare lows", 60, 1), ("rare lows", 200, 1),
    ):  # fmt: skip
        said = f"corrected mean, {name}, {labels} labels{' of 2 strata' if strata > 1 else ''}"
        yield "intervals", said, partial(corrected, name, labels, strata)
    yield "intervals", "corrected mean, 200 labels of 400, shared out to 3 people", partial(shared_out, 200)
    for labels in (60, 200):
        name = f"corrected share of bad, typical, {labels} labels"
        yield "intervals", name, partial(corrected_bad, "typical", labels)
    for count in (12, 40):
        yield "intervals", f"corrected difference, {count} students, 60 labels", partial(difference, 5 * count, 60)
    for count in (12, 40):
        yield "several", f"places of 4 equal chatbots, {count} students", partial(ranked, count)
    for count in (1, 10):
        yield "several", f"{count} judges that can't stand in, 200 cases", partial(stands_in, count, 200)
    for name, pilot, points in (("typical", 30, 0.12), ("85% fives", 60, 0.1), ("rare lows", 120, 0.05)):
        yield "plan", f"half-width {points}, {name}, pilot of {pilot}", partial(planned, name, pilot, points)
    for name in DOUBTS:
        yield "handover", f"doubt {name}, 600 labels", partial(kept_promise, name, 600, 0.0)
    half = "doubt tells many errors, 400 labels, half of the errors skipped"
    yield "handover", half, partial(kept_promise, "tells many errors", 400, 0.5)
    for names in (*([name] for name in JUDGES), ["too strict", "noisy", "blind at level 1"]):
        for labels, each in ((50, 1), (120, 4), (500, 1)):
            said = names[0] if len(names) == 1 else "three judges"
            said += f", {labels} labels{' of students' if each > 1 else ''}"
            yield "fitted", f"{said}: never worse", partial(never_worse, names, labels, each)
            yield "fitted", f"{said}: nearer", partial(nearer, names, labels, each)
            yield "fitted", f"{said}: calibrated", partial(calibrated, names, labels, each)


def main(files: int, parts: Sequence[str]) -> None:
    """Print the rows of these parts, or all."""
    print(f"{files:,} files a row; a share of 0.95 is right within {1.96 * (0.95 * 0.05 / files) ** 0.5:.3f}")
    for part, name, once in rows():
        if not parts or part in parts:
            true, shown = how_often(name, files, once)
            print(f"{part:<10}{name:<68}{true:>7.3f}{shown:>7.0%}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000, sys.argv[2:])
