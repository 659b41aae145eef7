"""The demo judge on the sample cases of all four rubrics, with one engine, and the verdicts stored for comparing."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gpu_check.verdicts import Scored, scored
from gpu_check.work import ROOT
from pathway_local.judging.engine_cache import EngineCache
from pathway_local.judging.job import Silent, run_job
from pathway_local.judging.plan import Plan
from pathway_local.runs.run_file import RunFile
from pathway_local.sealing.levels import Wanted

STORED = Path(__file__).with_name("processor_verdicts.json")
SAMPLES = {
    "pathway-answer": "pathway-answer.csv",
    "groundedness": "groundedness.jsonl",
    "contextual-relevance": "contextual-relevance.csv",
    "gold-answer": "gold-answer.jsonl",
}


@dataclass(frozen=True)
class Judged:
    """The verdicts on the samples, and what they depend on: SHA-256 of weights, rubrics and cases, and the engine."""

    weights: str
    rubrics: Mapping[str, str]
    cases: Mapping[str, str]
    engine: Mapping[str, Any]
    verdicts: Mapping[str, Mapping[str, Scored]]
    failures: int


def judge_samples(folder: Path, registry: Path | None, seal: Wanted = "auto") -> Judged:
    """Judge the samples of all rubrics, one after the other with the same engine. Raises PathwayError."""
    rubrics, cases, verdicts = dict[str, str](), dict[str, str](), dict[str, Mapping[str, Scored]]()
    weights, engine, failures = "", dict[str, Any](), 0
    with EngineCache() as loaded:
        for rubric, name in SAMPLES.items():
            path, run = ROOT / "examples" / name, folder / f"{rubric}.run"
            plan = Plan(path, run, [rubric], ["demo"], registry=registry, seal=seal)
            tallies = run_job(plan, Silent(), ["gpu-check", rubric], loaded)
            failures += sum(tally.failures.total() for tally in tallies)
            with RunFile.read(run) as read:
                facts: dict[str, Any] = dict(read.jobs()[0].facts)
            engine = facts.get("engine") or engine
            [rater] = facts["raters"]
            weights, rubrics[rubric] = rater["weights"], rater["sha256"]
            cases[rubric] = hashlib.sha256(path.read_bytes()).hexdigest()
            verdicts[rubric] = scored(run).get(rubric, {})
    return Judged(weights, rubrics, cases, engine, verdicts, failures)


def stored() -> Judged:
    """The verdicts that were stored from a processor."""
    return Judged(**json.loads(STORED.read_text("utf-8")))


def of_others(kept: Judged, found: Judged) -> list[str]:
    """In what the stored verdicts are of other things than those that were judged here."""
    told = [] if kept.weights == found.weights else ["the demo judge's weights"]
    told += [f"the rubric {name}" for name in found.rubrics if kept.rubrics.get(name) != found.rubrics[name]]
    return told + [f"the sample cases of {name}" for name in found.cases if kept.cases.get(name) != found.cases[name]]
