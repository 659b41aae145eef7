"""A small run for the tests of the run file and of the SQLite file below it."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from pathway_local.case import CaseRef
from pathway_local.rater import Rater
from pathway_local.rubrics.rubric import compiled
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Score, Verdict

RATER = Rater("demo", "judge", "grounded", {"rubric": "ab" * 32, "weights": {"a.safetensors": "cd" * 32}, "samples": 1})
RUBRIC, GOLD = (compiled(replace(load_rubric("pathway-answer"), name=name)) for name in ("grounded", "gold"))
VERDICT = Verdict({"score": Score(4, {3: 0.25, 4: 0.75})}, {"analysis": "Sound."}, ("cut:analysis",))


def case(name: str, row: int = 1, hash: str = "h", **metadata: str) -> CaseRef:
    return CaseRef(name, row, metadata=metadata, hash=hash)


def new_run(path: Path) -> tuple[RunFile, int]:
    run = RunFile.create(path)
    run.add_rubric("grounded", "Judge it.", RUBRIC)
    return run, run.add_rater(RATER)


def full_run(path: Path) -> bytes:
    run, rater = new_run(path)
    with run:
        for number in range(200):
            run.put(rater, case(f"c{number}", number, bot="v1", hash=f"{number:032}"), VERDICT, keep=None)
    return path.read_bytes()


def stored(path: Path, query: str) -> list[tuple[object, ...]]:
    """What another program sees in the file."""
    with closing(sqlite3.connect(path)) as db:
        return db.execute(query).fetchall()


def by_hand(path: Path, *statements: str) -> None:
    """Change the file as another program would."""
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        for statement in statements:
            db.execute(statement)
