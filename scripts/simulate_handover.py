"""Simulates how often the promise of `handover` holds, and how much a judge keeps beside what was possible.

    .venv/bin/python scripts/simulate_handover.py [FILES] [FOLDER]

Every row makes so many files of 2,000 cases from a stream of random numbers that its own name seeds, and promises that
at most 10% of the kept cases are wrong. "possible" is the largest share of the cases that a threshold could keep if
everybody's ratings were known. "model" orders the cases by an error model of sureness and a second sign, fitted on half
of the labels. In clustered files, students with 6 cases each differ in how well the judge does; the labels are those of
whole students, and the promise is about further students.

With a FOLDER that holds published ratings, the labels are drawn from these 500 times instead: UniEval's judgements of
chat replies (unieval_topical_chat_result.json) beside the mean of people's, and GPT-4's three scores of answers
(prometheus_mt_bench_eval.json), of which the third stands for a person and the first two for a judge that is the surer,
the nearer they are.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pathway_local.statistics.handover import error_model, hand_over
from simulate_coverage import stream

CASES, ERROR = 2000, 0.1
LABELS = (150, 300, 600, 1000)
Numbers = NDArray[np.float64]
DOUBTS: dict[str, Callable[[Numbers], Numbers]] = {
    "informative, steep": lambda doubt: 0.01 + 0.6 / (1 + np.exp(-12 * (doubt - 0.75))),
    "informative": lambda doubt: 0.02 + 0.5 * doubt**2,
    "useless, a good judge": lambda doubt: 0 * doubt + 0.05,
    "useless, a bad judge": lambda doubt: 0 * doubt + 0.25,
    "useless, just too bad": lambda doubt: 0 * doubt + 0.102,
    "misleading at the top": lambda doubt: np.where(doubt < 0.15, 0.25, np.where(doubt < 0.7, 0.04, 0.5)),
    "misleading": lambda doubt: 0.4 - 0.3 * doubt,
}
"""The chance that a judge is wrong on a case, by its doubt from 0 to 1."""


def kept_and_broken(
    sure: Numbers, wrong: NDArray[np.bool_], labelled: NDArray[np.bool_], at: float, error: float = ERROR
) -> tuple[float, bool]:
    """Return the share of the cases without a label that are kept, and whether too many of them are wrong."""
    kept = (sure >= at) & ~labelled
    return float(kept.sum() / (~labelled).sum()), bool(wrong[kept].sum() > error * kept.sum() + 1e-9)


def files(name: str, labels: int, clustered: bool, count: int) -> Iterator[tuple[Numbers, ...]]:
    """Yield files: sureness, a second sign of doubt, whether the judge is wrong, labels, and each case's student."""
    rng = stream("handover", name, labels, clustered)
    for _ in range(count):
        doubt, student = rng.random(CASES), np.arange(CASES) // 6
        chance = DOUBTS[name](doubt)
        if clustered:
            odds = np.log(chance / (1 - chance)) + rng.normal(0, 1, CASES // 6 + 1)[student]
            chance = 1 / (1 + np.exp(-odds))
        wrong = rng.random(CASES) < chance
        drawn = rng.permutation(CASES)[:labels]
        labelled = (
            np.isin(student, rng.permutation(CASES // 6)[: labels // 6])
            if clustered
            else np.isin(np.arange(CASES), drawn)
        )
        second = np.where(wrong, 0.5, 0) + rng.normal(0, 0.5, CASES)
        yield 1 - doubt, second, wrong, labelled, student


def row(name: str, labels: int, clustered: bool, count: int) -> dict[str, tuple[float, float]]:
    """Return the mean share kept and the share of files whose promise holds, by procedure."""
    found: dict[str, list[tuple[float, bool]]] = {}
    for sure, second, wrong, labelled, student in files(name, labels, clustered, count):
        known = np.where(labelled, wrong, np.nan)
        order = np.argsort(-sure[~labelled])
        good = np.flatnonzero(np.cumsum(wrong[~labelled][order]) <= ERROR * np.arange(1, len(order) + 1))
        found.setdefault("possible", []).append(((good[-1] + 1) / len(order) if len(good) else 0.0, False))
        chosen = hand_over(sure, known, ERROR, student if clustered else None).chosen
        found.setdefault("ours", []).append(kept_and_broken(sure, wrong, labelled, chosen.sure if chosen else np.inf))
        if not clustered:
            half = np.isin(np.arange(CASES), np.flatnonzero(labelled)[::2])
            modelled = -error_model(np.column_stack([sure, second]), np.where(half, wrong, np.nan))
            chosen = hand_over(np.where(half, np.nan, modelled), np.where(half, np.nan, known), ERROR).chosen
            found.setdefault("model", []).append(
                kept_and_broken(modelled, wrong, labelled, chosen.sure if chosen else np.inf)
            )
    return {
        each: (float(np.mean([k for k, _ in v])), 1 - float(np.mean([b for _, b in v]))) for each, v in found.items()
    }


def published(folder: Path) -> Iterator[tuple[str, Numbers, NDArray[np.bool_]]]:
    """Yield a name, sureness, and where the judge is wrong, for each score of published ratings."""
    chats = json.loads((folder / "unieval_topical_chat_result.json").read_text())
    for name, top in (("understandability", 1), ("groundedness", 1), ("naturalness", 2), ("coherence", 2)):
        people = np.array([chat["scores"][name] for chat in chats]) - (top == 2)
        place = top * np.array([chat["predict_scores"][name] for chat in chats])
        score = np.round(place)
        yield f"UniEval {name}", 0.5 - np.abs(place - score), np.abs(score - people) > 0.5
    answers = np.array(
        [each["gpt4_score"] for each in json.loads((folder / "prometheus_mt_bench_eval.json").read_text())]
    )
    score = answers[:, :2].min(axis=1)
    near = -np.abs(answers[:, 0] - answers[:, 1]).astype(float)
    for within in (0, 1):
        yield f"GPT-4, within {within}", near, np.abs(score - answers[:, 2]) > within


def splits(folder: Path, count: int) -> None:
    """Print how often the promise holds on published ratings, and how much is kept, for two promises."""
    for name, sure, wrong in published(folder):
        for error in (0.1, 0.2):
            for labels in (100, 150, 200):
                rng, found, possible = stream("split", name, error, labels), list[tuple[float, bool]](), list[float]()
                for _ in range(count):
                    labelled = rng.permutation(len(sure)) < labels
                    chosen = hand_over(sure, np.where(labelled, wrong, np.nan), error).chosen
                    found.append(kept_and_broken(sure, wrong, labelled, chosen.sure if chosen else np.inf, error))
                    marks = np.unique(sure[~labelled])
                    fits = [kept_and_broken(sure, wrong, labelled, mark, error) for mark in marks]
                    possible.append(max((share for share, broken in fits if not broken), default=0.0))
                kept, held = np.mean([k for k, _ in found]), 1 - np.mean([b for _, b in found])
                about = f"{name:<28}{len(sure):>5}{wrong.mean():>7.0%} wrong  promise {error:.0%}{labels:>5} labels"
                print(f"{about}  possible {np.mean(possible):.2f}  kept {kept:.2f}  holds {held:.3f}", flush=True)


def main(count: int) -> None:
    """Print a line for each kind of judge and number of labels: the share kept, and how often the promise holds."""
    for clustered in (False, True):
        print(
            "\nclustered" if clustered else "case by case", f"({count:,} files each): share kept, and files that hold"
        )
        for name in DOUBTS:
            for labels in LABELS:
                cells = (
                    f"{each} {kept:.2f} {held:.3f}"
                    for each, (kept, held) in row(name, labels, clustered, count).items()
                )
                print(f"{name:<24}{labels:>5}  " + "   ".join(cells), flush=True)


if __name__ == "__main__":
    files_of = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    if len(sys.argv) > 2:
        splits(Path(sys.argv[2]), files_of)
    else:
        main(files_of)
