"""Made cases and a random judge, as the benchmark makes them."""

import csv
from collections.abc import Sequence
from pathlib import Path

from benchmark.made_cases import write_cases
from benchmark.shape import make_judge
from pathway_local.rubrics.rubric import Rubric

__all__ = ["make_judge", "write_cases", "write_cases_for_all"]


def write_cases_for_all(folder: Path, rubrics: Sequence[Rubric], count: int, seed: int) -> Path:
    """Write a CSV file of so many cases, each with the inputs of all these rubrics."""
    rows: list[dict[str, str]] = [{} for _ in range(count)]
    for rubric in rubrics:
        path = write_cases(folder / f"{rubric.name}.csv", rubric, count, seed)
        with path.open(newline="", encoding="utf-8") as file:
            for row, cells in zip(rows, csv.DictReader(file), strict=True):
                row |= {name: value for name, value in cells.items() if name not in row}
    whole = folder / "cases.csv"
    with whole.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    whole.chmod(0o600)
    return whole
