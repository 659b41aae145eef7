"""Writes the demo judge's model card with its measured figures."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from textwrap import fill
from typing import Any

from demo_judge.cases import rubric_texts
from demo_judge.world import Split
from pathway_local.judges.registry import load_registry

SPLITS = {
    Split.VALUES: "new names and values",
    Split.PHRASINGS: "new wordings, names and values",
    Split.KINDS: "a new kind of fact, new names and values",
}

HAND_WRITTEN = "hand-written"

FIGURES = "figures.json"

TEXT = Path(__file__).with_name("card.md")


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


def write_figures(weights: Path, figures: Sequence[ScoreFigures]) -> None:
    """Write figures.json beside the weights, with a checksum of the rubrics' texts under which they were measured."""
    text = json.dumps({"rubrics": rubrics_digest(), "scores": [asdict(each) for each in figures]}, indent=1)
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
    figures = read_figures(weights)
    config = json.loads((weights / "config.json").read_text(encoding="utf-8"))
    stages = stages_of(weights)
    text = TEXT.read_text(encoding="utf-8").format(
        stages="\n".join(
            fill(f"{n}. {_stage(stage)}", 118, subsequent_indent="   ") for n, stage in enumerate(stages, 1)
        ),
        next_seed=stages[-1]["seed"] + 1,
        layers=config["num_hidden_layers"],
        width=config["hidden_size"],
        vocabulary=config["vocab_size"],
        context=config["max_position_embeddings"],
        used=load_registry(None).get("demo").context,
        size=(weights / "model.safetensors").stat().st_size / 1e6,
        cases=figures[0].cases,
        by_hand="\n".join(_by_hand(f) for f in figures if f.split == HAND_WRITTEN),
        tables="\n\n".join(_table(split, figures) for split in SPLITS if any(f.split == split for f in figures)),
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


def rubrics_digest() -> str:
    """Return a checksum of the rubrics' texts, which tells whether a judge was trained under those of today."""
    return sha256("\0".join(rubric_texts()).encode()).hexdigest()[:16]


def _by_hand(figure: ScoreFigures) -> str:
    return f"- {figure.exact * figure.cases:.0f} of {figure.cases} under `{figure.rubric}` (`{figure.score}`)"


def _table(split: str, figures: Sequence[ScoreFigures]) -> str:
    rows = [
        f"### {SPLITS[Split(split)].capitalize()}",
        "",
        "| rubric | score | exact | within one | kappa | names the fact |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for f in figures:
        if f.split == split:
            kappa = "undefined" if f.kappa is None else f"{f.kappa:.2f}"
            rows.append(f"| {f.rubric} | {f.score} | {f.exact:.1%} | {f.within_one:.1%} | {kappa} | {f.named:.1%} |")
    return "\n".join(rows)
