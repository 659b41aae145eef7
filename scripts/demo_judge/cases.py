"""Makes cases with known scores for the four built-in rubrics, and writes cases files, such as those of examples/."""

import csv
import io
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

EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLES, SEED = 20, 0
"""How many cases of each rubric examples/ has. The seed was settled before the demo judge judged any of them."""

AS_CSV = ("pathway-answer", "contextual-relevance")
"""The others are JSON Lines, so that the samples show both kinds of file."""


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


def rows(rubric: str, split: Split, count: int, seed: int, *, decisive: bool = False) -> Iterator[dict[str, object]]:
    """Yield cases as rows: id, inputs, each right score in a column meant_SCORE and, on request, the deciding words."""
    for number, case in enumerate(make_cases(rubric, split, count, seed), 1):
        meant = {f"meant_{name}": score for name, score in case.scores.items()}
        found = {"id": f"{rubric}-{number}", **case.inputs, **meant}
        yield found | {"decisive": case.decisive} if decisive else found


def json_lines(made: Iterator[dict[str, object]]) -> str:
    """Return rows as JSON Lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in made)


def sample_file(rubric: str) -> tuple[str, str]:
    """Return the name and the text of a rubric's sample file, whose cases the demo judge has not seen in training."""
    made = rows(rubric, Split.PHRASINGS, SAMPLES, SEED)
    if rubric not in AS_CSV:
        return f"{rubric}.jsonl", json_lines(made)
    text, all_rows = io.StringIO(), list(made)
    writer = csv.DictWriter(text, list(all_rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(all_rows)
    return f"{rubric}.csv", text.getvalue()


if __name__ == "__main__":
    for name, text in map(sample_file, MAKERS):
        (EXAMPLES / name).write_text(text, encoding="utf-8")
