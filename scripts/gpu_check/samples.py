"""Judges the sample cases with the demo judge, and compares verdicts with those stored from a processor."""

import hashlib
import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from judge_samples import RUBRICS, judge_samples, sample_file
from pathway_local.judges.registry import load_registry, weights_folder
from pathway_local.judges.weights import weights_hash
from pathway_local.judging.progress import Watcher
from pathway_local.rubrics.rubric_file import load_rubric
from pathway_local.runs.run_file import RunFile
from pathway_local.verdict import Verdict

STORED = Path(__file__).with_name("processor_verdicts.json")
CLOSE = 0.02
"""Probabilities that differ by at most this count as equal: 16-bit numbers round differently on each machine."""

SAME = 0.9
"""The share of scores that must be equal. Another batch order or processor rounds differently and so changes close
calls: on an H100, 79 of 82 scores of the demo judge were those of a processor."""

Scored = Mapping[str, Mapping[str, float]]
"""For `rubric case score` the value, as `value`, and the probability of each value of its scale."""


@dataclass(frozen=True, slots=True)
class Judged:
    """The engine, the verdicts and the number of failures."""

    engine: Mapping[str, Any]
    verdicts: Scored
    failures: int


def judged_samples(run: Path, registry: Path | None) -> Judged:
    """Judge the samples of all rubrics with one engine. Raises PathwayError."""
    failures = judge_samples(run, Watcher(), models=registry)
    with RunFile.read(run) as read:
        engine = next(job.engines[-1] for job in reversed(read.jobs.all()) if job.engines)
    return Judged(dict(engine), scored(run), failures)


def scored(run: Path) -> Scored:
    """Return the scores of a run, without failures."""
    with RunFile.read(run) as read:
        return {
            f"{record.rubric} {record.case_id} {name}": {"value": score.value}
            | {str(value): share for value, share in score.probabilities.items()}
            for record in read.records()
            if isinstance(record.outcome, Verdict)
            for name, score in record.outcome.scores.items()
        }


def compare(expected: Scored, found: Scored) -> list[str]:
    """Print how scores differ from the expected ones; return what is more than close calls explain."""
    both = sorted(expected.keys() & found.keys())
    other = [at for at in both if expected[at]["value"] != found[at]["value"]]
    off = {at: _farthest(expected[at], found[at]) for at in both}
    told = f"{len(both) - len(other)} of {len(expected)} scores are equal"
    print(f"{told}; probabilities differ by at most {max(off.values(), default=0):.4f}")
    print(*(f"{at} is {found[at]['value']:g}, not {expected[at]['value']:g}" for at in other), sep="\n")
    print(*(f"probabilities differ by {by:.3f}: {at}" for at, by in off.items() if by > CLOSE), sep="\n")
    missing = [f"no verdict on one side: {at}" for at in sorted(expected.keys() ^ found.keys())]
    few = len(both) - len(other) < SAME * len(expected)
    return [*missing, f"only {told}; at least {SAME:.0%} should be"] if few else missing


def _farthest(expected: Mapping[str, float], found: Mapping[str, float]) -> float:
    values = (expected.keys() | found.keys()) - {"value"}
    return max((abs(expected.get(value, 0.0) - found.get(value, 0.0)) for value in values), default=0.0)


def shipped() -> dict[str, str]:
    """Return the SHA-256 of all that the verdicts depend on: the demo judge, the rubrics and the sample cases."""
    found = {"demo": weights_hash(weights_folder(load_registry().get("demo")))}
    for rubric in RUBRICS:
        found[rubric] = load_rubric(rubric).sha256
        found[sample_file(rubric).name] = hashlib.sha256(sample_file(rubric).read_bytes()).hexdigest()
    return found


def store() -> None:
    """Judge the samples on this processor and store the verdicts. Raises PathwayError, SystemExit."""
    with tempfile.TemporaryDirectory(prefix="gpu-check-") as folder:
        found = judged_samples(Path(folder, "samples.run"), None)
    if found.engine["device"] != "cpu" or found.failures:
        raise SystemExit(f"error: store verdicts on a processor, without failures; this was {found.engine['device']}")
    STORED.write_text(json.dumps({"shipped": shipped(), **asdict(found)}, indent=1) + "\n", "utf-8")


def stored() -> tuple[Judged, dict[str, str]]:
    """Return the stored verdicts of a processor, and what they depend on."""
    told = json.loads(STORED.read_text("utf-8"))
    return Judged(told["engine"], told["verdicts"], told["failures"]), told["shipped"]
