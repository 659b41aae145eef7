"""Judges the sample cases with the demo judge, and reads and stores the verdicts that GPUs are compared with."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gpu_check.findings import ROOT
from gpu_check.verdicts import Scored, scored
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Watcher, run_job
from pathway_local.judging.plan import Plan
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.seal import Wanted

STORED = Path(__file__).with_name("processor_verdicts.json")
SAMPLES = {
    "pathway-answer": "pathway-answer.csv",
    "groundedness": "groundedness.jsonl",
    "contextual-relevance": "contextual-relevance.csv",
    "gold-answer": "gold-answer.jsonl",
}


@dataclass(frozen=True)
class Judged:
    """The verdicts on the samples with the engine and the SHA-256 of weights, rubrics and cases."""

    weights: str
    rubrics: Mapping[str, str]
    cases: Mapping[str, str]
    engine: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, Scored]]
    failures: int


def judge_samples(folder: Path, registry: Path | None, seal: Wanted = "auto") -> Judged:
    """Judge the samples of all rubrics with one engine. Raises PathwayError."""
    rubrics, cases, verdicts = dict[str, str](), dict[str, str](), dict[str, Mapping[str, Scored]]()
    weights, engine, failures = "", dict[str, Any](), 0
    with EngineCache() as loaded:
        for rubric, name in SAMPLES.items():
            path, run = ROOT / "examples" / name, folder / f"{rubric}.run"
            plan = Plan(path, run, rubric=[load_rubric(rubric)], judge=["demo"], models=registry, seal=seal)
            tallies = run_job(plan, Watcher(), ["gpu-check", rubric], loaded)
            failures += sum(tally.failures.total() for tally in tallies)
            with RunFile.read(run) as read:
                job = read.jobs.all()[0]
            facts: dict[str, Any] = dict(job.facts)
            engine = dict(job.engines[-1]) if job.engines else engine
            [rater] = facts["raters"]
            weights, rubrics[rubric] = rater["weights"], rater["sha256"]
            cases[rubric] = hashlib.sha256(path.read_bytes()).hexdigest()
            verdicts[rubric] = scored(run).get(rubric, {})
    return Judged(weights, rubrics, cases, engine, verdicts, failures)


def store_verdicts() -> Path:
    """Judge the samples on this processor and store the verdicts; return the file. Raises PathwayError, SystemExit."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        found = judge_samples(Path(folder), None)
    if found.engine["device"] != "cpu" or found.failures:
        raise SystemExit(f"error: store verdicts on a processor, without failures; this was {found.engine['device']}")
    STORED.write_text(json.dumps(asdict(found), indent=1) + "\n", "utf-8")
    return STORED


def stored() -> Judged:
    """Return the stored verdicts of a processor."""
    return Judged(**json.loads(STORED.read_text("utf-8")))


def of_others(kept: Judged, found: Judged) -> list[str]:
    """Return which of weights, rubrics and cases have changed since the verdicts were stored."""
    told = [] if kept.weights == found.weights else ["the demo judge's weights"]
    told += [f"the rubric {name}" for name in found.rubrics if kept.rubrics.get(name) != found.rubrics[name]]
    return told + [f"the sample cases of {name}" for name in found.cases if kept.cases.get(name) != found.cases[name]]
