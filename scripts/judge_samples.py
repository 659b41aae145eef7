"""Judges the sample cases under all four rubrics with one engine, and says how often the demo judge is right."""

import sys
from collections import Counter
from pathlib import Path

from pathway_local.cli.case_files import read_privately
from pathway_local.cli.progress import JobProgress, listening
from pathway_local.cli.terminal import complain, data, talk
from pathway_local.errors import PathwayError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.private_process import INTERRUPTED
from pathway_local.verdict import Verdict

SAMPLES = Path(__file__).parents[1] / "examples"
RUBRICS = ("pathway-answer", "groundedness", "contextual-relevance", "gold-answer")
MEANT = "meant_"
"""A column meant_SCORE holds the value that SCORE should have."""


def judge_samples(run: Path, folder: Path = SAMPLES) -> int:
    """Judge the sample file of each rubric in `folder`; the exit code. Raises PathwayError."""
    progress, failures = JobProgress(), 0
    files = {rubric: next(folder.glob(f"{rubric}.*")) for rubric in RUBRICS}
    read_privately(*files.values())
    with EngineCache() as loaded, listening(progress):
        for rubric, cases in files.items():
            if progress.stopped():
                return INTERRUPTED
            talk.print(f"judging {cases.name}")
            plan = Plan(cases, run, rubric=[load_rubric(rubric)], judge=["demo"], keep=None)
            failures += sum(tally.failures.total() for tally in run_job(plan, progress, sys.argv, loaded))
            progress.end()
    return INTERRUPTED if progress.stopped() else min(failures, 1)


def meant_scores(run: Path) -> str:
    """Count the verdicts that have the meant score, for each score of each rubric."""
    right, all_of = Counter[str](), Counter[str]()
    with RunFile.read(run) as read:
        for record in read.records():
            for column, meant in record.metadata.items():
                if column.startswith(MEANT):
                    name = column.removeprefix(MEANT)
                    shown = record.rubric if name == "score" else f"{record.rubric} {name.removesuffix('_score')}"
                    given = record.outcome.scores[name].value if isinstance(record.outcome, Verdict) else None
                    all_of[shown] += 1
                    right[shown] += str(given) == meant
    rows = [f"{name:26} {right[name]} of {count}" for name, count in all_of.items()]
    return "\n".join(["Verdicts of the demo judge with the meant score:", *rows])


if __name__ == "__main__":
    where = Path(sys.argv[1])
    try:
        code = judge_samples(where, *map(Path, sys.argv[2:]))
    except PathwayError as error:
        complain(error)
        code = error.exit_code
    if where.exists() and code != INTERRUPTED:
        data.print(meant_scores(where), end="\n\n")
    sys.exit(code)
