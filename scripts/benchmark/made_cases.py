"""Makes cases of random words, two answers to each question, and rubrics with smaller budgets."""

import csv
import random
import re
from collections.abc import Collection
from pathlib import Path

from pathway_local.rubrics.rubric_file import load_rubric, rubric_path

SHARED = ("question", "ideal_answer", "retrieved_content", "query", "context", "gold_answer", "user_question")
"""Inputs that two cases with the same question share."""

LENDING = ("contextual-relevance", "criteria", "gold-answer", "groundedness", "pathway-answer")
"""The words come from these rubrics' notes. The list is fixed: another rubric would change the cases, and releases
could not be compared."""

LONG = ("retrieved_content", "context")
LONG_WORDS, WORDS = 120, 30


def write_cases(path: Path, inputs: Collection[str], count: int, seed: int, *, words: int = WORDS) -> Path:
    """Write a CSV file of `count` cases with these inputs; `words` is the length of the shorter texts."""
    pool = [word for name in LENDING for word in load_rubric(name).notes.split()]
    rng = random.Random(seed)

    def text(name: str) -> str:
        length = words * LONG_WORDS // WORDS if name in LONG else words
        return " ".join(rng.choices(pool, k=length))

    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["id", *inputs])
        shared: dict[str, str] = {}
        for number in range(count):
            if number % 2 == 0:
                shared = {name: text(name) for name in inputs if name in SHARED}
            cells = {name: shared.get(name) or text(name) for name in inputs}
            writer.writerow([f"{seed}-{number}", *cells.values()])
    return path


BUDGET = re.compile(r"(?:items: (\d+), )?tokens: (\d+)")
LEAST = 8
"""The smallest budget that a rubric may give."""

FIXED = 12
"""About how many tokens of a reply are the format's own text."""


def shortened(name: str, tokens: int, folder: Path) -> Path:
    """Write a copy of a rubric with budgets for replies of about `tokens` tokens.

    A judge of dummy weights writes until its budgets end: 472 tokens under pathway-answer, where a real one writes 150.
    """
    text = rubric_path(name).read_text(encoding="utf-8")
    whole = sum(int(items or 1) * int(budget) for items, budget in BUDGET.findall(text))
    share = max(1, tokens - FIXED) / whole

    def cut(found: re.Match[str]) -> str:
        start = found[0].removesuffix(found[2])
        return f"{start}{max(LEAST, round(int(found[2]) * share))}"

    path = folder / f"{name}.prompty"
    path.write_text(BUDGET.sub(cut, text), encoding="utf-8")
    return path
