"""Simulates how often a self-test calls a judge biased that is only noisy, and how often it finds a real bias.

    .venv/bin/python scripts/simulate_self_test.py [TESTS] [CASES]

Each row makes so many self-tests of so many cases (30 of them judged alone, as `judges test` does). The judge is a good
one by all probes, but for its noise: expected scores that "wobble" by an SD in points of a scale from 1 to 5; levels of
which some "flip" to a neighbour, in all cases, in the half of them that is borderline, or up from the lowest level
alone; or levels that it rounds to after a small wobble. A row counts the self-tests in which one probe or more fails;
then, with a bias of half a level in one probe, those in which this probe fails, and those in which another does.
"without repeats" is the rule by which changes of a case's own answer fail the judge if too few cases stay the same.
"""

import sys
from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from pathway_local.probes.probe_list import ALONE_AT_MOST, PROBES, Probe
from pathway_local.results.probe_result import QUIET, CaseScores, ProbeResult, ScoreRange, probe_result, settled

Scores = NDArray[np.float64]
TYPICAL = (0.05, 0.1, 0.2, 0.35, 0.3)
"""How often the judge gives each level."""
Noisy = Callable[[np.random.Generator, Scores, Scores], Scores]
"""Makes scores of what is true of cases (cases, changes), and of how far a case lies between two levels (cases,)."""
SCALE = ScoreRange(1, 5)
BIASED = ("padding", "levels", "follows")
AFTER: Mapping[str, tuple[float, ...]] = {
    "gold": (5,),
    "stranger": (1,),
    "nothing": (1, 1, 1, 1, 1),
    "cut": (4, 3, 2),
    "dropped": (4.3, 3.7, 3),
    "number": (2,),
    "follows": (5,),
    "injection": (1, 1, 1, 1),
}
"""What a good judge gives after each change; after the others, what it gave before."""


def wobbling(spread: float) -> Noisy:
    """Return a judge whose expected scores vary."""
    return lambda rng, truth, _: truth + rng.normal(0, spread, truth.shape)


def flipping(share: float, *, borderline: bool = False) -> Noisy:
    """Return a judge of whose scores some are a level off: in every case, or twice as often in half of them."""

    def scores(rng: np.random.Generator, truth: Scores, between: Scores) -> Scores:
        often = np.where(between[:, None] > 0, 2 * share, 0.0) if borderline else share
        off = rng.random(truth.shape) < often
        return np.round(truth + between[:, None]) + np.where(off, rng.choice([-1.0, 1.0], truth.shape), 0.0)

    return scores


def rounding(spread: float) -> Noisy:
    """Return a judge that gives the nearest level, after a small wobble."""
    return lambda rng, truth, between: np.round(truth + between[:, None] + rng.normal(0, spread, truth.shape))


def flipping_up(share: float) -> Noisy:
    """Return a judge that is steady but for the wrong answers, of which it lifts some to the next level."""
    return lambda rng, truth, _: truth + ((truth <= 1) & (rng.random(truth.shape) < share))


NOISES: Mapping[str, Noisy] = {
    "none": wobbling(0.0),
    **{f"wobbles by {spread}": wobbling(spread) for spread in (0.05, 0.1, 0.2, 0.3, 0.5, 0.8)},
    **{f"{share:.0%} flip": flipping(share) for share in (0.05, 0.1, 0.2, 0.3)},
    **{f"{share:.0%} flip, borderline": flipping(share, borderline=True) for share in (0.1, 0.2, 0.3)},
    **{f"{share:.0%} of wrong ones flip": flipping_up(share) for share in (0.05, 0.1, 0.2, 0.3)},
    **{f"rounds after {spread}": rounding(spread) for spread in (0.05, 0.1, 0.3)},
}


def failing(rng: np.random.Generator, noise: Noisy, count: int, biased: str, *, repeats: bool = True) -> set[str]:
    """Return the probes that fail in one self-test of a judge with a bias of half a level in one probe, or in none."""
    own = rng.choice(np.arange(1.0, 6.0), p=TYPICAL, size=count)
    between = rng.uniform(-0.5, 0.5, count)
    before = {"own": own, "gold": np.full(count, 5.0), "stranger": np.full(count, 1.0)}
    before = {name: noise(rng, truth[:, None], between).clip(1, 5)[:, 0] for name, truth in before.items()}

    def result(probe: Probe, found: ProbeResult | None) -> ProbeResult:
        times = len(probe.variants or ("",))
        truth = np.tile(AFTER[probe.name], (count, 1)) if probe.name in AFTER else np.tile(own[:, None], times)
        after = noise(rng, truth - 0.5 * (probe.name == biased), between).clip(1, 5)
        if probe.name in before:
            after = before[probe.name][:, None]
        cases = [
            CaseScores(bool(probe.base), before[probe.base][at] if probe.base else None, named(after[at]))
            for at in range(min(count, ALONE_AT_MOST) if probe.name == "alone" else count)
        ]
        return probe_result(
            probe, "score", probe.expected["overall"], SCALE, cases, {}, found.noise if found else QUIET
        )

    probes = {probe.name: probe for probe in PROBES if probe.name != "responses"}
    repeat = result(probes.pop("repeat"), None)
    found = [repeat, *(result(probe, repeat if repeats else None) for probe in probes.values())]
    return {each.probe.name for each in settled(found) if each.result == "failed"}


def named(scores: Scores) -> dict[str, float | None]:
    """Return the scores of the changes of a case."""
    return {str(at): float(score) for at, score in enumerate(scores)}


def main(tests: int, cases: int) -> None:
    """Print the table."""
    print(f"{tests:,} self-tests of {cases} cases")
    print(f"{'noise':<24}{'without repeats':>18}{'ours':>8}{'bias found':>12}{'and another':>13}", flush=True)
    for name, noise in NOISES.items():
        rng = np.random.default_rng(
            list(
                repr(
                    (
                        "self-test",
                        name,
                        cases,
                    )
                ).encode()
            )
        )
        plain = np.mean([bool(failing(rng, noise, cases, "", repeats=False)) for _ in range(tests)])
        ours = np.mean([bool(failing(rng, noise, cases, "")) for _ in range(tests)])
        found = [(biased, failing(rng, noise, cases, biased)) for biased in BIASED for _ in range(tests // len(BIASED))]
        right = np.mean([biased in failed for biased, failed in found])
        wrong = np.mean([bool(failed - {biased}) for biased, failed in found])
        print(f"{name:<24}{plain:>18.3f}{ours:>8.3f}{right:>12.3f}{wrong:>13.3f}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 400, int(sys.argv[2]) if len(sys.argv) > 2 else 100)
