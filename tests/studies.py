"""A dozen small studies for tests of first screens, made by one script: who scored what, and what was drawn."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from rated_run import add, scored, store_draw

from pathway_local.case import Case
from pathway_local.rater import RaterKind
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Failure, Outcome, Score, Verdict

CASES, DRAWN = 240, 80
BOTS = ("Alfa", "Beta", "Gama")
SCALES = {
    "five": "min: 1, max: 5",
    "eleven": "min: 0, max: 10",
    "pass": "levels: {0: Fail, 1: Pass}",
    "kinds": "scale: nominal, levels: {1: Fact, 2: Guess, 3: Lie}",
}
LOW = {"five": 2, "eleven": 4, "pass": 0}
"""The highest bad level of each scale with an order."""


@dataclass(frozen=True)
class Study:
    """Scores by rater, (cases,), NaN for none and -1 for a failure; `drawn` are the places of a sample, if any."""

    scale: str
    scores: Mapping[str, tuple[RaterKind, np.ndarray]]
    drawn: np.ndarray = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    stopped: bool = False

    @property
    def bots(self) -> np.ndarray:
        return np.array(BOTS)[np.arange(CASES) % 3]

    def make(self, path: Path) -> None:
        """Write the study as a run."""
        rubric = scored(self.scale, SCALES[self.scale])
        rows = [Case(f"c-{n}", {"answer": f"answer {n}"}, {"chatbot": bot}, n) for n, bot in enumerate(self.bots)]
        with RunFile.create(path) as run:
            for name, (kind, given) in sorted(self.scores.items(), key=lambda each: each[1][0] != "judge"):
                known = [(row, int(value)) for row, value in zip(rows, given, strict=True) if np.isfinite(value)]
                if kind == "human" and len(self.drawn) and not run.get_setting("drawn"):
                    store_draw(run, rows, set(self.drawn.tolist()), rubric)
                    run.set_setting("drawn", True)
                told: dict[str, Outcome] = {
                    row.id: Failure("missing-input", "it has no answer")
                    if value < 0
                    else Verdict({"score": Score(value)})
                    for row, value in known
                }
                sheet = kind == "human" and bool(len(self.drawn))
                add(run, name, told, rubric, kind, [row for row, _ in known], sheet=sheet)
            if self.stopped:
                job = run.jobs.begin(["judge"], {"raters": [{"rater": "demo", "rubric": self.scale}]})
                run.jobs.end(job, "stopped", {})


def studies() -> dict[str, Study]:
    """The dozen, by name."""
    rng = np.random.default_rng(12)
    worth = rng.normal(3.4, 1.1, CASES) - 0.8 * (np.arange(CASES) % 3 == 2)
    drawn = np.sort(rng.permutation(CASES)[:DRAWN])

    def five(noise: float, lift: float = 0.0) -> np.ndarray:
        return np.clip(np.round(worth + lift + rng.normal(0, noise, CASES)), 1, 5)

    def only(scores: np.ndarray, places: np.ndarray) -> np.ndarray:
        return np.where(np.isin(np.arange(CASES), places), scores, np.nan)

    def of(scale: str, change: Callable[[np.ndarray], np.ndarray] = lambda each: each) -> Study:
        people = only(change(five(0.3)), drawn)
        return Study(scale, {"demo": ("judge", change(five(0.5, 0.3))), "ann": ("human", people)}, drawn)

    def labelled(judge: np.ndarray, **others: tuple[RaterKind, np.ndarray]) -> Study:
        return Study("five", {"demo": ("judge", judge), "ann": ("human", only(ann, drawn)), **others}, drawn)

    judge, ann, bob = five(0.5, 0.3), five(0.3), five(0.4)
    mute = np.where(np.arange(CASES) % 3 == 1, -1, judge)
    easy = np.flatnonzero(worth > 3.6)[:60]
    return {
        "nobody labelled": Study("five", {"demo": ("judge", judge)}),
        "a sample": of("five"),
        "two people": labelled(judge, bob=("human", only(bob, drawn))),
        "two judges": labelled(judge, gpt=("hosted", five(0.4))),
        "the easy half back": Study(
            "five", {"demo": ("judge", judge), "ann": ("human", only(ann, drawn[worth[drawn] > 3.2]))}, drawn
        ),
        "different cases": Study(
            "five",
            {
                "demo": ("judge", judge),
                "ann": ("human", only(ann, drawn[::2])),
                "bob": ("human", only(bob, drawn[1::2])),
            },
            drawn,
        ),
        "picked labels": Study("five", {"demo": ("judge", judge), "ann": ("human", only(ann, easy))}),
        "a constant judge": labelled(np.full(CASES, 4.0)),
        "a mute chatbot": labelled(mute),
        "eleven levels": of("eleven", lambda each: 2 * (each - 1) + 1),
        "pass or fail": of("pass", lambda each: (each > 2).astype(float)),
        "no order": of("kinds", lambda each: np.clip(each - 1, 1, 3)),
        "people alone": Study("five", {"ann": ("human", ann)}),
        "a stopped judge": Study("five", {"demo": ("judge", only(judge, np.arange(50)))}, stopped=True),
    }
