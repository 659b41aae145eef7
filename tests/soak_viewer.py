"""`soak_viewer.py VERDICTS`: how long the viewer takes for each kind of request on a run of so many verdicts.

Prints seconds of processor time. Ends with 1 if a page takes more than three.
"""

import json
import random
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from rated_run import TINY
from viewed import Told, viewing

from pathway_local.case import Case, fingerprint
from pathway_local.rater import Rater, RaterKind
from pathway_local.runs.run_file import RunFile
from pathway_local.runs.run_rubrics import store_rubric
from pathway_local.verdict import Failure, Outcome, Score, Verdict

WORDS = ("the", "answer", "names", "a", "deadline", "that", "would", "mislead", "student", "in", "März")
RATERS: dict[str, RaterKind] = {"demo": "judge", "second": "judge", "ann": "human", "bob": "human"}
LIMIT = 3.0


def main(verdicts: int) -> int:
    """Make the run, ask for its pages, and return the exit code."""
    with tempfile.TemporaryDirectory(prefix="soak-") as folder:
        run, cases = Path(folder) / "big.run", Path(folder) / "cases.jsonl"
        count = verdicts // len(RATERS)
        make(run, cases, count)
        began = time.process_time()
        with viewing(run, cases) as desk:
            print(f"start {time.process_time() - began:.2f} s")
            good, end = "score=4", count // 50
            asked: dict[str, Callable[[], Told]] = {
                "table": lambda: desk.get("/table/0"),
                "sorted": lambda: desk.chosen(order="high"),
                "last page": lambda: desk.get(f"/table/0?page={end}"),
                "rater and score": lambda: desk.chosen(rater="second", level=good),
                "group": lambda: desk.chosen(**{"group:bot": "v1"}),
                "words in a text": lambda: desk.chosen(text="MISLEAD STUDENT MÄRZ"),
                "words nowhere": lambda: desk.chosen(text="nowhere at all"),
                "case": lambda: desk.get(f"/case/0/{count // 2}"),
                "case after a change": lambda: desk.get(f"/case/0/{count // 2}"),
            }
            took = {name: seconds(ask) for name, ask in asked.items()}
    for name, each in took.items():
        print(f"{name} {each:.2f} s")
    return int(max(each for name, each in took.items() if "not a page" not in name) > LIMIT)


def seconds(ask: Callable[[], Told]) -> float:
    """Processor time of a request."""
    began = time.process_time()
    told = ask()
    assert told.status in (200, 303), told.text
    return time.process_time() - began


def make(path: Path, cases: Path, count: int) -> None:
    """A run of so many cases, each with two judges and two people, and its cases file."""
    draw = random.Random(1)

    def text(words: int) -> str:
        return " ".join(draw.choices(WORDS, k=words))

    with RunFile.create(path) as run, run.together(), cases.open("w", encoding="utf-8") as file:
        store_rubric(run, TINY)
        raters = {run.add_rater(Rater(name, kind, TINY.name, {})): kind for name, kind in RATERS.items()}
        for row in range(1, count + 1):
            case = Case(f"case-{row}", {"question": text(25), "answer": text(180)}, {"bot": f"v{row % 3}"}, row)
            file.write(json.dumps({"id": case.id, **case.inputs}) + "\n")
            ref = case.ref(fingerprint(run.key, TINY.texts_of(case)))
            for rater, kind in raters.items():
                value = draw.randint(1, 5)
                score = Score(value, {**dict.fromkeys(range(1, 6), 0.1), value: 0.6} if kind == "judge" else {})
                outcome: Outcome = Verdict({"score": score}, {"reason": text(120 if kind == "judge" else 10)})
                run.put(rater, ref, outcome if draw.random() > 0.01 else Failure("unreadable-reply", "odd"), keep=None)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1])))
