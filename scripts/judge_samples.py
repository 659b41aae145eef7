"""Judges the sample cases under all four rubrics with one engine, and says how often the demo judge is right."""

import sys
from collections import Counter
from pathlib import Path

from pathway_local.cli.case_files import read_privately
from pathway_local.cli.judge import JobProgress, listening
from pathway_local.cli.terminal import complain, data
from pathway_local.errors import PathwayError
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import run_job
from pathway_local.judging.plan import Plan
from pathway_local.judging.progress import Watcher
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.system.private_process import INTERRUPTED
from pathway_local.verdict import Verdict

SAMPLES = Path(__file__).parents[1] / "examples"
RUBRICS = ("pathway-answer", "groundedness", "contextual-relevance", "gold-answer")
MEANT = "meant_"
"""A column meant_SCORE holds the value that SCORE should have."""


def sample_file(rubric: str, folder: Path = SAMPLES) -> Path:
    """Return the sample file of a rubric."""
    return next(folder.glob(f"{rubric}.*"))


def judge_samples(run: Path, watcher: Watcher, folder: Path = SAMPLES, models: Path | None = None) -> int:
    """Judge the sample cases of each rubric in `folder` until the watcher stops; return how many failed.

    Raises PathwayError.
    """
    failures = 0
    with EngineCache() as loaded:
        for rubric in RUBRICS:
            if not watcher.stopped():
                cases = sample_file(rubric, folder)
                watcher.notice(f"judging {cases.name}")
                plan = Plan(cases, run, rubric=[load_rubric(rubric)], judge=["demo"], keep=None, models=models)
                failures += sum(tally.failures.total() for tally in run_job(plan, watcher, sys.argv, loaded))
                watcher.end()
    return failures


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


def main(run: Path, folder: Path = SAMPLES) -> int:
    """Judge the samples, print how often the judge was right, and return the exit code."""
    progress = JobProgress()
    try:
        read_privately(*(sample_file(rubric, folder) for rubric in RUBRICS))
        with listening(progress):
            code = min(judge_samples(run, progress, folder), 1)
    except PathwayError as error:
        complain(error)
        code = error.exit_code
    if progress.stopped():
        return INTERRUPTED
    if run.exists():
        data.print(meant_scores(run), end="\n\n")
    return code


if __name__ == "__main__":
    sys.exit(main(*map(Path, sys.argv[1:])))
