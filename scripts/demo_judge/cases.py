"""Makes cases with known scores for the four built-in rubrics, and writes cases files."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random

from demo_judge.followup_cases import followup_case
from demo_judge.gold_cases import gold_case
from demo_judge.grounded_cases import grounded_case
from demo_judge.made_case import MadeCase
from demo_judge.pathway_cases import pathway_case
from demo_judge.world import Split, World
from pathway_local.rubrics.rubric_file import load_rubric

MAKERS: dict[str, Callable[[World, int, int], MadeCase]] = {
    "pathway-answer": pathway_case,
    "groundedness": grounded_case,
    "contextual-relevance": followup_case,
    "gold-answer": gold_case,
}
LEVELS = (1, 2, 3, 4, 5)
PARTS = (0.35, 0.4, 0.25)
"""The shares of questions with one, two and three parts."""


def rubric_texts() -> list[str]:
    """Return the turns of the four rubrics."""
    return [turn.template for name in MAKERS for turn in load_rubric(name).turns]


def make_case(rubric: str, world: World, parts: tuple[float, ...] = PARTS) -> MadeCase:
    """Make a case; every score is equally likely (for gold-answer the lower of its two scores)."""
    count = world.rng.choices(range(1, len(parts) + 1), parts)[0]
    return MAKERS[rubric](world, world.rng.choice(LEVELS), count)


def make_cases(rubric: str, split: Split, count: int, seed: int) -> Iterator[MadeCase]:
    """Yield `count` cases; the same arguments give the same cases."""
    world = World(Random(f"{rubric}/{split}/{seed}"), split)
    for _ in range(count):
        yield make_case(rubric, world)


def row(rubric: str, case: MadeCase, number: int) -> dict[str, object]:
    """Return a case as a row of a cases file: id, inputs, and each right score in a column meant_SCORE."""
    meant = {f"meant_{name}": score for name, score in case.scores.items()}
    return {"id": f"{rubric}-{number}", **case.inputs, **meant}


def write_cases(path: Path, rubric: str, split: Split, count: int, seed: int) -> None:
    """Write `count` cases in JSON Lines, with the deciding words of each as `decisive`."""
    made = enumerate(make_cases(rubric, split, count, seed), 1)
    lines = (
        json.dumps(row(rubric, case, number) | {"decisive": case.decisive}, ensure_ascii=False) for number, case in made
    )
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
