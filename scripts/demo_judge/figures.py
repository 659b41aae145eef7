"""Measures the demo judge on held-out cases through the whole tool, and writes its model card."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np

from demo_judge.card import HAND_WRITTEN, ScoreFigures, write_card, write_figures
from demo_judge.cases import MAKERS, write_cases
from demo_judge.world import Split
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.record import Record
from pathway_local.runs.run_file import RunFile
from pathway_local.statistics.coefficients import kappa
from pathway_local.system.shipped import packaged_folder
from pathway_local.verdict import Verdict

SPLITS = (Split.VALUES, Split.PHRASINGS, Split.KINDS, HAND_WRITTEN)
SAMPLES = Path(__file__).parents[2] / "tests" / "hand_written_samples"


@dataclass(frozen=True, slots=True)
class Trial:
    """The number of cases for each split and rubric, and a folder for the runs."""

    work: Path
    cases: int
    seed: int

    def figures(self) -> list[ScoreFigures]:
        """Judge new cases of all splits, and those worded by hand, under all rubrics; return the figures."""
        found = []
        with EngineCache() as loaded:
            for rubric, split in product(MAKERS, SPLITS):
                new = figures(self.judged(rubric, split, loaded), rubric, split)
                print(f"{rubric} {split}: {', '.join(f'{f.score} {f.exact:.3f}' for f in new)}", flush=True)
                found += new
        return found

    def judged(self, rubric: str, split: str, loaded: EngineCache | None = None) -> Path:
        """Judge cases of this split under this rubric; return the run, with the right scores as metadata."""
        self.work.mkdir(parents=True, exist_ok=True)
        cases, run = self.work / f"{rubric}.{split}.jsonl", self.work / f"{rubric}.{split}.run"
        if split == HAND_WRITTEN:
            (cases,) = SAMPLES.glob(f"{rubric}.*")
        else:
            write_cases(cases, rubric, Split(split), self.cases, self.seed)
        plan = Plan(cases, run, rubric=(load_rubric(rubric),), judge=("demo",), id="id", keep=None)
        run_job(plan, Watcher(), ("figures",), loaded)
        return run


def figures(run: Path, rubric: str, split: str) -> list[ScoreFigures]:
    """Return the figures of each score of a run whose cases have the columns meant_… and decisive."""
    with RunFile.read(run) as opened:
        records = list(opened.records(rubric=rubric))
    return [_figure(records, rubric, split, score) for score in load_rubric(rubric).format.scores]


def _figure(records: Sequence[Record], rubric: str, split: str, score: str) -> ScoreFigures:
    field = load_rubric(rubric).format.scores[score]
    pairs = list(_pairs(records, score))
    on_scale = [pair for pair in pairs if not set(pair) & set(field.special)]
    values = [value for value in field.values if value not in field.special]
    scores = np.array(on_scale, dtype=np.float64).reshape(-1, 2)
    alike = float(kappa(2, scores, np.ones((1, len(scores))), [float(value) for value in values])[0])
    return ScoreFigures(
        rubric=rubric,
        split=split,
        score=score,
        cases=len(records),
        read=len(pairs),
        exact=sum(right == given for right, given in pairs) / len(records),
        within_one=sum(abs(right - given) <= 1 for right, given in on_scale) / max(len(on_scale), 1),
        kappa=alike if np.isfinite(alike) else None,
        named=sum(map(_named, records)) / len(records),
    )


def _pairs(records: Sequence[Record], score: str) -> Iterator[tuple[int, int]]:
    for record in records:
        if isinstance(record.outcome, Verdict):
            by_hand = f"expected_{score.removesuffix('_score')}"
            meant = record.metadata.get(f"meant_{score}") or record.metadata[by_hand]
            yield int(meant), int(record.outcome.scores[score].value)


def _named(record: Record) -> bool:
    """Return whether the verdict holds the deciding words, which a case worded by hand lacks."""
    if not isinstance(record.outcome, Verdict) or "decisive" not in record.metadata:
        return False
    values = record.outcome.fields.values()
    texts = (str(each) for value in values for each in (value if isinstance(value, list) else [value]))
    return any(record.metadata["decisive"] in text for text in texts)


def main() -> None:
    """Measure, then write figures and card beside the weights."""
    parser = argparse.ArgumentParser(prog="python -m demo_judge.figures", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/demo-figures"))
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    weights = packaged_folder("demo/weights")
    write_figures(weights, Trial(given.work, given.cases, given.seed).figures())
    write_card(weights)


if __name__ == "__main__":
    main()
