"""Makes examples/: sample cases for the four built-in rubrics that the demo judge has not seen in training."""

import csv
import io
import json
from pathlib import Path

from demo_judge.cases import MAKERS, make_cases, row
from demo_judge.world import Split

FOLDER = Path(__file__).parents[2] / "examples"
CASES = 20
SEED = 0
"""It was settled before the demo judge judged any of these cases."""

AS_CSV = ("pathway-answer", "contextual-relevance")
"""The others are JSON Lines, so that the samples show both kinds of file."""


def sample_file(rubric: str) -> tuple[str, str]:
    """Return the name and the text of a rubric's sample file."""
    made = make_cases(rubric, Split.PHRASINGS, CASES, SEED)
    rows = [row(rubric, case, number) for number, case in enumerate(made, 1)]
    if rubric not in AS_CSV:
        return f"{rubric}.jsonl", "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in rows)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return f"{rubric}.csv", text.getvalue()


def main() -> None:
    """Write the sample files of all rubrics."""
    for name, text in map(sample_file, MAKERS):
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
