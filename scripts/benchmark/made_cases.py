"""Cases without meaning, for measuring: two answers to each question, as where chatbots are compared."""

import csv
import random
from pathlib import Path

from pathway_local.rubrics.rubric import Rubric, builtin_names, load_rubric

SHARED = ("question", "ideal_answer", "retrieved_content", "query", "context", "gold_answer", "user_question")
"""Inputs that two cases with one question have in common."""

LONG = ("retrieved_content", "context")
LONG_WORDS, WORDS = 120, 30


def write_cases(path: Path, rubric: Rubric, count: int, seed: int, *, words: int = WORDS) -> Path:
    """Write a CSV file of so many cases with the inputs of a rubric; `words` is the length of its shorter texts."""
    pool = [word for name in builtin_names() for word in load_rubric(name).notes.split()]
    rng = random.Random(seed)

    def text(name: str) -> str:
        length = words * LONG_WORDS // WORDS if name in LONG else words
        return " ".join(rng.choices(pool, k=length))

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *rubric.inputs])
        shared: dict[str, str] = {}
        for number in range(count):
            if number % 2 == 0:
                shared = {name: text(name) for name in rubric.inputs if name in SHARED}
            cells = {name: shared.get(name) or text(name) for name in rubric.inputs}
            writer.writerow([f"{seed}-{number}", *cells.values()])
    return path
