"""Measures the demo judge on held-out cases through the whole tool, and writes its figures and its model card."""

import argparse
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from itertools import product
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from demo_judge.cases import MAKERS, json_lines, rows, rubric_texts
from demo_judge.world import Split
from pathway_local.judges.registry import load_registry
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

SPLITS = {
    Split.VALUES: "new names and values",
    Split.PHRASINGS: "new wordings, names and values",
    Split.KINDS: "a new kind of fact, new names and values",
}
HAND_WRITTEN = "hand-written"
SAMPLES = Path(__file__).parents[2] / "tests" / "hand_written_samples"
FIGURES = "figures.json"


@dataclass(frozen=True, slots=True)
class ScoreFigures:
    """The figures for one score of one rubric on one split: shares of `cases`, of which `read` have a verdict.

    A case without one is neither exact nor named. `within_one` and `kappa` (quadratic weights) leave special levels
    out; `named` counts verdicts that contain the deciding words.
    """

    rubric: str
    split: str
    score: str
    cases: int
    read: int
    exact: float
    within_one: float
    kappa: float | None
    named: float


def judged(work: Path, rubric: str, split: str, cases: int, seed: int, loaded: EngineCache | None = None) -> Path:
    """Judge so many cases of this split under this rubric; return the run, with the right scores as metadata."""
    work.mkdir(parents=True, exist_ok=True)
    file, run = work / f"{rubric}.{split}.jsonl", work / f"{rubric}.{split}.run"
    if split == HAND_WRITTEN:
        (file,) = SAMPLES.glob(f"{rubric}.*")
    else:
        file.write_text(json_lines(rows(rubric, Split(split), cases, seed, decisive=True)), encoding="utf-8")
    plan = Plan(file, run, rubric=(load_rubric(rubric),), judge=("demo",), id="id", keep=None)
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
    return any(record.metadata["decisive"] in str(value) for value in record.outcome.fields.values())


def rubrics_digest() -> str:
    """Return a checksum of the rubrics' texts, which tells whether a judge was trained under those of today."""
    return sha256("\0".join(rubric_texts()).encode()).hexdigest()[:16]


def write_figures(weights: Path, found: Sequence[ScoreFigures]) -> None:
    """Write figures.json beside the weights, with a checksum of the rubrics' texts under which they were measured."""
    text = json.dumps({"rubrics": rubrics_digest(), "scores": [asdict(each) for each in found]}, indent=1)
    (weights / FIGURES).write_text(f"{text}\n", encoding="utf-8")


def read_figures(weights: Path) -> list[ScoreFigures]:
    """Return the figures beside the weights."""
    return [ScoreFigures(**each) for each in json.loads((weights / FIGURES).read_text(encoding="utf-8"))["scores"]]


def stages_of(weights: Path) -> list[dict[str, Any]]:
    """Return the schedules by which these weights were trained, the first one first."""
    stages: list[dict[str, Any]] = json.loads((weights / "training.json").read_text(encoding="utf-8"))["stages"]
    return stages


def write_card(weights: Path) -> None:
    """Write README.md beside the weights, from the figures and results there."""
    found, stages = read_figures(weights), stages_of(weights)
    config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
    told = [fill(f"{n}. {_stage(stage)}", 118, subsequent_indent="   ") for n, stage in enumerate(stages, 1)]
    text = Path(__file__).with_name("card.md").read_text(encoding="utf-8")
    text = text.format(
        stages="\n".join(told),
        next_seed=stages[-1]["seed"] + 1,
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        context=config["max_position_embeddings"],
        used=load_registry(None).get("demo").context,
        size=(weights / "model.safetensors").stat().st_size / 1e6,
        cases=found[0].cases,
        by_hand="\n".join(_by_hand(each) for each in found if each.split == HAND_WRITTEN),
        tables="\n\n".join(_table(split, found) for split in SPLITS if any(each.split == split for each in found)),
    )
    (weights / "README.md").write_text(text, encoding="utf-8")


def _stage(stage: Mapping[str, Any]) -> str:
    """Say how long a stage was and under which texts: those of today, or others."""
    steps = f"{stage['short']:,} steps with the rubrics' names alone, then {stage['whole']:,}" if stage["short"] else ""
    steps = steps or f"From those weights, with new optimizers, {stage['whole']:,} steps"
    texts = "their present texts" if stage.get("rubrics") == rubrics_digest() else "texts that they had before"
    return (
        f"{steps} under {texts}; {stage['batch']} cases a step, Muon and AdamW, a learning rate of up to "
        f"{stage['rate']}, seed {stage['seed']}.{stage.get('note', '')}"
    )


def _by_hand(figure: ScoreFigures) -> str:
    return f"- {figure.exact * figure.cases:.0f} of {figure.cases} under `{figure.rubric}` (`{figure.score}`)"


def _table(split: Split, found: Sequence[ScoreFigures]) -> str:
    lines = [f"### {SPLITS[split].capitalize()}", ""]
    lines += [
        "| rubric | score | exact | within one | kappa | names the fact |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for f in found:
        if f.split == split:
            kappa = "undefined" if f.kappa is None else f"{f.kappa:.2f}"
            lines.append(f"| {f.rubric} | {f.score} | {f.exact:.1%} | {f.within_one:.1%} | {kappa} | {f.named:.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Judge new cases of all splits and those worded by hand, then write figures and card beside the weights."""
    parser = argparse.ArgumentParser(prog="python -m demo_judge.figures", description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("runs/demo-figures"))
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--seed", type=int, default=1)
    given, found = parser.parse_args(), list[ScoreFigures]()
    with EngineCache() as loaded:
        for rubric, split in product(MAKERS, (*SPLITS, HAND_WRITTEN)):
            new = figures(judged(given.work, rubric, split, given.cases, given.seed, loaded), rubric, split)
            print(f"{rubric} {split}: {', '.join(f'{f.score} {f.exact:.3f}' for f in new)}", flush=True)
            found += new
    weights = packaged_folder("demo/weights")
    write_figures(weights, found)
    write_card(weights)


if __name__ == "__main__":
    main()
